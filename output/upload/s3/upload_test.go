package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"crawlnode/output/upload/s3test"
)

func TestParseTarget(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"s3://bkt":      "{bkt  127.0.0.1:9 true    }",
		"s3://bkt/":     "{bkt  127.0.0.1:9 true    }",
		"s3://bkt/a/c/": "{bkt a/c 127.0.0.1:9 true    }",
		"s3://bkt/a?region=x&lookup=dns&sse=aws:kms&kms-key=k": "{bkt a 127.0.0.1:9 true x dns " +
			"aws:kms k}",
		"http://bkt/a":            "must be s3://BUCKET/PREFIX",
		"s3:///a":                 "must be s3://BUCKET/PREFIX",
		"s3://key:secret@bkt/a":   "must be s3://BUCKET/PREFIX",
		"s3://bkt/a?lookup=other": "is none of",
		"s3://bkt/a?acl=public":   "is none of",
	} {
		got, err := ParseTarget(text, "http://127.0.0.1:9")
		if err == nil && fmt.Sprint(got) != want || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v; want %s", text, got, err, want)
		}
	}
	for _, endpoint := range []string{"127.0.0.1:9", "ftp://a", "http://", "http://a/path"} {
		if _, err := ParseTarget("s3://bkt", endpoint); err == nil {
			t.Errorf("the endpoint %s was taken", endpoint)
		}
	}
	target := Target{Prefix: "p"}
	if k := target.Key("c", "n", "warc/f"); k != "p/c/n/warc/f" {
		t.Error(k)
	}
	for text, want := range map[string]Keep{
		"":      {All: true, Index: true},
		"all":   {All: true, Index: true},
		"index": {Index: true},
		"none":  {},
		"7":     {Index: true, Bytes: 7},
	} {
		if got, err := ParseKeep(text, func(string) (int64, error) { return 7, nil }); err != nil ||
			got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	if _, err := ParseKeep("x", func(string) (int64, error) { return 0, nil }); err == nil {
		t.Error("x was taken")
	}
}

// TestBucketNames: a name that no store can have is refused before anything is sent.
func TestBucketNames(t *testing.T) {
	t.Parallel()
	const elsewhere = "http://127.0.0.1:9"
	for _, c := range []struct{ name, endpoint, want string }{
		{"a-1.b", "", ""},
		{strings.Repeat("a", 63), "", ""},
		{"my_bucket", elsewhere, ""},
		{"my_bucket", "", `has '_'`},
		{"ab", "", "3 to 63"},
		{strings.Repeat("a", 64), elsewhere, "3 to 63"},
		{"Bucket", elsewhere, "upper-case"},
		{"bucket:9000", elsewhere, `has ':'`},
		{"b%20t", elsewhere, "s3://BUCKET/PREFIX"},
		{"büro", elsewhere, "it may have"},
		{"-bucket", "", "begin and end"},
		{"bucket.", elsewhere, "begin and end"},
		{"a..b", "", "two dots"},
		{"xn--bucket", "", "xn--"},
		{"192.168.0.1", elsewhere, "is an address"},
	} {
		_, err := ParseTarget("s3://"+c.name+"/p", c.endpoint)
		if c.want == "" && err != nil ||
			c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s at %q: %v; want %q", c.name, c.endpoint, err, c.want)
		}
	}
}

