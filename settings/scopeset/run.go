package scopeset

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"slices"
	"sort"
)

const (
	keyBytes  = 16
	blockKeys = 256
)

// run is a file of sorted fingerprints, big endian. Its name is already removed.
type run struct {
	file   *os.File
	n      int
	firsts []fingerprint // of each block
}

func compare(a, b fingerprint) int {
	switch {
	case a.Hi != b.Hi && a.Hi < b.Hi, a.Hi == b.Hi && a.Lo < b.Lo:
		return -1
	case a == b:
		return 0
	}
	return 1
}

func sorted(keys map[fingerprint]struct{}) func(yield func(fingerprint) error) error {
	list := make([]fingerprint, 0, len(keys))
	for f := range keys {
		list = append(list, f)
	}
	slices.SortFunc(list, compare)
	return func(yield func(fingerprint) error) error {
		for _, f := range list {
			if err := yield(f); err != nil {
				return err
			}
		}
		return nil
	}
}

// writeRun writes the keys that all yields, in order.
func writeRun(dir string, all func(yield func(fingerprint) error) error) (*run, error) {
	f, err := os.CreateTemp(dir, "scope-index-*")
	if err != nil {
		return nil, err
	}
	r := &run{file: f}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	w := bufio.NewWriterSize(f, 64<<10)
	err = all(func(k fingerprint) error {
		if r.n%blockKeys == 0 {
			r.firsts = append(r.firsts, k)
		}
		r.n++
		b := k.Bytes()
		_, err := w.Write(b[:])
		return err
	})
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	r.firsts = slices.Clip(r.firsts)
	return r, nil
}

func (r *run) close() error { return r.file.Close() }

// has reads the one block that may contain the key.
func (r *run) has(k fingerprint) (bool, error) {
	block := sort.Search(len(r.firsts), func(i int) bool { return compare(r.firsts[i], k) > 0 }) - 1
	if block < 0 {
		return false, nil
	}
	var buf [blockKeys * keyBytes]byte
	n := min(blockKeys, r.n-block*blockKeys)
	if _, err := r.file.ReadAt(buf[:n*keyBytes], int64(block)*blockKeys*keyBytes); err != nil {
		return false, err
	}
	i := sort.Search(n, func(i int) bool { return compare(keyAt(buf[i*keyBytes:]), k) >= 0 })
	return i < n && keyAt(buf[i*keyBytes:]) == k, nil
}

func keyAt(b []byte) fingerprint {
	return fingerprint{Hi: binary.BigEndian.Uint64(b), Lo: binary.BigEndian.Uint64(b[8:])}
}

// reader reads a run in order.
type reader struct {
	r    *bufio.Reader
	left int
	at   fingerprint
}

func (r *run) reader() *reader {
	return &reader{
		r:    bufio.NewReaderSize(io.NewSectionReader(r.file, 0, int64(r.n)*keyBytes), 64<<10),
		left: r.n,
	}
}

// next reports whether there is one more, and stores it in at.
func (r *reader) next() (bool, error) {
	if r.left == 0 {
		return false, nil
	}
	r.left--
	var b [keyBytes]byte
	if _, err := io.ReadFull(r.r, b[:]); err != nil {
		return false, err
	}
	r.at = keyAt(b[:])
	return true, nil
}

func (r *run) each(do func(fingerprint)) error {
	in := r.reader()
	for {
		ok, err := in.next()
		if !ok || err != nil {
			return err
		}
		do(in.at)
	}
}

// mergeRuns makes one run of two.
func mergeRuns(dir string, a, b *run) (*run, error) {
	return writeRun(dir, func(yield func(fingerprint) error) error {
		x, y := a.reader(), b.reader()
		moreX, err := x.next()
		if err != nil {
			return err
		}
		moreY, err := y.next()
		for err == nil && (moreX || moreY) {
			order := -1
			switch {
			case !moreX:
				order = 1
			case moreY:
				order = compare(x.at, y.at)
			}
			if order <= 0 {
				if err = yield(x.at); err != nil {
					return err
				}
				if moreX, err = x.next(); err != nil {
					return err
				}
			}
			if order == 0 {
				moreY, err = y.next()
			} else if order > 0 {
				if err = yield(y.at); err == nil {
					moreY, err = y.next()
				}
			}
		}
		return err
	})
}
