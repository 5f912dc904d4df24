package archive

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"crawlnode/crawl"
)

// plainRecord is a record as it stands in a file that is not compressed.
func plainRecord(kind, url, body string) string {
	block := "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + body
	return fmt.Sprintf("WARC/1.0\r\nWARC-Type: %s\r\nWARC-Target-URI: <%s>\r\n"+
		"WARC-Date: 2026-03-01T00:00:00Z\r\nContent-Type: application/http\r\nContent-Length: %d\r\n"+
		"\r\n%s\r\n\r\n",
		kind, url, len(block), block)
}

// TestScanForms: files of other programs are read in each form that they have: without compression,
// with a member or frame for each record, or one for many. Only records with a place of their own
// are read at it.
func TestScanForms(t *testing.T) {
	t.Parallel()
	var records []string
	for i := range 5 {
		records = append(records,
			plainRecord("response", fmt.Sprintf("http://a.test/%d", i), strings.Repeat("words ", i*2000)))
	}
	packed := func(parts ...string) string {
		var b bytes.Buffer
		for _, p := range parts {
			z := gzip.NewWriter(&b)
			_, _ = z.Write([]byte(p))
			_ = z.Close()
		}
		return b.String()
	}
	frames := func(parts ...string) string {
		z, err := zstd.NewWriter(nil)
		if err != nil {
			t.Fatal(err)
		}
		var b []byte
		for _, p := range parts {
			b = z.EncodeAll([]byte(p), b)
		}
		return string(b)
	}
	all := strings.Join(records, "")
	for name, c := range map[string]struct {
		content string
		alone   int // records with a place
		total   int
		fails   string
	}{
		"plain":            {all, 5, 5, ""},
		"a member each":    {packed(records...), 5, 5, ""},
		"one member":       {packed(all), 0, 5, ""},
		"two members":      {packed(records[0]+records[1], records[2]+records[3]+records[4]), 0, 5, ""},
		"mixed members":    {packed(records[0], records[1]+records[2], records[3], records[4]), 3, 5, ""},
		"a frame each":     {frames(records...), 5, 5, ""},
		"one frame":        {frames(all), 0, 5, ""},
		"plain, then gzip": {records[0] + packed(records[1:]...), 5, 5, ""},
		"plain, cut":       {all[:len(all)-3], 4, 4, "no proper end"},
		"one member, cut":  {packed(all)[:len(packed(all))/2], 0, -1, "no whole record"},
		"plain, noise":     {records[0] + "noise", 1, 1, "neither a record"},
		"a dictionary": {"\x5d\x2a\x4d\x18\x04\x00\x00\x00abcd" + frames(records[0]), 0, 0,
			"dictionary"},
		"an old version": {strings.Replace(records[0], "WARC/1.0", "WARC/0.9", 1), 0, 0, "WARC/1"},
		"nothing":        {"", 0, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "x.warc")
			if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
			alone, total := 0, 0
			_, err := Scan(path, func(r Record) error {
				total++
				if r.TargetURI != fmt.Sprintf("http://a.test/%d", total-1) || r.File != "x.warc" {
					t.Errorf("record %d is %s in %s", total, r.TargetURI, r.File)
				}
				if r.Length == 0 {
					if _, err := ReadRef(dir, crawl.ArchiveRef{File: "x.warc", Offset: r.Offset}); err == nil {
						t.Errorf("record %d is read at a place that it shares", total)
					}
					return nil
				}
				alone++
				for _, length := range []int64{r.Length, 0} {
					again, err := ReadRef(dir, crawl.ArchiveRef{File: "x.warc", Offset: r.Offset, Length: length})
					if err != nil || again.TargetURI != r.TargetURI || !bytes.Equal(again.Payload, r.Payload) ||
						again.Length != r.Length {
						t.Errorf("record %d at its place: %s, %v", total, again.TargetURI, err)
					}
				}
				return nil
			})
			if (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) ||
				alone != c.alone || c.total >= 0 && total != c.total {
				t.Errorf("%d records, %d alone, %v", total, alone, err)
			}
		})
	}
}