// TestPlan: the oldest is sent first; what may go was sent, index and all, and is not what is to
// stay.
func TestPlan(t *testing.T) {
	t.Parallel()
	file := func(name string, minute int) File {
		return File{Name: name, Bytes: 10, Finished: time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC)}
	}
	files := []File{file("warc/b.warc.gz", 3), file("warc/b.cdxj", 4), file("warc/a.warc.gz", 1),
		file("warc/a.cdxj", 2), file("warc/c.warc.zst", 5), file("derived/pages.jsonl.gz", 6),
		file("derived/text.warc.wet.gz", 7)}
	for _, c := range []struct {
		sent       string
		keep       Keep
		send, drop string
	}{
		{"", Keep{}, "a.warc.gz a.cdxj b.warc.gz b.cdxj c.warc.zst pages.jsonl.gz text.warc.wet.gz", ""},
		{"warc/a.warc.gz", Keep{}, "a.cdxj b.warc.gz b.cdxj c.warc.zst pages.jsonl.gz text.warc.wet.gz", ""},
		{"warc/a.warc.gz warc/a.cdxj", Keep{}, "b.warc.gz b.cdxj c.warc.zst pages.jsonl.gz text.warc.wet.gz", "a.warc.gz a.cdxj"},
		{"warc/a.warc.gz warc/a.cdxj", Keep{Index: true}, "b.warc.gz b.cdxj c.warc.zst pages.jsonl.gz text.warc.wet.gz", "a.warc.gz"},
		{"warc/a.warc.gz warc/a.cdxj", Keep{All: true, Index: true}, "b.warc.gz b.cdxj c.warc.zst pages.jsonl.gz text.warc.wet.gz", ""},
		{"warc/a.warc.gz warc/a.cdxj warc/b.warc.gz warc/b.cdxj derived/pages.jsonl.gz " +
			"derived/text.warc.wet.gz",
			Keep{Index: true, Bytes: 25}, "c.warc.zst", "a.warc.gz b.warc.gz"},
		{"warc/a.warc.gz warc/a.cdxj warc/c.warc.zst", Keep{Index: true, Bytes: 15}, "b.warc.gz b.cdxj pages.jsonl.gz text.warc.wet.gz", ""},
	} {
		sent := strings.Fields(c.sent)
		p := Make(files, func(name string) bool {
			for _, s := range sent {
				if s == name {
					return true
				}
			}
			return false
		}, c.keep)
		if names(p.Send) != c.send || names(p.Drop) != c.drop {
			t.Errorf("sent %q, %+v: send %s, drop %s", c.sent, c.keep, names(p.Send), names(p.Drop))
		}
	}
}

// The pauses grow to half a minute, and two nodes do not wait equally long.
func TestPauses(t *testing.T) {
	t.Parallel()
	a, b := Pauses(), Pauses()
	equal := true
	for range 2 { // Reset begins anew
		for i := range 20 {
			most := min(time.Second<<i, 30*time.Second)
			d, e := a.NextBackOff(), b.NextBackOff()
			if d < most/2-1 || d > most+1 {
				t.Errorf("after %d failures %v", i+1, d)
			}
			equal = equal && d == e
		}
		a.Reset()
		b.Reset()
	}
	if equal {
		t.Error("all nodes wait equally long")
	}
}

func names(files []File) string {
	var all []string
	for _, f := range files {
		all = append(all, filepath.Base(f.Name))
	}
	return strings.Join(all, " ")
}

