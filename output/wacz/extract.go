package wacz

import (
	"archive/zip"
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// Bounds of what is read of a file, whoever made it.
const (
	// maxParts bounds the directory: it is in memory while the file is read.
	maxParts = 100_000
	// maxGrowth and freeGrowth bound what is unpacked: so many times the size of the file, and so many
	// bytes more. WARC files are stored as they are; a few programs deflate them.
	maxGrowth  = 16
	freeGrowth = 64 << 20
	// maxDescription bounds datapackage.json, maxPages what is read of the list of pages, and
	// maxStarts the pages that are kept of it.
	maxDescription = 8 << 20
	maxPages       = 8 << 20
	maxStarts      = 20
)

// Contents are what Extract has found in a file.
type Contents struct {
	Files []string // the WARC files, where they were put
	// Damage says what is wrong with some of them: they are there as far as they could be read.
	Damage []error
	// Starts are the pages with which a reader is meant to begin: the main page, and those from which
	// the crawl began; 20 at most.
	Starts []Page
}

// IsFile reports whether a file has the name of a WACZ file.
func IsFile(name string) bool { return strings.EqualFold(filepath.Ext(name), ".wacz") }

// Extract writes the WARC files of a WACZ file, whatever program made it, to a folder. An index in
// it is not read: what it says may be wrong. What is unpacked is bounded by the size of the file.
func Extract(file, dir string) (*Contents, error) {
	c, err := extract(file, dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return c, nil
}

func extract(file, dir string) (*Contents, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if n := partsOf(f, info.Size()); n > maxParts {
		return nil, fmt.Errorf("it has %d parts, and only files with up to %d are read", n, maxParts)
	}
	z, err := zip.NewReader(f, info.Size())
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return nil, fmt.Errorf("it is no WACZ file, or not whole: %w", err)
	}
	x := extractor{dir: dir, left: maxGrowth*info.Size() + freeGrowth, taken: map[string]bool{}}
	return &x.found, x.all(z)
}

// partsOf is how many parts the directory at the end of a ZIP file says that it has; 0: there is
// none.
func partsOf(f io.ReaderAt, size int64) uint64 {
	const end, end64, locator = "PK\x05\x06", "PK\x06\x06", "PK\x06\x07"
	tail := make([]byte, min(size, 1<<16+22+20))
	if _, err := f.ReadAt(tail, size-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return 0
	}
	at := bytes.LastIndex(tail, []byte(end))
	if at < 0 || len(tail)-at < 22 {
		return 0
	}
	if at < 20 || string(tail[at-20:at-16]) != locator {
		return uint64(binary.LittleEndian.Uint16(tail[at+10:]))
	}
	var large [40]byte
	offset := binary.LittleEndian.Uint64(tail[at-12:])
	if offset > uint64(size) {
		return 0 // package zip says what is wrong
	}
	if _, err := f.ReadAt(large[:], int64(offset)); err != nil || string(large[:4]) != end64 {
		return 0
	}
	return binary.LittleEndian.Uint64(large[32:])
}

// extractor writes the parts of one file.
type extractor struct {
	dir   string
	left  int64 // bytes that may be unpacked
	taken map[string]bool
	found Contents
}

func (x *extractor) all(z *zip.Reader) error {
	digests := map[string]string{}
	for _, part := range z.File {
		name := part.Name
		switch {
		case !filepath.IsLocal(filepath.FromSlash(name)) || strings.Contains(name, `\`):
			return fmt.Errorf("it has a part with the name %.100q, which leads out of it: do not trust "+
				"who made it", name)
		case part.Flags&1 != 0:
			return fmt.Errorf("its part %.100q is encrypted", name)
		}
		switch name {
		case "datapackage.json":
			if err := x.describe(part, digests); err != nil {
				return err
			}
		case "pages/pages.jsonl":
			x.pages(part)
		}
	}
	for _, part := range z.File {
		if !isWARC(part.Name) {
			continue
		}
		if err := x.warc(part, digests[part.Name]); err != nil {
			return err
		}
	}
	if len(x.found.Files) == 0 {
		return errors.New("it has no WARC file in its folder archive")
	}
	return nil
}

// isWARC reports whether a part is a WARC file.
func isWARC(name string) bool {
	if !strings.HasPrefix(name, "archive/") {
		return false
	}
	for _, end := range []string{".warc.gz", ".warc", ".warc.zst"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

// describe reads the description: the digests of the parts by their names, and the main page.
func (x *extractor) describe(part *zip.File, digests map[string]string) error {
	var d description
	if err := readJSON(part, &d); err != nil {
		return fmt.Errorf("its datapackage.json cannot be read: %w", err)
	}
	for _, r := range d.Resources {
		digests[r.Path] = r.Hash
	}
	if d.MainPageURL != "" {
		at, _ := time.Parse(time.RFC3339, d.MainPageDate) // without it: the newest
		x.start(Page{URL: d.MainPageURL, At: at})
	}
	return nil
}

func readJSON(part *zip.File, into any) error {
	r, err := part.Open()
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	return json.NewDecoder(io.LimitReader(r, maxDescription)).Decode(into)
}

// pages keeps the pages with which the crawl began. A list that cannot be read is left out: it is
// for people only.
func (x *extractor) pages(part *zip.File) {
	r, err := part.Open()
	if err != nil {
		return
	}
	defer func() { _ = r.Close() }()
	lines := bufio.NewScanner(io.LimitReader(r, maxPages))
	lines.Buffer(nil, maxPages)
	for lines.Scan() {
		var p struct {
			URL   string `json:"url"`
			TS    string `json:"ts"`
			Title string `json:"title"`
			Seed  bool   `json:"seed"`
		}
		if json.Unmarshal(lines.Bytes(), &p) != nil || !p.Seed || p.URL == "" {
			continue
		}
		at, _ := time.Parse(time.RFC3339, p.TS)
		x.start(Page{URL: p.URL, At: at, Title: p.Title})
	}
}

// start keeps a page, once.
func (x *extractor) start(p Page) {
	for _, known := range x.found.Starts {
		if known.URL == p.URL {
			return
		}
	}
	if len(x.found.Starts) < maxStarts {
		x.found.Starts = append(x.found.Starts, p)
	}
}

// warc writes a WARC file. Its digest is compared when the description has one.
func (x *extractor) warc(part *zip.File, digest string) error {
	name := path.Base(part.Name)
	for n := 2; x.taken[name]; n++ {
		name = fmt.Sprintf("%d-%s", n, path.Base(part.Name))
	}
	x.taken[name] = true
	r, err := part.Open()
	if err != nil {
		return fmt.Errorf("its part %.100q cannot be read: %w", part.Name, err)
	}
	defer func() { _ = r.Close() }()
	to := filepath.Join(x.dir, name)
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(out, sum), io.LimitReader(r, x.left+1))
	closed := out.Close()
	if full, ok := errors.AsType[*os.PathError](err); ok && full != nil {
		return fmt.Errorf("its WARC files are unpacked while it is read: %w", err)
	}
	if closed != nil {
		return closed
	}
	if x.left -= n; x.left < 0 {
		return fmt.Errorf("it unpacks to more than %d times its size: do not trust who made it",
			maxGrowth)
	}
	got := "sha256:" + hex.EncodeToString(sum.Sum(nil))
	switch {
	case err != nil:
		x.damage(part, err)
	case strings.HasPrefix(digest, "sha256:") && digest != got:
		x.damage(part, errors.New("it is not what datapackage.json says: its digest is another one"))
	}
	x.found.Files = append(x.found.Files, to)
	return nil
}

func (x *extractor) damage(part *zip.File, err error) {
	x.found.Damage = append(x.found.Damage, fmt.Errorf("%s: %w", part.Name, err))
}
