package lists

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"crawlnode/web/htmlparse"
	"crawlnode/web/urlnorm"
)

// FuzzString: a string becomes JSON that reads as the standard encoder's does.
func FuzzString(f *testing.F) {
	for _, s := range []string{"", "plain", "\"\\\x00\x1f\x7f\n", "\xff\xc3(\xed\xa0\x80",
		"\u2028\u00e4\U0001F600", "</script>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		ours := appendString(nil, s)
		theirs, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var got, want string
		if err := json.Unmarshal(ours, &got); err != nil || !utf8.Valid(ours) ||
			bytes.ContainsAny(ours, "\n\r\x00") {
			t.Fatalf("%q: %v", ours, err)
		}
		if err := json.Unmarshal(theirs, &want); err != nil || got != want {
			t.Fatalf("%q reads as %q, want %q", ours, got, want)
		}
	})
}

// FuzzPage: whatever a page holds, its lines are JSON and its pieces end at lines.
func FuzzPage(f *testing.F) {
	f.Add([]byte("<title>\x00\xff</title><a rel='\"' href=http://b.test/\"}>\n{\xfe</a>"))
	f.Fuzz(func(t *testing.T, body []byte) {
		at := url(t, "http://a.test/")
		doc := htmlparse.ParseWith(htmlparse.Options{Anchors: true}, body, "", at)
		var b []byte
		for i := range doc.Links {
			b = appendLink(b, at, &doc, i)
		}
		b = addUp(hostLines(b, at, &doc))
		for line := range bytes.Lines(b) {
			if !isLine(line) {
				t.Fatalf("line %q", line)
			}
		}
		if bytes.Count(b, []byte("\n")) < len(doc.Links) {
			t.Fatalf("%d links in %q", len(doc.Links), b)
		}
	})
}

// FuzzRepair: whatever a file has after the part that its tail vouches for, and whatever the tail
// has after its first line, the result can be read to its end. Without a valid first line nothing
// breaks either.
func FuzzRepair(f *testing.F) {
	const name = "hosts-20260101000000-00000-x.jsonl.gz"
	var p packer
	member, err := p.lines([]byte(`{"source":"a","target":"b","links":2}`+"\n"), true)
	if err != nil {
		f.Fatal(err)
	}
	good := bytes.Clone(member)
	f.Add(good, []byte(`{"source":"a","target":"b","links":2}`+"\n"), true)
	f.Add(append(bytes.Clone(good), good[:20]...), []byte(`{"links":}`+"\n{}\n"), true)
	f.Add(append(bytes.Clone(good), 0, 0), []byte{}, false)
	f.Add(good, []byte(`{"file":"`+name+`","after":9}`+"\n"), false)
	f.Fuzz(func(t *testing.T, gz, tail []byte, honest bool) {
		if honest {
			whole, _, _ := wholeMembers(bytes.NewReader(gz))
			tail = append(fmt.Appendf(nil, `{"file":%q,"after":%d}`+"\n", name, whole), tail...)
		}
		dir := t.TempDir()
		for name, b := range map[string][]byte{name + openSuffix: gz, tailName(name): tail} {
			if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		r, err := repair(dir, name)
		if err != nil || r.Kept+r.Cut != int64(len(gz)) || r.Kept < 0 || r.Cut < 0 {
			t.Fatalf("%+v of %d bytes: %v", r, len(gz), err)
		}
		only(t, dir)
		left, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil && !r.Removed {
			t.Fatal(err)
		}
		if whole, damage, err := wholeMembers(bytes.NewReader(left)); honest &&
			(whole != int64(len(left)) || damage != nil || err != nil) {
			t.Fatalf("%+v leaves %d whole of %d bytes: %v, %v", r, whole, len(left), damage, err)
		}
	})
}

// hostLines are the lines of a page's hosts.
func hostLines(b []byte, source urlnorm.URL, doc *htmlparse.Document) []byte {
	for host, links := range hostsOf(source, doc) {
		b = appendPair(b, source.Host(), host, links)
	}
	return b
}