// TestJournal: what was noted is there again, also after a line that was cut off.
func TestJournal(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "uploads.jsonl")
	for i := range 3 {
		j, err := OpenJournal(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(j.All()) != i || j.Bytes() != int64(10*i) {
			t.Errorf("%d entries, %d bytes after %d", len(j.All()), j.Bytes(), i)
		}
		name := fmt.Sprint("f", i)
		if err := j.Add(Entry{File: name, Place: "s3://a", Bytes: 10}); err != nil ||
			!j.Has(name, "s3://a") || j.Has(name, "s3://b") {
			t.Error(err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(`{"file":"torn`); err != nil || f.Close() != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, []byte("no JSON\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenJournal(path); err == nil || !strings.Contains(err.Error(), "remove that line") {
		t.Errorf("a damaged line: %v", err)
	}
}

func content(size int) []byte {
	b := make([]byte, size)
	r := rand.New(rand.NewPCG(uint64(size), 1))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func client(t *testing.T, s *s3test.Store) *S3 {
	t.Helper()
	target, err := ParseTarget("s3://bucket/p?region=us-east-1", s.URL)
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewS3(target, nil)
	if err != nil {
		t.Fatal(err)
	}
	c.least = smallPart
	return c
}

// smallPart is the size of a part in the tests.
const smallPart = 64 << 10

// putUntil tries as a node does, but without its pauses, and counts the failures.
func putUntil(t *testing.T, c *S3, key string, body []byte) (failures int) {
	t.Helper()
	for {
		_, err := c.Put(t.Context(), key, bytes.NewReader(body), int64(len(body)))
		if err == nil {
			return failures
		}
		if failures++; failures > 50 {
			t.Fatalf("after %d failures: %v", failures, err)
		}
	}
}

// TestFaults: whatever the store does, Put returns without an error only when the store has the
// bytes, and in the end it has them. With each fault at each request, in a file of one part and one
// of three.
func TestFaults(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	small, large := content(1000), content(2*smallPart+5)
	for _, fault := range []string{s3test.Busy, s3test.Reset, s3test.Lost, s3test.Truncated,
		s3test.WrongTag, s3test.Damaged} {
		for at := range 12 {
			s := s3test.New(t.Cleanup)
			n := 0
			s.Fault = func(*http.Request) string {
				if n++; n == at+1 {
					return fault
				}
				return ""
			}
			c := client(t, s)
			putUntil(t, c, "p/small", small)
			putUntil(t, c, "p/large", large)
			got, _ := s.Objects()
			if !bytes.Equal(got["p/small"], small) || !bytes.Equal(got["p/large"], large) || len(got) != 2 {
				t.Errorf("%s at request %d: the store has other bytes", fault, at)
			}
		}
	}
}

// TestResume: parts that came before the end of an attempt are not sent again, and an object that
// is there is not replaced.
func TestResume(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	s := s3test.New(t.Cleanup)
	body, parts := content(3*smallPart), 0
	ctx, cancel := context.WithCancel(t.Context())
	s.Fault = func(r *http.Request) string {
		if r.URL.Query().Has("partNumber") {
			if parts++; parts == 3 {
				cancel() // as a kill
				return s3test.Reset
			}
		}
		return ""
	}
	c := client(t, s)
	c.atOnce = 1
	if _, err := c.Put(ctx, "p/f", bytes.NewReader(body), int64(len(body))); err == nil {
		t.Fatal("it was sent")
	}
	if tag, err := c.Put(t.Context(), "p/f", bytes.NewReader(body), int64(len(body))); err != nil ||
		!strings.HasSuffix(tag, "-3") {
		t.Fatal(tag, err)
	}
	if parts != 4 || s.OpenUploads() != 0 {
		t.Errorf("%d parts were sent, want 4; %d uploads are open", parts, s.OpenUploads())
	}
	if _, err := c.Put(t.Context(), "p/f", bytes.NewReader(body), int64(len(body))); err != nil ||
		parts != 4 {
		t.Errorf("again: %v, %d parts", err, parts)
	}
	got, puts := s.Objects()
	if !bytes.Equal(got["p/f"], body) || puts["p/f"] != 1 {
		t.Errorf("stored %d times", puts["p/f"])
	}
	r, size, err := c.Open(t.Context(), "p/f")
	if err != nil || size != int64(len(body)) {
		t.Fatal(size, err)
	}
	some := make([]byte, 100<<10)
	if _, err := r.ReadAt(some, 5<<10); err != nil || !bytes.Equal(some, body[5<<10:105<<10]) {
		t.Errorf("a part of the object: %v", err)
	}
	if n, err := r.ReadAt(some, size-10); n != 10 || !errors.Is(err, io.EOF) {
		t.Errorf("its end: %d, %v", n, err)
	}
	if _, _, err := c.Open(t.Context(), "p/none"); !errors.Is(err, ErrMissing) {
		t.Errorf("an object that is not there: %v", err)
	}
}
