package archive

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// both are the compressions; most tests hold for both.
var both = [...]Compression{Gzip, Zstd}

// rubbish is incompressible text.
func rubbish(n int) string {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{1})
	_, _ = r.Read(b) // never fails
	return string(b)
}

// TestDenseRecords stores payloads that are compressed already as they are, and reads them back.
func TestDenseRecords(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("a text that repeats ", 1000)
	for _, c := range []struct {
		name, kind, body string
		coded, stored    bool
	}{
		{"text", "text/html", text, false, false},
		{"coded", "text/html", text, true, true}, // the body of the test is text, so that storing shows
		{"a small one", "text/html", text[:denseBytes-1], true, false},
		{"jpeg", "image/jpeg", text, false, true},
		{"svg", "image/svg+xml", text, false, false},
		{"video", "video/mp4", text, false, true},
		{"raw sound", "audio/wav", text, false, false},
		{"font", "font/woff2", text, false, true},
		{"zip", "application/zip", text, false, true},
		{"no type", "", text, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			a := open(t, dir, Options{})
			page := capture(t, "http://a.test/", c.body)
			page.ContentType, page.Coded = c.kind, c.coded
			ref := put(t, a, page)
			if stored := ref.Length >= int64(len(c.body)); stored != c.stored {
				t.Errorf("%d bytes of %d", ref.Length, len(c.body))
			}
			// The encoder is used again: the next record is compressed.
			if next := put(t, a, capture(t, "http://a.test/2", text)); next.Length >= int64(len(text)) {
				t.Errorf("the next record has %d bytes of %d", next.Length, len(text))
			}
			if r, err := ReadRef(dir, ref); err != nil || string(r.Payload) != c.body || r.Verify() != nil {
				t.Errorf("%d bytes, %v", len(r.Payload), err)
			}
		})
	}
}

// TestBothCompressions writes a folder of either and reads it in every way.
func TestBothCompressions(t *testing.T) {
	t.Parallel()
	for _, compression := range both {
		t.Run(string(compression), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			a := open(t, dir, Options{Compression: compression, MaxFileBytes: 1 << 20})
			bodies := []string{"", "x", strings.Repeat("two ", 200_000), rubbish(300), rubbish(3 << 20),
				strings.Repeat("\x00", 3<<20)}
			for i, body := range bodies {
				c := capture(t, fmt.Sprint("http://a.test/", i), body)
				ref := put(t, a, c)
				if !strings.HasSuffix(ref.File, suffixes[compression]) {
					t.Errorf("file %s", ref.File)
				}
				r, err := ReadRef(dir, ref)
				if err != nil || string(r.Payload) != body || r.Verify() != nil || r.Length != ref.Length {
					t.Errorf("body %d: %d bytes at %+v, %v", i, len(r.Payload), ref, err)
				}
				m, err := a.OpenMember(ref.File, ref.Offset)
				if err != nil {
					t.Fatal(err)
				}
				if b, err := io.ReadAll(m); err != nil || int64(len(b)) != ref.Length || m.Close() != nil {
					t.Errorf("member of %d bytes, want %d: %v", len(b), ref.Length, err)
				}
				if _, err := a.OpenMember(ref.File, ref.Offset+1); !errors.Is(err, ErrNoCapture) {
					t.Errorf("between two records: %v", err)
				}
			}
			var index bytes.Buffer
			if err := a.WriteIndex(&index); err != nil ||
				bytes.Count(index.Bytes(), []byte("\n")) != len(bodies) {
				t.Errorf("index of %d bytes: %v", index.Len(), err)
			}
			if err := a.Close(); err != nil {
				t.Fatal(err)
			}
			if records := readAll(t, dir); len(records) != 2*len(bodies)+int(a.Stats().Files) {
				t.Errorf("%d records", len(records))
			}
		})
	}
}

