package follow

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"

	"crawlnode/local/files"
)

const (
	linesSuffix = ".jsonl.gz"
	tailSuffix  = ".jsonl.tail"
	// maxMember bounds the text of one member, in bytes. The writer makes members of 1 MiB and one
	// piece.
	maxMember = 64 << 20
)

// Cursor is a place between two lines. The zero value is the beginning.
type Cursor struct {
	File   string `json:"file"`   // final name
	Offset int64  `json:"offset"` // where a member begins
	Lines  int    `json:"lines"`  // lines behind Offset that were read
}

// Reader reads the lines of one output.
type Reader struct {
	dir, kind string
	at        Cursor
	// member has the lines of the member at at.Offset, and ends where the next one begins; nil: none
	// is in memory.
	member []byte
	ends   int64
}

// New makes a reader of an output ("pages") in a folder of derived files, which goes on at a
// cursor.
func New(dir, kind string, at Cursor) *Reader { return &Reader{dir: dir, kind: kind, at: at} }

// At is where the next line begins.
func (r *Reader) At() Cursor { return r.at }

// Next returns the next lines, at most limit, without their line ends. None: there is no more now.
// The lines are valid until the next call. An error is of the disk, or says that a file is damaged.
func (r *Reader) Next(limit int) ([][]byte, error) {
	for {
		lines, more, err := r.step(limit)
		if err != nil || len(lines) > 0 || !more {
			return lines, err
		}
	}
}

// step reads from one place: a file's next member, the tail, or the beginning of the next file.
// more: there may be lines behind it.
func (r *Reader) step(limit int) (lines [][]byte, more bool, err error) {
	if r.member != nil {
		return r.fromMember(limit), true, nil
	}
	if r.at.File == "" {
		return nil, r.advance(), nil
	}
	path := filepath.Join(r.dir, r.at.File)
	f, err := os.Open(path)
	finished := err == nil
	if errors.Is(err, fs.ErrNotExist) {
		f, err = os.Open(path + files.OpenSuffix)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		// It was finished between the two looks, or it was removed.
		if _, gone := os.Lstat(path); gone == nil {
			return nil, true, nil
		}
		return nil, r.advance(), nil
	case err != nil:
		return nil, false, err
	}
	defer func() { _ = f.Close() }()
	if !finished {
		after, tail, err := r.tail()
		if err != nil || tail == nil && after <= r.at.Offset {
			return nil, false, err
		}
		if after <= r.at.Offset {
			return r.fromTail(tail, limit), false, nil
		}
	}
	ok, err := r.load(f)
	if err != nil {
		return nil, false, fmt.Errorf("read %s: %w", path, err)
	}
	if ok {
		return nil, true, nil
	}
	return nil, finished && r.advance(), nil
}

// load reads the member at the cursor; ok: there is one.
func (r *Reader) load(f *os.File) (ok bool, err error) {
	if _, err := f.Seek(r.at.Offset, io.SeekStart); err != nil {
		return false, err
	}
	counted := &counter{r: f}
	in := bufio.NewReaderSize(counted, 64<<10)
	if _, err := in.Peek(1); errors.Is(err, io.EOF) {
		return false, nil
	}
	z, err := gzip.NewReader(in)
	if err != nil {
		return false, err
	}
	z.Multistream(false)
	text, err := io.ReadAll(io.LimitReader(z, maxMember+1))
	switch {
	case err != nil:
		return false, err
	case len(text) > maxMember:
		return false, fmt.Errorf("the member at %d has more than %d bytes", r.at.Offset, maxMember)
	}
	ends := r.at.Offset + counted.n - int64(in.Buffered())
	if n := bytes.Count(text, []byte("\n")); r.at.Lines >= n {
		r.at.Lines -= n // all of it was read before
		r.at.Offset = ends
		return true, nil
	}
	for range r.at.Lines {
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	r.member, r.ends = text, ends
	return true, nil
}

// fromMember takes lines out of the member in memory, and leaves it with the last one.
func (r *Reader) fromMember(limit int) (lines [][]byte) {
	for len(lines) < limit && len(r.member) > 0 {
		line, rest, _ := bytes.Cut(r.member, []byte("\n"))
		lines = append(lines, line)
		r.member = rest
		r.at.Lines++
	}
	if len(r.member) == 0 {
		r.member, r.at.Offset, r.at.Lines = nil, r.ends, 0
	}
	return lines
}

// tail reads the tail of the open file: up to where the file is on the disk, and the whole lines
// since. tail is nil when it cannot be read now, because it is being begun anew or the file is
// being finished.
func (r *Reader) tail() (after int64, tail []byte, err error) {
	path := filepath.Join(r.dir, strings.TrimSuffix(r.at.File, linesSuffix)+tailSuffix)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil, nil
	}
	if err != nil {
		return 0, nil, err
	}
	after, body, ok := readHead(text)
	if !ok {
		return 0, nil, nil
	}
	// What was read is of one tail if that one still stands there.
	again, err := os.Open(path)
	if err != nil {
		return 0, nil, nil //nolint:nilerr // finished meanwhile: the next look reads the file
	}
	defer func() { _ = again.Close() }()
	head := make([]byte, len(text)-len(body))
	if _, err := io.ReadFull(again, head); err != nil || !bytes.Equal(head, text[:len(head)]) {
		return 0, nil, nil //nolint:nilerr // as above
	}
	return after, body[:bytes.LastIndexByte(body, '\n')+1], nil
}

// readHead reads the first line of a tail.
func readHead(text []byte) (after int64, rest []byte, ok bool) {
	line, rest, whole := bytes.Cut(text, []byte("\n"))
	var head struct {
		After *int64 `json:"after"`
	}
	if !whole || json.Unmarshal(line, &head) != nil || head.After == nil || *head.After < 0 {
		return 0, nil, false
	}
	return *head.After, rest, true
}

// fromTail takes the lines behind the cursor.
func (r *Reader) fromTail(tail []byte, limit int) (lines [][]byte) {
	for i := 0; len(lines) < limit; i++ {
		line, rest, whole := bytes.Cut(tail, []byte("\n"))
		if !whole {
			break
		}
		if tail = rest; i >= r.at.Lines {
			lines = append(lines, line)
		}
	}
	r.at.Lines += len(lines)
	return lines
}

// advance goes to the file behind the cursor's; false: there is none.
func (r *Reader) advance() bool {
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		return false // there is no folder yet
	}
	type numbered struct {
		name   string
		serial int
	}
	now, first := serialOf(r.at.File, r.kind), r.at.File == ""
	var later []numbered
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), files.OpenSuffix)
		if serial := serialOf(name, r.kind); serial >= 0 && (first || serial > now) {
			later = append(later, numbered{name, serial})
		}
	}
	if len(later) == 0 {
		return false
	}
	next := slices.MinFunc(later, func(a, b numbered) int { return a.serial - b.serial })
	r.at = Cursor{File: next.name}
	return true
}

// serialOf is the number in the name of a file of lines; -1: it is no such file. Numbers rise over
// all starts of a node, the times in the names need not.
func serialOf(name, kind string) int {
	rest, ok := strings.CutPrefix(name, kind+"-")
	if !ok || !strings.HasSuffix(rest, linesSuffix) {
		return -1
	}
	_, rest, _ = strings.Cut(rest, "-")
	digits, _, ok := strings.Cut(rest, "-")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 0 {
		return -1
	}
	return n
}

// counter counts what was read.
type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}
