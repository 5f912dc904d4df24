package wacz

import (
	"archive/zip"
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
)

// version is that of the specification.
const version = "1.1.1"

// BlockLines is the number of lines of a block of the index.
const BlockLines = 3000

// Options describe a collection.
type Options struct {
	Title    string
	Software string
	Created  time.Time
	// MainPage is the page that is shown first, with the time of its capture; "": none is.
	MainPage string
	MainTime time.Time
}

// Page is one page of a collection.
type Page struct {
	URL   string
	At    time.Time
	Title string
	Text  string // "": none
}

// Writer writes a WACZ file: AddFile for each WARC file, then Index, then Pages, then Close.
type Writer struct {
	o     Options
	zip   *zip.Writer
	parts []resource
}

// resource is a part, as the description names it.
type resource struct {
	Name  string `json:"name"`
	Path  string `json:"path"`
	Hash  string `json:"hash"`
	Bytes int64  `json:"bytes"`
}

// description is datapackage.json.
type description struct {
	Profile      string     `json:"profile"`
	WACZVersion  string     `json:"wacz_version"`
	Title        string     `json:"title,omitempty"`
	Software     string     `json:"software,omitempty"`
	Created      string     `json:"created"`
	MainPageURL  string     `json:"mainPageUrl,omitempty"`
	MainPageDate string     `json:"mainPageDate,omitempty"`
	Resources    []resource `json:"resources"`
}

// New begins a file.
func New(out io.Writer, o Options) *Writer { return &Writer{o: o, zip: zip.NewWriter(out)} }

// part is a part that is being written.
type part struct {
	w    io.Writer
	sum  hash.Hash
	size int64
}

func (p *part) Write(b []byte) (int, error) {
	n, err := p.w.Write(b)
	p.sum.Write(b[:n])
	p.size += int64(n)
	return n, err
}

// write writes a part by calling f, and lists it if it is a resource.
func (w *Writer) write(
	name string,
	method uint16,
	listed bool,
	f func(io.Writer) error,
) (resource, error) {
	out, err := w.zip.CreateHeader(
		&zip.FileHeader{Name: name, Method: method, Modified: w.o.Created.UTC()})
	if err != nil {
		return resource{}, err
	}
	p := &part{w: out, sum: sha256.New()}
	if err := f(p); err != nil {
		return resource{}, fmt.Errorf("%s: %w", name, err)
	}
	r := resource{Name: path.Base(name), Path: name, Hash: digest(p.sum), Bytes: p.size}
	if listed {
		r.Name = w.freeName(r.Name)
		w.parts = append(w.parts, r)
	}
	return r, nil
}

// freeName is the name of a resource as a data package allows it, for a file's: of lower-case
// letters, digits and a few signs, and no other resource's.
func (w *Writer) freeName(file string) string {
	base := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '.', r == '_', r == '-':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, file)
	name := base
	for n := 2; slices.ContainsFunc(w.parts, func(r resource) bool { return r.Name == name }); n++ {
		name = fmt.Sprintf("%d-%s", n, base)
	}
	return name
}

func digest(sum hash.Hash) string { return "sha256:" + hex.EncodeToString(sum.Sum(nil)) }

// AddFile adds a WARC file, which f writes.
func (w *Writer) AddFile(name string, f func(io.Writer) error) error {
	_, err := w.write("archive/"+name, zip.Store, true, f)
	return err
}

// The names of the index and of its blocks.
const (
	indexName  = "index.cdx.gz"
	blocksName = "index.idx"
)

