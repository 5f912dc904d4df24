package storage

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/dgraph-io/badger/v4"
)

// ReadOnly is the store of a process that does not run, read where it lies. Nothing in its folder
// is changed. The caller sees to it that no process opens the store meanwhile: it would remove
// tables that are mapped here.
//
// Badger opens a store read-only only after a clean stop. So it is given a folder of its own, with
// links to the tables, which are never changed, and copies of the logs, cut behind their last whole
// transaction: what a start after a kill would keep.
type ReadOnly struct {
	db    *badger.DB
	dir   string
	links string // the folder with the links
	opt   badger.Options
	kept  []Entry
}

// OpenReadOnly opens the store in dir.
func OpenReadOnly(dir string) (*ReadOnly, error) {
	r, err := openReadOnly(dir)
	if err != nil {
		return nil, fmt.Errorf("frontier: cannot read the store in %s: %w", dir, err)
	}
	return r, nil
}

func openReadOnly(dir string) (*ReadOnly, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(dir, badger.ManifestFilename)); err != nil {
		return nil, err
	}
	links, err := os.MkdirTemp("", "crawlnode-read-")
	if err != nil {
		return nil, err
	}
	r := &ReadOnly{dir: dir, links: links}
	largest, err := r.link()
	if err == nil {
		r.kept, err = readReserve(filepath.Join(dir, reserveFile))
	}
	if err == nil {
		// A table in memory takes up to four times the bytes of its log.
		o := BadgerOptions{MemTableBytes: max(32<<20, 4*largest)}
		r.opt = o.badger(links).WithReadOnly(true)
		r.db, err = badger.Open(r.opt)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(links))
	}
	return r, nil
}

// link fills the folder that Badger opens, and returns the size of the largest log.
func (r *ReadOnly) link() (largest int64, err error) {
	files, err := os.ReadDir(r.dir)
	if err != nil {
		return 0, err
	}
	for _, f := range files {
		from, to := filepath.Join(r.dir, f.Name()), filepath.Join(r.links, f.Name())
		switch {
		case strings.HasSuffix(f.Name(), ".sst"):
			err = os.Symlink(from, to)
		case strings.HasSuffix(f.Name(), ".mem"):
			var size int64
			size, err = copyLog(from, to)
			largest = max(largest, size)
		case f.Name() == badger.ManifestFilename:
			err = copyFile(from, to, -1)
		}
		if err != nil {
			return 0, err
		}
	}
	return largest, nil
}

// copyLog copies the whole transactions of a log, if it has any, and returns their length.
func copyLog(from, to string) (int64, error) {
	file, err := os.Open(from)
	if err != nil {
		return 0, err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	whole := int64(logHead)
	_, err = walkLog(bufio.NewReaderSize(file, 1<<18), info.Size(), func(meta byte, end int64) {
		if meta&logInTxn == 0 { // its last entry, or one without a transaction
			whole = end
		}
	})
	if err != nil || whole == logHead {
		return 0, err
	}
	return whole, copyFile(from, to, whole)
}

// copyFile copies the first n bytes of a file; -1: all.
func copyFile(from, to string, n int64) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if n < 0 {
		_, err = io.Copy(out, in)
	} else {
		_, err = io.CopyN(out, in, n)
	}
	return errors.Join(err, out.Close())
}

// readReserve reads what the reserve has; a store may have none.
func readReserve(path string) ([]Entry, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	r := &reserve{file: file, size: reserveSize}
	if err := r.load(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r.kept, nil
}

// Snapshot opens a view of the store as the process has left it, but for Kept.
func (r *ReadOnly) Snapshot() Snapshot { return badgerSnapshot{txn: r.db.NewTransaction(false)} }

// Kept are entries of the node's own range that were written last and count in place of the
// store's, in their order.
func (r *ReadOnly) Kept() []Entry { return r.kept }

// Verify reads all files once and names one that is damaged: what was read of the store may lack
// something then.
func (r *ReadOnly) Verify() error {
	opt := r.opt
	opt.Dir, opt.ValueDir = r.dir, r.dir
	damage, err := verifyStore(opt)
	if err == nil && damage != "" {
		err = fmt.Errorf("the store in %s %w: %s", r.dir, ErrDamaged, damage)
	}
	return err
}

// Close ends the reading. All snapshots must be closed before.
func (r *ReadOnly) Close() error { return errors.Join(r.db.Close(), os.RemoveAll(r.links)) }
