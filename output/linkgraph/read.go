package linkgraph

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"crawlnode/output/archive"
)

const (
	readBuffer = 256 << 10
	// maxLine bounds a line of a list, in bytes: a link is two URLs and a text.
	maxLine = 1 << 20
	// maxWindow bounds the memory of a zstd frame, in bytes.
	maxWindow = 128 << 20
	// linesApart is how many lines are read between two calls of Progress.
	linesApart = 1 << 13
)

// Read adds what a file holds: a list of links, pages or hosts (plain, gzip or zstd), or a WARC
// file. An error names the file, and the line or the record.
func (b *Builder) Read(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return fmt.Errorf("%s is a folder: give its files, for example %s", path,
			filepath.Join(path, "links-*.jsonl.gz"))
	}
	if archive.IsFile(path) {
		return b.readWARC(path)
	}
	return b.ReadStream(f, path)
}

// ReadStream adds what a stream with a list holds; name is for errors.
func (b *Builder) ReadStream(r io.Reader, name string) error {
	counted := &counter{in: r}
	text, closeText, err := plain(bufio.NewReaderSize(counted, readBuffer))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer closeText()
	err = b.readLines(bufio.NewReaderSize(text, maxLine), counted, name)
	if errors.Is(err, io.ErrUnexpectedEOF) && strings.HasSuffix(name, ".open") {
		return fmt.Errorf("%w: it is still being written; use finished files, or end the node", err)
	}
	return err
}

// counter counts what is read.
type counter struct {
	in   io.Reader
	n    int64
	told int64 // of n, to Progress
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	c.n += int64(n)
	return n, err
}

// plain undoes the compression of a stream, which its first bytes show.
func plain(in *bufio.Reader) (text io.Reader, closeText func(), err error) {
	magic, err := in.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, nil, err
		}
		return z, func() { _ = z.Close() }, nil // an error of the stream came from Read
	case bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, nil, err
		}
		return z, z.Close, nil
	case bytes.HasPrefix(magic, []byte("PK\x03\x04")):
		return nil, nil, errors.New("it is a zip file: give the files in it")
	}
	return in, func() {}, nil
}

// readLines adds the lines of a list.
func (b *Builder) readLines(in *bufio.Reader, counted *counter, name string) error {
	for number := int64(1); ; number++ {
		line, err := in.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return fmt.Errorf("%s:%d: the line is longer than %d bytes", name, number, maxLine)
		case err != nil && !errors.Is(err, io.EOF):
			return fmt.Errorf("%s: behind line %d: %w", name, number-1, err)
		}
		if text := bytes.TrimSpace(line); len(text) > 0 {
			if err := b.addLine(text); err != nil {
				return fmt.Errorf("%s:%d: %w", name, number, err)
			}
			b.counts.Lines++
		}
		ended := err != nil
		if ended || number%linesApart == 0 {
			if err := b.progress(counted); err != nil {
				return err
			}
		}
		if ended {
			return nil
		}
	}
}

// progress calls Options.Progress.
func (b *Builder) progress(c *counter) error {
	if b.opts.Progress == nil {
		return nil
	}
	n := c.n - c.told
	c.told = c.n
	return b.opts.Progress(n)
}

// line is a line of a list of links, of pages or of hosts.
type line struct {
	Source, Target, Tag, URL string
	NoFollow                 bool
	Links                    *int64
}

// addLine adds a line.
func (b *Builder) addLine(text []byte) error {
	l, ok := ownLink(text)
	if !ok {
		if err := json.Unmarshal(text, &l); err != nil {
			return fmt.Errorf("no line of a list of links: %w", err)
		}
	}
	switch {
	case l.Source != "" && l.Target != "" && l.Links != nil: // of hosts
		if !b.opts.Hosts {
			return errors.New(
				"it is a list of hosts, which has no pages: use --by host, or give lists of links")
		}
		return b.add(l.Source, l.Target)
	case l.Source != "" && l.Target != "":
		if !b.opts.Assets && !hyperlink(l.Tag) || b.opts.SkipNoFollow && l.NoFollow {
			return nil
		}
		return b.Add(l.Source, l.Target)
	case l.URL != "": // a page
		return b.AddNode(l.URL)
	}
	return errors.New(`no line of a list of links: it has neither "source" and "target" nor "url"`)
}

// hyperlink reports whether an element leads a reader to a page. A list from elsewhere may have
// none.
func hyperlink(tag string) bool {
	switch tag {
	case "", "a", "area", "frame", "iframe", "meta":
		return true
	}
	return false
}

// The pieces of a line as package lists writes it. In a text every quotation mark has a
// backslash before it, so none of them can occur there.
var (
	sourceField   = []byte(`{"source":"`)
	targetField   = []byte(`,"target":"`)
	noFollowField = []byte(`,"nofollow":true`)
	tagField      = []byte(`,"tag":"`)
	countField    = []byte(`"links":`)
)

// ownLink reads a line of links as package lists writes most of them: it takes a tenth of the
// time of a JSON parser.
func ownLink(text []byte) (l line, ok bool) {
	rest, ok := bytes.CutPrefix(text, sourceField)
	if !ok || bytes.Contains(text, countField) || !utf8.Valid(text) {
		return l, false
	}
	source, rest, ok := bytes.Cut(rest, []byte{'"'})
	if !ok || bytes.IndexByte(source, '\\') >= 0 {
		return l, false
	}
	if rest, ok = bytes.CutPrefix(rest, targetField); !ok {
		return l, false
	}
	target, rest, ok := bytes.Cut(rest, []byte{'"'})
	if !ok || bytes.IndexByte(target, '\\') >= 0 {
		return l, false
	}
	at := bytes.LastIndex(rest, tagField)
	if at < 0 {
		return l, false
	}
	tag, ok := bytes.CutSuffix(rest[at+len(tagField):], []byte(`"}`))
	if !ok || bytes.ContainsAny(tag, `"\`) {
		return l, false
	}
	return line{
		Source:   string(source),
		Target:   string(target),
		Tag:      string(tag),
		NoFollow: bytes.Contains(rest, noFollowField),
	}, true
}

// sizeOf is the size of a file, 0 if it cannot be told.
func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return 0
	}
	return info.Size()
}

// Size is the sum of the sizes of files, as far as it can be told.
func Size(paths []string) (bytes int64) {
	for _, p := range paths {
		bytes += sizeOf(p)
	}
	return bytes
}