// TestMixedFolder: files of both compressions are in one folder, and each index is rebuilt.
func TestMixedFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var urls []string
	for i := range 4 {
		a := open(t, dir, Options{Compression: both[i%2]})
		urls = append(urls, fmt.Sprint("http://a.test/", i))
		put(t, a, capture(t, urls[i], "x"))
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
	}
	indexes, err := filepath.Glob(filepath.Join(dir, "*"+indexSuffix))
	if err != nil || len(indexes) != 4 {
		t.Fatalf("indexes %v, %v", indexes, err)
	}
	for _, index := range indexes {
		if err := os.Remove(index); err != nil {
			t.Fatal(err)
		}
	}
	repairs := 0
	a := open(t, dir, Options{OnRepair: func(Repair) { repairs++ }})
	var index bytes.Buffer
	if err := a.WriteIndex(&index); err != nil || repairs != 4 ||
		bytes.Count(index.Bytes(), []byte("\n")) != 4 {
		t.Errorf("%d indexes made anew, %v:\n%s", repairs, err, index.String())
	}
	var got []string
	for _, r := range readAll(t, dir) {
		if r.Type == "response" {
			got = append(got, r.TargetURI)
		}
	}
	if !slices.Equal(got, urls) || a.Stats().Files != 4 {
		t.Errorf("captures %v in %d files", got, a.Stats().Files)
	}
	if _, err := Open(t.TempDir(), Options{Node: "x", Compression: "lzma"}); err == nil ||
		!strings.Contains(err.Error(), "lzma") {
		t.Errorf("an unknown compression: %v", err)
	}
	if a.serial = 0; !a.taken(strings.TrimSuffix(filepath.Base(indexes[1]), indexSuffix)) {
		t.Error("a file of the other compression may be given the same index")
	}
}

// TestFramesOfOthers reads frames made with other encoder settings, and stops right after each.
func TestFramesOfOthers(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "x", strings.Repeat("y", 100),
		strings.Repeat("some words ", 99_999), rubbish(70_000), rubbish(1 << 20)} {
		for _, o := range [][]zstd.EOption{
			{zstd.WithZeroFrames(true)},
			{zstd.WithZeroFrames(true), zstd.WithEncoderCRC(false),
				zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithWindowSize(decodeWindow)},
			{zstd.WithZeroFrames(true), zstd.WithSingleSegment(true)},
			{zstd.WithZeroFrames(true), zstd.WithWindowSize(1 << 10)},
		} {
			z, err := zstd.NewWriter(nil, o...)
			if err != nil {
				t.Fatal(err)
			}
			var streamed bytes.Buffer
			z.Reset(&streamed)
			if _, err := io.WriteString(z, text); err != nil || z.Close() != nil {
				t.Fatal(err)
			}
			for _, made := range [][]byte{streamed.Bytes(), z.EncodeAll([]byte(text), nil)} {
				in := bufio.NewReaderSize(strings.NewReader(string(made)+"more"), readBuffer)
				var d decompressor
				r, err := d.open(in)
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(r)
				rest, _ := io.ReadAll(in)
				if err != nil || string(got) != text || string(rest) != "more" {
					t.Errorf("%d bytes in %d: %d bytes, %v, and %d behind it", len(text), len(made), len(got), err,
						len(rest))
				}
				d.close()
			}
		}
	}
}

// TestRefusedFrames: no frame makes the reader take more memory than its limit.
func TestRefusedFrames(t *testing.T) {
	t.Parallel()
	text := []byte(strings.Repeat("WARC/1.1\r\nContent-Length: 0\r\n\r\n\r\n\r\n", 500_000))
	wide, err := zstd.NewWriter(nil, zstd.WithWindowSize(2*decodeWindow),
		zstd.WithSingleSegment(false))
	if err != nil {
		t.Fatal(err)
	}
	var large bytes.Buffer
	wide.Reset(&large)
	if _, err := wide.Write(text); err != nil || wide.Close() != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"wide window": large.Bytes(),
		"dictionary":  {0x28, 0xb5, 0x2f, 0xfd, 0x01, 0x00, 0x07, 1, 0, 0},
		"skippable":   {0x5d, 0x2a, 0x4d, 0x18, 0, 0, 0, 0},
		"bad block":   {0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x00, 7, 0, 0},
		"magic alone": zstdMagic,
	} {
		whole, err := scan(bytes.NewReader(data), 0, maxBlockBytes,
			func(r Record) error { return fmt.Errorf("record %+v", r) })
		if _, damaged := errors.AsType[*DamageError](err); !damaged || whole != 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