// Index adds the lines of a CDXJ index by the keys of Key, in the order of LC_ALL=C sort; the files
// that they name are those of AddFile.
func (w *Writer) Index(lines io.Reader) error {
	var blocks bytes.Buffer
	fmt.Fprintf(&blocks, "!meta 0 {\"format\": \"cdxj-gzip-1.0\", \"filename\": %q}\n", indexName)
	if _, err := w.write("indexes/"+indexName, zip.Store, true, func(out io.Writer) error {
		in := bufio.NewReaderSize(lines, 64<<10)
		for offset := int64(0); ; {
			key, block, err := nextBlock(in)
			if err != nil || block == nil {
				return err
			}
			if _, err := out.Write(block); err != nil {
				return err
			}
			sum := sha256.Sum256(block)
			fmt.Fprintf(&blocks,
				"%s {\"offset\": %d, \"length\": %d, \"digest\": \"sha256:%s\", \"filename\": %q}\n", key,
				offset, len(block), hex.EncodeToString(sum[:]), indexName)
			offset += int64(len(block))
		}
	}); err != nil {
		return err
	}
	_, err := w.write("indexes/"+blocksName, zip.Deflate, true, func(out io.Writer) error {
		_, err := blocks.WriteTo(out)
		return err
	})
	return err
}

// nextBlock compresses the next lines; key is the first one's key and time. Nil: there are no more.
func nextBlock(in *bufio.Reader) (key string, block []byte, err error) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	n := 0
	for ; n < BlockLines; n++ {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			break
		}
		if err != nil {
			return "", nil, err
		}
		if n == 0 {
			fields := bytes.SplitN(line, []byte(" "), 3)
			if len(fields) < 3 {
				return "", nil, fmt.Errorf("%.200q is no line of an index", line)
			}
			key = string(fields[0]) + " " + string(fields[1])
		}
		if _, err := z.Write(line); err != nil {
			return "", nil, err
		}
	}
	if n == 0 {
		return "", nil, nil
	}
	if err := z.Close(); err != nil {
		return "", nil, err
	}
	return key, packed.Bytes(), nil
}

// pageLine is a line of pages.jsonl.
type pageLine struct {
	ID    string `json:"id"`
	URL   string `json:"url"`
	TS    string `json:"ts"`
	Title string `json:"title,omitempty"`
	Text  string `json:"text,omitempty"`
}

// Pages adds the pages; each calls its argument with each of them.
func (w *Writer) Pages(each func(add func(Page) error) error) error {
	_, err := w.write("pages/pages.jsonl", zip.Deflate, true, func(out io.Writer) error {
		buffered := bufio.NewWriterSize(out, 64<<10)
		if _, err := buffered.WriteString(
			`{"format":"json-pages-1.0","id":"pages","title":"All Pages","hasText":true}` +
				"\n"); err != nil {
			return err
		}
		lines := json.NewEncoder(buffered)
		lines.SetEscapeHTML(false)
		if err := each(func(p Page) error {
			ts := p.At.UTC().Format(time.RFC3339)
			sum := sha256.Sum256([]byte(p.URL + " " + ts))
			return lines.Encode(pageLine{hex.EncodeToString(sum[:11]), p.URL, ts, p.Title, p.Text})
		}); err != nil {
			return err
		}
		return buffered.Flush()
	})
	return err
}

// Close writes the description and ends the file.
func (w *Writer) Close() error {
	d := description{
		Profile:     "data-package",
		WACZVersion: version,
		Title:       w.o.Title,
		Software:    w.o.Software,
		Created:     w.o.Created.UTC().Format(time.RFC3339),
		Resources:   w.parts,
	}
	if w.o.MainPage != "" {
		d.MainPageURL, d.MainPageDate = w.o.MainPage, w.o.MainTime.UTC().Format(time.RFC3339)
	}
	about, err := w.write("datapackage.json", zip.Deflate, false,
		func(out io.Writer) error { return indented(out, d) })
	if err != nil {
		return err
	}
	_, err = w.write("datapackage-digest.json", zip.Deflate, false, func(out io.Writer) error {
		return indented(out, map[string]string{"path": about.Path, "hash": about.Hash})
	})
	return errors.Join(err, w.zip.Close())
}

func indented(out io.Writer, v any) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
