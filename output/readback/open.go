package readback

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"crawlnode/output/archive"
	"crawlnode/output/wacz"
)

// Archives are WARC files that a person named, with an index of each.
type Archives struct {
	Folders
	// Warnings say which files could be read in part only, or not at all.
	Warnings []error
	// Starts are the pages with which WACZ files are meant to begin.
	Starts []wacz.Page

	temp  string          // "": nothing had to be made
	names map[string]bool // of the files of all folders
	blank map[string]bool // folders of nodes that have stored nothing
	made  int
}

// ErrNoFiles is inside the error of Open for a folder in which there is nothing to read.
var ErrNoFiles = errors.New("it has no WARC files (.warc, .warc.gz, .warc.zst), no WACZ files " +
	"(.wacz), and neither has a folder warc in it")

// Open opens data directories, folders of WARC and WACZ files, and such files for reading; nodes
// may be writing them. The WARC files of a WACZ file are copied to a temporary folder. Files
// without a usable index, those that it does not name to their end, and files with several records
// in a member get what they lack in a temporary folder: Close removes it. A file that is damaged is
// read up to the damage, and named in Warnings. An error: a path cannot be read, or nothing of what
// was named.
func Open(paths ...string) (*Archives, error) {
	a := &Archives{names: map[string]bool{}, blank: map[string]bool{}}
	for _, path := range paths {
		if err := a.open(path); err != nil {
			return nil, errors.Join(err, a.Close())
		}
	}
	if len(a.Folders) == 0 {
		why := append([]error{errors.New("no record could be read")}, a.Warnings...)
		return nil, errors.Join(append(why, a.Close())...)
	}
	return a, nil
}

// Empty reports whether there is no file at all: a node has stored nothing.
func (a *Archives) Empty() bool { return len(a.blank) == len(a.Folders) }

// Close removes what was made. It may be called more than once.
func (a *Archives) Close() error {
	if a.temp == "" {
		return nil
	}
	return os.RemoveAll(a.temp)
}

func (a *Archives) open(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case !info.IsDir() && wacz.IsFile(path):
		return a.collection(path)
	case !info.IsDir() && !archive.IsFile(path):
		return fmt.Errorf("%s is no WARC or WACZ file: its name must end in .warc, .warc.gz, "+
			".warc.zst or .wacz", path)
	case !info.IsDir():
		return a.overlay([]string{path}, nil, "")
	}
	if warc, err := os.Stat(filepath.Join(path, "warc")); err == nil && warc.IsDir() {
		return a.folder(filepath.Join(path, "warc"), true)
	}
	return a.folder(path, false)
}

// folder opens a folder as it is, or with what it lacks. That of a node may be empty: its crawl has
// stored nothing, or its files are in an object store, and only the indexes are here.
func (a *Archives) folder(dir string, ofNode bool) error {
	files, err := archive.Files(dir)
	if err != nil {
		return err
	}
	collections, err := filesIn(dir, wacz.IsFile)
	if err != nil {
		return err
	}
	for _, path := range collections {
		if err := a.collection(path); err != nil {
			return err
		}
	}
	indexes, err := archive.Indexes(dir)
	switch {
	case err != nil:
		return err
	case len(files) == 0 && len(collections) > 0:
		return nil
	case len(files) == 0 && ofNode:
		if len(indexes) == 0 {
			a.blank[dir] = true
		}
		a.Folders = append(a.Folders, dir)
		return nil
	case len(files) == 0:
		return fmt.Errorf("%s: %w", dir, ErrNoFiles)
	}
	lacks, err := archive.FindUnindexed(dir)
	if err != nil {
		return err
	}
	a.Warnings = append(a.Warnings, lacks.Damage...)
	if len(lacks.Files) == 0 {
		a.note(files)
		a.Folders = append(a.Folders, dir)
		return nil
	}
	indexes = slices.DeleteFunc(indexes, func(name string) bool {
		return slices.Contains(lacks.Indexes, name)
	})
	if len(indexes) > 0 {
		a.note(files)
	}
	return a.overlay(lacks.Files, indexes, dir)
}

// filesIn lists the files of a folder with such names.
func filesIn(dir string, is func(name string) bool) (paths []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if path := filepath.Join(dir, e.Name()); is(e.Name()) {
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				paths = append(paths, path)
			}
		}
	}
	return paths, err
}

// collection opens a WACZ file: its WARC files are read from a temporary folder.
func (a *Archives) collection(path string) error {
	to, err := a.newFolder()
	if err != nil {
		return err
	}
	c, err := wacz.Extract(path, to)
	if err != nil {
		return err
	}
	for _, damage := range c.Damage {
		a.Warnings = append(a.Warnings, fmt.Errorf("%s: %w", path, damage))
	}
	a.Starts = append(a.Starts, c.Starts...)
	return a.overlay(c.Files, nil, "")
}

