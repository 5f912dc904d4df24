package integration

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"compress/gzip"
)

// capture is what the tests look at in a WARC record of a response or revisit.
type capture struct {
	kind        string // response or revisit
	url         string
	status      int
	contentType string
	certificate string // why the server's did not verify
	digest      string // of the payload
	refersTo    string // a revisit's: the URL of the capture that has the payload
	file        string
}

// readWARC reads every record of every archive under a node's data directory
// and returns the captures. A file that does not follow the format (WARC 1.1: a
// gzip member each, with exactly one record) fails the test.
func readWARC(t *testing.T, dataDir string) []capture {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dataDir, "warc", "*.warc.gz*"))
	if err != nil {
		t.Fatal(err)
	}
	var captures []capture
	for _, file := range files {
		found, err := readWARCFile(file)
		if err != nil {
			t.Errorf("%s: %v", filepath.Base(file), err)
		}
		captures = append(captures, found...)
	}
	return captures
}

func readWARCFile(path string) ([]capture, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in := bufio.NewReader(f)
	var captures []capture
	z := new(gzip.Reader)
	for number := 1; ; number++ {
		if _, err := in.Peek(1); err == io.EOF {
			return captures, nil
		}
		if err := z.Reset(in); err != nil {
			return captures, fmt.Errorf("record %d: %w", number, err)
		}
		z.Multistream(false)
		c, err := readRecord(z)
		if err != nil {
			return captures, fmt.Errorf("record %d: %w", number, err)
		}
		if c != nil {
			c.file = filepath.Base(path)
			captures = append(captures, *c)
		}
	}
}

// readRecord reads one record and the gzip member around it to the end.
func readRecord(member io.Reader) (*capture, error) {
	r := bufio.NewReader(member)
	version, err := r.ReadString('\n')
	if err != nil || !strings.HasPrefix(version, "WARC/1.") {
		return nil, fmt.Errorf("version line %q: %w", version, err)
	}
	header, err := textproto.NewReader(r).ReadMIMEHeader()
	if err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	size, err := strconv.ParseInt(header.Get("Content-Length"), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("Content-Length: %w", err)
	}
	block := io.LimitReader(r, size)
	c, err := readBlock(header, block)
	if err != nil {
		return nil, fmt.Errorf("%s of %s: %w", header.Get("WARC-Type"), header.Get("WARC-Target-URI"),
			err)
	}
	if _, err := io.Copy(io.Discard, block); err != nil {
		return nil, err
	}
	rest, err := io.ReadAll(r)
	if err != nil || string(rest) != "\r\n\r\n" {
		return nil, errors.Join(fmt.Errorf("after the block: %q", rest), err)
	}
	return c, nil
}

// readBlock reads the HTTP header in a record that has one.
func readBlock(header textproto.MIMEHeader, block io.Reader) (*capture, error) {
	kind := header.Get("WARC-Type")
	if kind != "response" && kind != "revisit" ||
		!strings.HasPrefix(header.Get("Content-Type"), "application/http") {
		return nil, nil
	}
	resp, err := http.ReadResponse(bufio.NewReader(block), nil)
	if err != nil {
		return nil, err
	}
	// The block ends where it ends; Content-Length was checked against it.
	_ = resp.Body.Close()
	return &capture{
		kind:        kind,
		url:         header.Get("WARC-Target-URI"),
		status:      resp.StatusCode,
		contentType: resp.Header.Get("Content-Type"),
		certificate: header.Get("Crawlnode-Certificate-Error"),
		digest:      header.Get("WARC-Payload-Digest"),
		refersTo:    header.Get("WARC-Refers-To-Target-URI"),
	}, nil
}

// pages leaves out what is not counted as a page.
func pages(captures []capture) []capture {
	var kept []capture
	for _, c := range captures {
		if !strings.HasSuffix(c.url, "/robots.txt") && !strings.HasSuffix(c.url, "/sitemap.xml") {
			kept = append(kept, c)
		}
	}
	return kept
}
