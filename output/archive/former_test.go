package archive

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
)

// formerLine is the line of a capture as earlier releases wrote it.
func formerLine(url string, second, offset int, file string) string {
	return fmt.Sprintf(
		"%s %s {\"url\":%q,\"mime\":\"text/html\",\"status\":\"200\",\"digest\":\"sha1:D%d\","+
			"\"length\":\"9\",\"offset\":\"%d\",\"filename\":%q}\n",
		formerKey(url), day.Add(time.Duration(second)*time.Second).Format(indexDate), url, offset, offset,
		file)
}

// writeFormer writes an index of an earlier release: sorted by its keys.
func writeFormer(t *testing.T, dir, name string, urls []string) {
	t.Helper()
	var lines []string
	for i, url := range urls {
		lines = append(lines, formerLine(url, i, i, name+".warc.gz"))
	}
	slices.Sort(lines)
	if err := os.WriteFile(filepath.Join(dir, name+
		".cdxj"), []byte(strings.Join(lines, "")), 0o600); err != nil {
		t.Fatal(err)
	}
}

// ambiguous are URLs whose keys are alike, or other ones than those of earlier releases.
var ambiguous = []string{
	"http://a.test/CASE", "http://a.test/case", "http://a.test/Case/", "http://a.test/?a=1&b=2",
	"http://a.test/?b=2&a=1", "http://a.test/?u=https%3A%2F%2Fb.test%2F",
	"http://a.test/?u=https://b.test/",
	"http://a.test//x//y", "http://a.test/x/y", "http://a.test/x/y/", "http://a.test/%7Ex",
	"http://a.test/~x",
	"http://127.0.0.1:81/x", "http://127.0.0.1/X", "http://127.0.0.1/x?", "http://[::1]:81/x",
	"http://[::1]/",
	"http://www.a.test/case", "https://a.test/CASE", "http://a.test/-", "http://a.test/!",
	"http://a.test/?sid=9682993c8daa2c5497996114facdc805", "http://a.test/\"q\\",
}

// TestFormerIndexes: indexes of an earlier release, beside those of today, are read as if they had
// today's keys: whole, by range, by URL.
func TestFormerIndexes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFormer(t, dir, "old", ambiguous)
	var index, today bytes.Buffer
	for i, url := range slices.Backward(ambiguous) { // the same captures, and others
		e := Entry{
			URL: url, At: day.Add(time.Duration(100+i) * time.Second), MIME: "text/html", Status: 200,
			Digest: "sha1:X",
			Ref:    crawl.ArchiveRef{File: "new.warc.gz", Offset: int64(i), Length: 1},
		}
		index.Write(AppendEntry(nil, &e))
	}
	sorted, err := SortedLines(dir, &index)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := today.ReadFrom(sorted); err != nil || sorted.Close() != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "new.cdxj"), today.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	var all bytes.Buffer
	if err := WriteRange(dir, &all, crawl.IndexRange{}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(all.String(), "\n"), "\n")
	if len(lines) != 2*len(ambiguous) || !slices.IsSorted(lines) {
		t.Errorf("%d lines, sorted: %v", len(lines), slices.IsSorted(lines))
	}
	for _, l := range lines {
		e, err := ParseEntry([]byte(l))
		if key, _, _ := strings.Cut(l, " "); err != nil || key != Key(e.URL) || !isCurrent([]byte(l)) {
			t.Errorf("%s: %v", l, err)
		}
	}
	for _, url := range ambiguous {
		checkFormerURL(t, dir, url)
	}
	for _, r := range []crawl.IndexRange{
		OfKey("test,a)/case"), {From: "test,a)/", To: "test,a)0"}, {From: "1,0,0,127)", To: "1,0,0,127;"},
		{From: "::1:81)", To: "::1:81;"}, {From: "::1", To: "::2"}, {From: "test,", To: "test-"}, {From: "test,a)/x"},
		{From: "1,0,0,127:81)/", To: "1,0,0,127:81)0"}, {To: "test,a)/c"}, OfURL("http://a.test/~x"),
	} {
		var got bytes.Buffer
		want := ""
		for _, l := range lines {
			if InRange(r, []byte(l)) {
				want += l + "\n"
			}
		}
		if err := WriteRange(dir, &got, r); err != nil || got.String() != want || want == "" {
			t.Errorf("%+v: %v\n%swant\n%s", r, err, got.String(), want)
		}
	}
}

