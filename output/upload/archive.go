package upload

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"crawlnode/crawl"
	"crawlnode/output/archive"
	"crawlnode/output/upload/s3"
)

// Local is the part of an archive on the disk that others read.
type Local interface {
	WriteRange(out io.Writer, r crawl.IndexRange) error
	OpenMember(file string, offset int64) (*archive.Member, error)
}

// WriteRange writes the index lines in a range, of the archive on the disk and of the indexes that
// only the store has.
func (u *Uploads) WriteRange(local Local, out io.Writer, r crawl.IndexRange) error {
	var own sync.WaitGroup
	defer own.Wait()
	pipe, w := io.Pipe()
	defer func() { _ = pipe.Close() }() // ends the writer
	own.Go(func() { _ = w.CloseWithError(local.WriteRange(w, r)) })
	// With its first line the local archive has opened all of its indexes. One that goes from now on
	// is read; one that went before is in the list. A line that comes twice is written once.
	lines := bufio.NewReaderSize(pipe, 64<<10)
	if _, err := lines.Peek(1); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	away := u.away()
	if len(away) == 0 {
		_, err := io.Copy(out, lines)
		return err
	}
	stored, err := archive.SortedLines(filepath.Join(u.o.Dir, "warc"),
		&indexes{u: u, left: away, r: r})
	if err != nil {
		return err
	}
	defer func() { _ = stored.Close() }()
	return archive.MergeLines(out, lines, stored)
}

// elsewhere counts the files that are neither on the disk nor in this store, by what is known of
// it, and names the store of one.
func (u *Uploads) elsewhere() (files int, place string) {
	for _, e := range u.journal.All() {
		if e.In(u.o.Target.Place()) {
			continue
		}
		if _, err := os.Stat(filepath.Join(u.o.Dir, filepath.FromSlash(e.File))); errors.Is(err,
			os.ErrNotExist) {
			files, place = files+1, e.Place
		}
	}
	return files, place
}

// away lists the indexes that only the store has.
func (u *Uploads) away() (list []s3.Entry) {
	for _, e := range u.journal.All() {
		if !strings.HasSuffix(e.File, ".cdxj") {
			continue
		}
		if _, err := os.Stat(filepath.Join(u.o.Dir, filepath.FromSlash(e.File))); errors.Is(err,
			os.ErrNotExist) {
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b s3.Entry) int { return strings.Compare(a.File, b.File) })
	return list
}

// indexes reads ranges of indexes in the store, one after the other.
type indexes struct {
	u    *Uploads
	left []s3.Entry
	r    crawl.IndexRange
	now  io.Reader // nil: the next one is to be opened
}

// Read implements io.Reader.
func (x *indexes) Read(p []byte) (int, error) {
	for {
		if x.now == nil {
			if len(x.left) == 0 {
				return 0, io.EOF
			}
			object, size, err := x.u.o.Store.Open(context.Background(), x.left[0].Key)
			if errors.Is(err, s3.ErrMissing) && !x.left[0].In(x.u.o.Target.Place()) { // Open has said so
				x.left = x.left[1:]
				continue
			}
			if err == nil {
				x.now, err = archive.RangeOf(object, size, x.r)
			}
			if err != nil {
				return 0, err
			}
			x.left = x.left[1:]
			continue
		}
		n, err := x.now.Read(p)
		if errors.Is(err, io.EOF) {
			x.now, err = nil, nil
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

// OpenMember opens a record of this node's archive: on the disk, else in the store.
func (u *Uploads) OpenMember(local Local, file string, offset int64) (*archive.Member, error) {
	m, err := local.OpenMember(file, offset)
	if !errors.Is(err, archive.ErrNoCapture) {
		return m, err
	}
	sent, ok := u.journal.Get("warc/" + file)
	if !ok {
		return nil, err
	}
	return u.member(context.Background(), sent.Key, file, offset)
}

// Away opens a record of a node that is gone, in the store: archive files are named after their
// node.
func (u *Uploads) Away(ctx context.Context, file string, offset int64) (*archive.Member, error) {
	base, _, _ := strings.Cut(file, ".warc.")
	fields := strings.SplitN(base, "-", 4)
	if len(fields) != 4 || file != filepath.Base(file) || u.cluster() == "" {
		return nil, archive.ErrNoCapture
	}
	return u.member(ctx, u.o.Target.Key(u.cluster(), fields[3], "warc/"+file), file, offset)
}

func (u *Uploads) member(
	ctx context.Context,
	key, file string,
	offset int64,
) (*archive.Member, error) {
	object, size, err := u.o.Store.Open(ctx, key)
	if errors.Is(err, s3.ErrMissing) {
		return nil, errors.Join(archive.ErrNoCapture, err)
	}
	if err != nil {
		return nil, err
	}
	return archive.MemberAt(object, size, file, offset)
}
