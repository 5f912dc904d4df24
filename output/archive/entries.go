package archive

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"crawlnode/crawl"
)

// Entry is what an index says of one capture.
type Entry struct {
	URL     string
	At      time.Time // to the second
	MIME    string    // "" when it is not known, as with every revisit
	Revisit bool
	Status  int
	Digest  string // of the payload, "sha1:..."; "-" with a 304 whose payload is not known
	// Preferences is what the owner said of the use of the page, as preferences.ParseAnswers reads it.
	Preferences string
	Ref         crawl.ArchiveRef
}

// ParseEntry reads a line of an index, with or without its end.
func ParseEntry(line []byte) (Entry, error) {
	_, rest, _ := bytes.Cut(line, []byte(" "))
	date, fields, _ := bytes.Cut(rest, []byte(" "))
	var f indexFields
	if err := json.Unmarshal(fields, &f); err != nil {
		return Entry{}, fmt.Errorf("index line: %w", err)
	}
	e := Entry{
		URL:         f.URL,
		MIME:        f.MIME,
		Revisit:     f.MIME == revisitMIME,
		Digest:      f.Digest,
		Preferences: f.Preferences,
	}
	if e.Revisit || f.MIME == unknownMIME {
		e.MIME = ""
	}
	var err error
	if e.At, err = time.Parse(indexDate, string(date)); err != nil {
		return Entry{}, fmt.Errorf("index line: time: %w", err)
	}
	if e.Status, err = strconv.Atoi(f.Status); err != nil {
		return Entry{}, fmt.Errorf("index line: status: %w", err)
	}
	e.Ref, err = parseIndexLine(line)
	return e, err
}

// Entries calls fn with each line of the indexes in a folder, a file after the other, while the
// folder may grow. A line that is in two indexes, because one was being sorted, comes twice. A
// folder without an index has no entries. An error of fn is returned as it is.
func Entries(dir string, fn func(Entry) error) error {
	for _, suffix := range [...]string{indexSuffix + openSuffix, indexSuffix} {
		names, err := filesWith(dir, suffix)
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := entriesOf(filepath.Join(dir, name), fn); err != nil {
				return err
			}
		}
	}
	return nil
}

// entriesOf reads one index. One that is gone was finished, and has its other name now.
func entriesOf(path string, fn func(Entry) error) error {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if err := ReadEntries(f, fn); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// ReadEntries calls fn with each whole line of an index.
func ReadEntries(r io.Reader, fn func(Entry) error) error {
	in := bufio.NewReaderSize(r, readBuffer)
	for {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			return nil // a line without its end is being written
		}
		if err != nil {
			return fmt.Errorf("line %.200q...: %w", line, err)
		}
		e, err := ParseEntry(line)
		if err != nil {
			return err
		}
		if err := fn(e); err != nil {
			return err
		}
	}
}

// AppendEntry appends the line of an entry, with its end.
func AppendEntry(b []byte, e *Entry) []byte {
	return appendIndexLine(b,
		newIndexLine(e.URL, e.At, e.MIME, e.Revisit, e.Status, e.Digest, e.Preferences, e.Ref))
}

// AppendForeign appends the line of an entry by another program's key, with its end. Its fields
// stand in the order in which other programs write them, so that readers do not take the key for
// one of Key.
func AppendForeign(b []byte, key string, e *Entry) []byte {
	l := newIndexLine(e.URL, e.At, e.MIME, e.Revisit, e.Status, e.Digest, e.Preferences, e.Ref)
	l.key = key
	return appendLine(b, &l, struct {
		URL      string `json:"url"`
		MIME     string `json:"mime"`
		Status   string `json:"status"`
		Digest   string `json:"digest"`
		Length   string `json:"length"`
		Offset   string `json:"offset"`
		Filename string `json:"filename"`
		Answers  string `json:"preferences,omitempty"`
	}{l.URL, l.MIME, l.Status, l.Digest, l.Length, l.Offset, l.Filename, l.Preferences})
}

// Indexes lists the names of the indexes in a folder.
func Indexes(dir string) (names []string, err error) {
	for _, suffix := range [...]string{indexSuffix, indexSuffix + openSuffix} {
		found, err := filesWith(dir, suffix)
		if err != nil {
			return nil, err
		}
		names = append(names, found...)
	}
	return names, nil
}

// OpenMember opens the bytes at a place in a folder, as they stand in their file.
func OpenMember(dir string, ref crawl.ArchiveRef) (io.ReadCloser, error) {
	if ref.File == "" || ref.File != filepath.Base(ref.File) {
		return nil, fmt.Errorf("%q is not the name of a file", ref.File)
	}
	path := filepath.Join(dir, ref.File)
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		f, err = os.Open(path + openSuffix)
	}
	if err != nil {
		return nil, err
	}
	return &Member{
		Reader: io.NewSectionReader(f, ref.Offset, ref.Length),
		Size:   ref.Length,
		file:   f,
	}, nil
}