// checkFormerURL: the URL is found in either index, and nothing else with it.
func checkFormerURL(t *testing.T, dir, url string) {
	t.Helper()
	i := slices.Index(ambiguous, url)
	var got []string
	if err := Lookup(dir, url, func(e *Entry) error {
		got = append(got, fmt.Sprint(e.URL, " ", e.Ref.File, " ", e.Ref.Offset))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	want := []string{fmt.Sprint(url, " old.warc.gz ", i), fmt.Sprint(url, " new.warc.gz ", i)}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if ref, err := Find(dir, url, ""); err != nil || ref.File != "new.warc.gz" ||
		ref.Offset != int64(i) {
		t.Errorf("Find %s: %+v, %v", url, ref, err)
	}
	if ref, err := Find(dir, url, fmt.Sprint("sha1:D", i)); err != nil || ref.File != "old.warc.gz" {
		t.Errorf("Find %s with a payload: %+v, %v", url, ref, err)
	}
	if ref, err := FindBefore(dir, url, day.Add(50*time.Second)); err != nil ||
		ref.File != "old.warc.gz" {
		t.Errorf("FindBefore %s: %+v, %v", url, ref, err)
	}
	alike := 0
	if err := LookupAlike(dir, url, func(e *Entry) error {
		if alike++; Key(e.URL) != Key(url) {
			t.Errorf("%s is like %s", e.URL, url)
		}
		return nil
	}); err != nil || alike < 2 {
		t.Errorf("%d captures are like %s: %v", alike, url, err)
	}
}

// TestFormerOpenIndex: an index that an earlier release left unsorted gets today's keys.
func TestFormerOpenIndex(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := ""
	for i, url := range ambiguous {
		text += formerLine(url, i, i, "f.warc.gz")
	}
	if err := os.WriteFile(filepath.Join(dir, "f.cdxj.open"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var open, finished bytes.Buffer
	if err := WriteRange(dir, &open, crawl.IndexRange{}); err != nil {
		t.Fatal(err)
	}
	for _, url := range ambiguous {
		if ref, err := Find(dir, url, ""); err != nil ||
			ref.Offset != int64(slices.Index(ambiguous, url)) {
			t.Errorf("Find %s: %+v, %v", url, ref, err)
		}
	}
	if err := finishIndex(dir, "f.warc.gz"); err != nil {
		t.Fatal(err)
	}
	if err := WriteRange(dir, &finished, crawl.IndexRange{}); err != nil {
		t.Fatal(err)
	}
	stored, err := os.ReadFile(filepath.Join(dir, "f.cdxj"))
	if err != nil || open.String() != finished.String() || open.String() != string(stored) ||
		open.Len() == 0 {
		t.Errorf("%v\n%s\n%s\n%s", err, open.String(), finished.String(), stored)
	}
	if _, err := Find(dir, "http://a.test/cAsE", ""); !errors.Is(err, ErrNoCapture) {
		t.Errorf("another spelling: %v", err)
	}
}

// TestCurrentLines: lines of a member of an earlier release are sorted anew, others pass.
func TestCurrentLines(t *testing.T) {
	t.Parallel()
	var former []string
	for i, url := range ambiguous {
		former = append(former, formerLine(url, i, i, "f"))
	}
	slices.Sort(former)
	long := "http://a.test/" + strings.Repeat("x", 30_000)
	for _, in := range []string{"", strings.Join(former, ""), formerLine(long, 1, 1, "f"), "no line\n",
		"no end"} {
		r, err := CurrentLines(t.TempDir(), strings.NewReader(in))
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if _, err := out.ReadFrom(r); err != nil || r.Close() != nil {
			t.Fatal(err)
		}
		got := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if strings.Count(in, "\n") != strings.Count(out.String(), "\n") || !slices.IsSorted(got) {
			t.Errorf("%.80s\nis\n%.80s", in, out.String())
		}
		again, err := CurrentLines(t.TempDir(), bytes.NewReader(out.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		var twice bytes.Buffer
		if _, err := twice.ReadFrom(again); err != nil || twice.String() != out.String() {
			t.Errorf("%v: %.80s", err, twice.String())
		}
		if strings.HasPrefix(in, "test") && !isCurrent([]byte(got[0])) {
			t.Errorf("%.200s", got[0])
		}
	}
}
