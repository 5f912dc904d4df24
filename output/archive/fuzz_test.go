package archive

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"

	"crawlnode/crawl"
)

// members makes the bytes of a small file.
func members(t testing.TB, compression Compression) []byte {
	t.Helper()
	e := newEncoder(bytes.NewReader(bytes.Repeat([]byte{7}, 1000)), compression)
	if err := e.info("x.warc.gz", day, &Options{Software: "s"}); err != nil {
		t.Fatal(err)
	}
	out := bytes.Clone(e.out)
	c := capture(t, "http://a.test/", "body")
	for _, first := range []*crawl.Original{nil,
		{Record: [16]byte{1}, URL: "http://b.test/", FetchedAt: day}} {
		c.Original = first
		if err := e.capture(&c); err != nil {
			t.Fatal(err)
		}
		out = append(out, e.out...)
	}
	f := failed(t, "http://a.test/down")
	if err := e.metadata(&f); err != nil {
		t.Fatal(err)
	}
	return append(out, e.out...)
}

// FuzzScan: in any file, the part that is reported whole is whole, and reading it again gives the
// same.
func FuzzScan(f *testing.F) {
	for _, c := range both {
		good := members(f, c)
		f.Add(good)
		f.Add(good[:len(good)-9])
		f.Add(append(bytes.Clone(good), "rubbish"...))
	}
	f.Add(append(members(f, Gzip), members(f, Zstd)...))
	f.Add([]byte{0x1f, 0x8b, 8, 0})
	f.Add([]byte{0x28, 0xb5, 0x2f, 0xfd, 0x24, 0, 1, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		const limit = 1 << 16
		var first, second []Record
		whole, err := scan(bytes.NewReader(data), 0, limit,
			func(r Record) error { first = append(first, r); return nil })
		if whole < 0 || whole > int64(len(data)) || (err == nil) != (whole == int64(len(data))) {
			t.Fatalf("whole = %d of %d, %v", whole, len(data), err)
		}
		if _, err := scan(bytes.NewReader(data[:whole]), 0, limit, func(r Record) error {
			second = append(second, r)
			return nil
		}); err != nil || len(first) != len(second) {
			t.Fatalf("again: %d records, %v; before %d", len(second), err, len(first))
		}
		end := int64(0)
		for _, r := range first {
			if r.Offset != end || r.Length <= 0 || len(r.Head)+len(r.Payload) > limit {
				t.Fatalf("record at %d with %d, want it at %d", r.Offset, r.Length, end)
			}
			end = r.Offset + r.Length
		}
	})
}

// FuzzRecord reads any text as the inside of a member.
func FuzzRecord(f *testing.F) {
	f.Add("WARC/1.1\r\nWARC-Type: response\r\nContent-Type: application/http\r\n" +
		"Content-Length: 19\r\n\r\nHTTP/1.1 200 OK\r\n\r\n\r\n\r\n")
	f.Add("WARC/1.0\nContent-Length: 0\nA: b\n c\n\n\r\n\r\n")
	f.Add("WARC/1.1\r\nContent-Length: 99999999999\r\n\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, c := range both {
			e := newEncoder(nil, c)
			e.z.Reset(e)
			if _, err := e.z.Write([]byte(text)); err != nil || e.z.Close() != nil {
				t.Fatal(err)
			}
			_, _ = scan(bytes.NewReader(e.out), 0, 1<<16, func(r Record) error {
				if len(r.Payload) > len(text) || r.Status < 0 || r.Status > 999 {
					t.Fatalf("record = %+v", r)
				}
				_ = r.Verify()
				return nil
			})
		}
	})
}

// FuzzCapture: an encoded capture decodes to exactly two records.
func FuzzCapture(f *testing.F) {
	f.Add("HTTP/1.1 200 OK\r\n\r\n", []byte("body"), "text/html", "")
	f.Add("\r\n\r\nWARC/1.1\r\n", []byte("\r\n\r\n"), "a\r\nb: c", "length\x00")
	f.Fuzz(func(t *testing.T, head string, body []byte, mime, truncated string) {
		c := capture(t, "http://a.test/", string(body))
		c.ResponseHead, c.ContentType, c.Truncated, c.Addr = []byte(head), mime, truncated, netip.Addr{}
		for _, compression := range both {
			checkCapture(t, newEncoder(bytes.NewReader(make([]byte, 64)), compression), &c)
		}
	})
}

// checkCapture encodes c and reads it again.
func checkCapture(t *testing.T, e *encoder, c *crawl.Capture) {
	t.Helper()
	if err := e.capture(c); err != nil {
		t.Fatal(err)
	}
	var got []Record
	whole, err := scan(bytes.NewReader(e.out), 0, 1<<30,
		func(r Record) error { got = append(got, r); return nil })
	if len(c.ContentType)+len(c.Truncated) > 8<<10 {
		return // beyond the reader's bound on a line
	}
	if err != nil || whole != int64(len(e.out)) || len(got) != 2 ||
		got[0].Length != int64(e.responseLen) {
		t.Fatalf("%d records, %d of %d bytes, %v", len(got), whole, len(e.out), err)
	}
	if block := string(got[0].Head) +
		string(got[0].Payload); block != string(c.ResponseHead)+string(c.Body) {
		t.Fatalf("block = %q", block)
	}
	line := appendIndexLine(nil, e.line(c, crawl.ArchiveRef{File: "f", Length: 1}))
	if strings.Count(string(line), "\n") != 1 {
		t.Fatalf("index line = %q", line)
	}
	if ref, err := parseIndexLine(line); err != nil || ref.File != "f" || ref.Length != 1 {
		t.Fatalf("index line %q: %+v, %v", line, ref, err)
	}
}