// newFolder makes a temporary folder.
func (a *Archives) newFolder() (string, error) {
	if a.temp == "" {
		temp, err := os.MkdirTemp("", "crawlnode-archives-")
		if err != nil {
			return "", fmt.Errorf("make a folder for indexes: %w", err)
		}
		a.temp = temp
	}
	a.made++
	to := filepath.Join(a.temp, fmt.Sprint(a.made))
	return to, os.Mkdir(to, 0o700)
}

// note keeps the names of files.
func (a *Archives) note(files []string) {
	for _, f := range files {
		a.names[nameOf(f)] = true
	}
}

// overlay makes a folder with links to WARC files, those of dir and the given ones; an index of
// each of the given ones; and links to the indexes of dir.
func (a *Archives) overlay(files, indexes []string, dir string) error {
	to, err := a.newFolder()
	if err != nil {
		return err
	}
	if len(indexes) > 0 {
		all, err := archive.Files(dir)
		if err != nil {
			return err
		}
		for _, f := range all {
			if err := link(f, to, nameOf(f)); err != nil {
				return err
			}
		}
		for _, name := range indexes {
			if err := link(filepath.Join(dir, name), to, name); err != nil {
				return err
			}
		}
	}
	readable := len(indexes) > 0
	for _, f := range files {
		found, err := a.index(f, to, len(indexes) > 0)
		if err != nil {
			return err
		}
		readable = readable || found
	}
	if readable {
		a.Folders = append(a.Folders, to)
	}
	return nil
}

// link makes links in a folder to a file, which loses the end of its name when it is finished.
func link(path, dir, name string) error {
	full, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	name = strings.TrimSuffix(name, openEnd)
	final, open := strings.CutSuffix(full, openEnd)
	if err := os.Symlink(final, filepath.Join(dir, name)); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	if !open {
		return nil
	}
	err = os.Symlink(full, filepath.Join(dir, name+openEnd))
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	return err
}

const openEnd = ".open"

// nameOf is the name of a file when it is finished.
func nameOf(path string) string { return strings.TrimSuffix(filepath.Base(path), openEnd) }

// index makes the index of a file in a folder, and a link to the file when there is none. found is
// false when no record could be read.
func (a *Archives) index(file, dir string, linked bool) (found bool, err error) {
	name := nameOf(file)
	if !linked {
		for n := 1; a.names[name]; n++ { // another folder has a file of that name
			name = fmt.Sprintf("%d-%s", n, nameOf(file))
		}
		a.names[name] = true
		if err := link(file, dir, name); err != nil {
			return false, err
		}
	}
	out, err := os.CreateTemp(dir, "made-*.cdxj")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	err = archive.IndexFile(file, name, dir, out)
	if errors.Is(err, archive.ErrShared) {
		plain := filepath.Join(dir, name)
		if err := errors.Join(os.Remove(plain), unpack(file, plain), out.Truncate(0)); err != nil {
			return false, err
		}
		if _, err := out.Seek(0, io.SeekStart); err != nil {
			return false, err
		}
		err = archive.IndexFile(plain, name, dir, out)
	}
	damage, damaged := errors.AsType[*archive.DamageError](err)
	switch {
	case err == nil:
		return true, nil
	case !damaged || damage == nil:
		return false, err
	case damage.Offset == 0:
		a.Warnings = append(a.Warnings, fmt.Errorf("%s is left out: %w", file, damage))
		return false, nil
	case !strings.HasSuffix(file, openEnd): // of one that is open, the last record is being written
		a.Warnings = append(a.Warnings, fmt.Errorf("%s is read up to its damage: %w", file, damage))
	}
	return true, nil
}

// unpack writes the records of a file whose members have several, without their compression: then
// each has a place.
func unpack(file, to string) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	buffered := bufio.NewReaderSize(in, 256<<10)
	magic, err := buffered.Peek(2)
	if err != nil {
		return err
	}
	var plain io.Reader
	if magic[0] == 0x1f && magic[1] == 0x8b {
		if plain, err = gzip.NewReader(buffered); err != nil {
			return err
		}
	} else {
		z, err := zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderMaxWindow(8<<20))
		if err != nil {
			return err
		}
		defer z.Close()
		plain = z
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, plain)
	if cut, _ := errors.AsType[*os.PathError](err); cut == nil && err != nil {
		err = nil // it is damaged: what stands before the damage is read, and a reader says so
	}
	return errors.Join(err, out.Close())
}
