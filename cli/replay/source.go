package replay

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"crawlnode/api/client"
	"crawlnode/crawl"
	"crawlnode/store/archive"
	"crawlnode/store/readback"
	"crawlnode/web/urlnorm"
)

// source finds captures.
type source interface {
	readback.Source
	// captures lists what is stored of a URL, by time; when there is nothing, what is stored of it
	// with the other scheme, and else, in folders, of the URLs that have its key.
	captures(ctx context.Context, u urlnorm.URL) ([]archive.Entry, error)
	// record reads a capture.
	record(ctx context.Context, ref crawl.ArchiveRef) (*archive.Record, error)
}

// folders are WARC files with indexes.
type folders struct{ readback.Folders }

func (f folders) captures(_ context.Context, u urlnorm.URL) (list []archive.Entry, err error) {
	collect := func(e *archive.Entry) error {
		list = append(list, *e)
		return nil
	}
	for _, ask := range []struct {
		lookup func(dir, url string, fn func(*archive.Entry) error) error
		url    string
	}{{archive.Lookup, u.String()}, {archive.Lookup, otherScheme(u.String())}, {archive.LookupAlike, u.String()}} {
		for _, dir := range f.Folders {
			if err := ask.lookup(dir, ask.url, collect); err != nil {
				return nil, err
			}
		}
		if len(list) > 0 {
			break
		}
	}
	slices.SortStableFunc(list, func(a, b archive.Entry) int { return a.At.Compare(b.At) })
	return list, nil
}

func (f folders) record(ctx context.Context, ref crawl.ArchiveRef) (*archive.Record, error) {
	return f.Record(ctx, ref)
}

// cluster is a running cluster.
type cluster struct {
	readback.Cluster
	client *client.Client
}

func (c cluster) captures(ctx context.Context, u urlnorm.URL) (list []archive.Entry, err error) {
	for _, url := range []string{u.String(), otherScheme(u.String())} {
		report, err := c.client.Captures(ctx, url)
		if err != nil {
			return nil, err
		}
		for _, k := range report.Captures {
			e := archive.Entry{URL: report.URL, At: k.At, Status: k.Status, Revisit: k.Revisit, Ref: crawl.ArchiveRef{File: k.File, Offset: k.Offset, Length: k.Length}}
			if k.MIME != nil {
				e.MIME = *k.MIME
			}
			list = append(list, e)
		}
		if len(list) > 0 {
			break
		}
	}
	return list, nil
}

func (c cluster) record(ctx context.Context, ref crawl.ArchiveRef) (*archive.Record, error) {
	return c.Read(ctx, &crawl.ArchiveReport{File: ref.File, Offset: ref.Offset, Length: ref.Length})
}

func otherScheme(url string) string {
	if rest, ok := strings.CutPrefix(url, "http:"); ok {
		return "https:" + rest
	}
	return "http:" + strings.TrimPrefix(url, "https:")
}

// openPaths opens data directories, folders of WARC files, and WARC files. Indexes that are missing are made in temp.
func openPaths(paths []string, temp string) (folders, error) {
	var dirs folders
	var loose []string // files without an index beside them
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return dirs, err
		}
		if !info.IsDir() {
			loose = append(loose, path)
			continue
		}
		if warc, err := os.Stat(filepath.Join(path, "warc")); err == nil && warc.IsDir() {
			path = filepath.Join(path, "warc")
		}
		files, err := archive.Files(path)
		if err != nil {
			return dirs, err
		}
		if len(files) == 0 {
			return dirs, fmt.Errorf("%s has no WARC files (.warc.gz, .warc.zst), and neither has a folder warc in it", path)
		}
		indexed := true
		for _, f := range files {
			indexed = indexed && hasIndex(f)
		}
		if indexed {
			dirs.Folders = append(dirs.Folders, path)
		} else {
			loose = append(loose, files...)
		}
	}
	for i, file := range loose {
		dir := filepath.Join(temp, fmt.Sprint(i))
		if err := indexed(file, dir); err != nil {
			return dirs, err
		}
		dirs.Folders = append(dirs.Folders, dir)
	}
	return dirs, nil
}

// hasIndex reports whether an archive file has its index beside it.
func hasIndex(path string) bool {
	base, _, _ := strings.Cut(path, ".warc.")
	for _, suffix := range []string{".cdxj", ".cdxj.open"} {
		if _, err := os.Stat(base + suffix); err == nil {
			return true
		}
	}
	return false
}

// indexed makes a folder with a link to a file and its index. A damaged file is read up to the damage.
func indexed(file, dir string) error {
	full, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := os.Symlink(full, filepath.Join(dir, filepath.Base(file))); err != nil {
		return err
	}
	base, _, ok := strings.Cut(filepath.Base(file), ".warc.")
	if !ok {
		return fmt.Errorf("%s is no WARC file: its name must end in .warc.gz or .warc.zst, with each record in a member of its own", file)
	}
	out, err := os.Create(filepath.Join(dir, base+".cdxj"))
	if err != nil {
		return err
	}
	err = archive.IndexFile(full, dir, out)
	if damage, ok := errors.AsType[*archive.DamageError](err); ok && damage.Offset > 0 {
		err = nil
	}
	return errors.Join(err, out.Close())
}
