package archive

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Unindexed is what a folder of WARC files lacks of its indexes.
type Unindexed struct {
	// Files are the paths of the WARC files with captures that no usable index names.
	Files []string
	// Indexes are the names of the indexes that are not usable: a line of theirs cannot be read, the
	// last one is cut off, or one of their files has changed since.
	Indexes []string
	// Damage is what is wrong with files whose captures are indexed, as far as they can be read.
	Damage []error
}

// FindUnindexed compares the indexes of a folder with its WARC files. A file counts as indexed when
// a usable index names captures of it and nothing behind the last of those is a capture. It reads
// each index once, and of each WARC file the end.
func FindUnindexed(dir string) (u Unindexed, err error) {
	paths, err := Files(dir)
	if err != nil {
		return u, err
	}
	changed := map[string]time.Time{} // the time of each finished file
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			continue // it was finished meanwhile; the look at its end says the rest
		}
		if !strings.HasSuffix(path, openSuffix) {
			changed[nameOf(path)] = info.ModTime()
		}
	}
	ends := map[string]int64{} // of each file: the end of the last record that is named
	for _, suffix := range [...]string{indexSuffix, indexSuffix + openSuffix} {
		names, err := filesWith(dir, suffix)
		if err != nil {
			return u, err
		}
		for _, name := range names {
			named, usable, err := endsOf(filepath.Join(dir, name), changed)
			if err != nil {
				return u, err
			}
			if !usable {
				u.Indexes = append(u.Indexes, name)
				continue
			}
			for file, end := range named {
				ends[file] = max(ends[file], end)
			}
		}
	}
	for _, path := range paths {
		more, err := hasCaptures(path, ends[nameOf(path)])
		damage, damaged := errors.AsType[*DamageError](err)
		switch {
		case damaged && damage != nil && ends[nameOf(path)] > 0 && !more:
			if !strings.HasSuffix(path, openSuffix) { // a record that is being written is not whole
				u.Damage = append(u.Damage, err)
			}
		case damaged, more:
			u.Files = append(u.Files, path)
		case err != nil:
			return u, err
		}
	}
	return u, nil
}

// hasCaptures reports whether a capture begins in a WARC file at an offset or behind it.
func hasCaptures(path string, offset int64) (bool, error) {
	found := false
	read := func(path string) error {
		_, err := ScanFrom(path, offset, func(r Record) error {
			if found = r.isCapture(); found {
				return errEnough
			}
			return nil
		})
		return err
	}
	err := read(path)
	if final, open := strings.CutSuffix(path, openSuffix); open && errors.Is(err, os.ErrNotExist) {
		err = read(final) // it was finished meanwhile
	}
	if errors.Is(err, errEnough) {
		err = nil
	}
	return found, err
}

// endsOf reads from an index where the last record of each of its files ends.
func endsOf(
	path string,
	changed map[string]time.Time,
) (ends map[string]int64, usable bool, err error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, true, nil // it was finished, and has its other name now
	}
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, false, err
	}
	finished := strings.HasSuffix(path, indexSuffix)
	ends = map[string]int64{}
	in := bufio.NewReaderSize(f, readBuffer)
	for {
		line, err := in.ReadSlice('\n')
		switch {
		case errors.Is(err, io.EOF):
			return ends, len(line) == 0 || !finished, nil
		case errors.Is(err, bufio.ErrBufferFull):
			return nil, false, nil
		case err != nil:
			return nil, false, fmt.Errorf("%s: %w", path, err)
		}
		file, end, ok := placeOf(line)
		if !ok {
			return nil, false, nil
		}
		_, known := ends[string(file)]
		if !known && finished && changed[string(file)].After(info.ModTime()) {
			return nil, false, nil
		}
		if end > ends[string(file)] {
			ends[string(file)] = end
		}
	}
}

// placeOf reads the name of the file out of a line of an index, and the end of the record in it. It
// takes a tenth of the time of a whole parse for lines as this package writes them.
func placeOf(line []byte) (file []byte, end int64, ok bool) {
	value := func(name string) []byte {
		i := bytes.LastIndex(line, []byte(`"`+name+`":"`))
		if i < 0 {
			return nil
		}
		rest := line[i+len(name)+4:]
		j := bytes.IndexByte(rest, '"')
		if j < 0 || bytes.IndexByte(rest[:j], '\\') >= 0 {
			return nil
		}
		return rest[:j]
	}
	offset, err := strconv.ParseInt(string(value("offset")), 10, 64)
	length, lengthErr := strconv.ParseInt(string(value("length")), 10, 64)
	file = value("filename")
	if err == nil && lengthErr == nil && len(file) > 0 && line[len(line)-2] == '}' {
		return file, offset + length, true
	}
	ref, err := parseIndexLine(bytes.TrimSuffix(line, []byte("\n")))
	return []byte(ref.File), ref.Offset + ref.Length, err == nil
}
