package lists

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"

	"crawlnode/local/files"
)

// Repair is the result for a file that a crash left open.
type Repair struct {
	File    string // its final name
	Kept    int64  // bytes kept
	Cut     int64  // bytes that were torn, or are in the tail
	Lines   int    // that came from the tail
	Removed bool   // it had no whole member
	Reason  string // why something was damaged; "" when nothing was
}

// repairAll repairs the files that are open by name, and removes tails whose files
// are not.
func repairAll(dir string, done func(Repair)) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var names []string
	for _, e := range entries {
		name, open := strings.CutSuffix(e.Name(), openSuffix)
		if !open {
			if !strings.HasSuffix(name, tailSuffix) {
				continue
			}
			name = nameOfTail(name)
		}
		if isOurs(name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		r, err := repair(dir, name)
		if err != nil {
			return fmt.Errorf("repair %s: %w", filepath.Join(dir, name+openSuffix), err)
		}
		if done != nil && r.File != "" {
			done(r)
		}
	}
	return nil
}

// repair completes the open file of that final name and closes it. It may be interrupted and
// repeated at any point. The Repair is zero when only a tail was left.
func repair(dir, name string) (Repair, error) {
	path := filepath.Join(dir, name)
	if _, err := os.Lstat(path); err == nil {
		if _, err := os.Lstat(path + openSuffix); errors.Is(err, os.ErrNotExist) {
			// It was closed, and the crash came before its tail was removed.
			return Repair{}, removeIfThere(filepath.Join(dir, tailName(name)))
		}
	}
	gz, err := os.OpenFile(path+openSuffix, os.O_RDWR|os.O_CREATE, 0o640)
	if err != nil {
		return Repair{}, err
	}
	defer func() { _ = gz.Close() }()
	info, err := gz.Stat()
	if err != nil {
		return Repair{}, err
	}
	tail, err := os.Open(filepath.Join(dir, tailName(name)))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return Repair{}, err
	}
	defer func() { _ = tail.Close() }() // closing a nil file is harmless
	r := Repair{File: name}
	in := bufio.NewReaderSize(nil, 64<<10)
	after := int64(-1)
	if tail != nil {
		in.Reset(tail)
		if after, err = readHead(in, name); err != nil {
			return r, err
		}
	}
	if r.Kept, err = wholeUpTo(gz, info.Size(), after, strings.HasSuffix(name, linesSuffix),
		&r); err != nil {
		return r, err
	}
	r.Cut = info.Size() - r.Kept
	if err := gz.Truncate(r.Kept); err != nil {
		return r, err
	}
	size := r.Kept
	if after >= 0 && strings.HasSuffix(name, linesSuffix) {
		if size, err = addTail(gz, r.Kept, in, strings.HasPrefix(name, Hosts+"-"), &r.Lines); err != nil {
			return r, err
		}
	}
	if size == 0 {
		r.Removed = true
		return r, errors.Join(removeIfThere(path+openSuffix),
			removeIfThere(filepath.Join(dir, tailName(name))))
	}
	if err := gz.Sync(); err != nil {
		return r, err
	}
	return r, finish(dir, name)
}

// wholeUpTo finds where the file is to be cut. after is the number in the tail, or negative. For
// lines, everything after it is in the tail.
func wholeUpTo(gz *os.File, size, after int64, lines bool, r *Repair) (int64, error) {
	trusted := after >= 0 && after <= size
	if trusted && after < size {
		var magic [2]byte
		if _, err := gz.ReadAt(magic[:], after); err != nil && err != io.EOF {
			return 0, err
		}
		// A torn member after it is harmless, but a member must begin like this.
		trusted = lines && size-after < 2 || magic == [2]byte{0x1f, 0x8b}
	}
	if trusted && lines {
		return after, nil
	}
	start := int64(0)
	if trusted {
		start = after
	}
	whole, damage, err := wholeMembers(io.NewSectionReader(gz, start, size-start))
	if damage != nil {
		r.Reason = damage.Error()
	}
	return start + whole, err
}

// readHead reads a tail's first line and returns the size of the file that it continues, or -1 if
// it cannot be read.
func readHead(in *bufio.Reader, name string) (int64, error) {
	line, err := in.ReadSlice('\n')
	switch {
	case err == io.EOF, errors.Is(err, bufio.ErrBufferFull):
		return -1, nil
	case err != nil:
		return -1, err // the disk fails: cutting could destroy good lines
	}
	var head tailHead
	if json.Unmarshal(line, &head) != nil || head.File != name || head.After < 0 {
		return -1, nil
	}
	return head.After, nil
}

// addTail writes the whole lines of a tail after the file's first size bytes, and returns its new
// size.
func addTail(gz io.WriterAt, size int64, in *bufio.Reader, sum bool, count *int) (int64, error) {
	var p packer
	var lines []byte
	flush := func() error {
		if len(lines) == 0 {
			return nil
		}
		member, err := p.lines(lines, sum)
		if err != nil {
			return err
		}
		lines = lines[:0]
		_, err = gz.WriteAt(member, size)
		size += int64(len(member))
		return err
	}
	for {
		line, err := in.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return size, err
		}
		if err == io.EOF || !isLine(line) {
			return size, flush() // a torn line, and all after it, was not acknowledged
		}
		lines = append(lines, line...)
		*count++
		if len(lines) >= memberBytes {
			if err := flush(); err != nil {
				return size, err
			}
		}
	}
}

// isLine reports whether line is a JSON object with its line end: a power loss may leave zeros.
func isLine(line []byte) bool {
	return len(line) > 2 && line[0] == '{' && bytes.HasSuffix(line, []byte("}\n")) && json.Valid(line)
}

// wholeMembers reads gzip members and returns the end of the last whole one. damage is why it is
// not the last byte; err is an error of the disk.
func wholeMembers(r io.Reader) (whole int64, damage, err error) {
	src := &files.Source{R: r}
	in := bufio.NewReaderSize(src, 64<<10)
	var z gzip.Reader
	for {
		whole = src.N - int64(in.Buffered())
		if _, err := in.Peek(1); err == io.EOF {
			return whole, nil, nil
		}
		e := z.Reset(in)
		if e == nil {
			z.Multistream(false)
			_, e = io.Copy(io.Discard, &z)
		}
		if src.Err != nil {
			return whole, nil, fmt.Errorf("read at offset %d: %w", whole, src.Err)
		}
		if e != nil {
			return whole, fmt.Errorf("no whole member at offset %d: %w", whole, e), nil
		}
	}
}
