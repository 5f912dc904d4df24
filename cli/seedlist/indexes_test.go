package seedlist

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"crawlnode/cli/command"
	"crawlnode/web/statuses"
)

func statusSet(t *testing.T, list string) *statuses.Set {
	t.Helper()
	s, err := statuses.Parse(list, statuses.Least, "a list")
	if err != nil {
		t.Fatal(err)
	}
	return &s
}

// cdxj is a line of an index. Without a status the line has none.
func cdxj(url, status, mime string) string {
	line := `key 20260101000000 {"url":"` + url + `","mime":"` + mime + `"`
	if status != "" {
		line += `,"status":"` + status + `"`
	}
	return line + "}\n"
}

func TestFromIndexes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = io.WriteString(z, cdxj("http://z.test/", "200", "text/html"))
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	plain := write("a.cdxj", cdxj("http://a.test/", "200", "text/html")+
		cdxj("http://a.test/", "304", "warc/revisit")+
		cdxj("http://a.test/", "200", "warc/revisit")+
		cdxj("http://b.test/", "404", "text/html")+
		"what is this\n"+
		cdxj("http://c.test/", "", "warc/revisit")+
		cdxj("http://d.test/", "", "text/html")+
		cdxj("http://e.test/", "301", "text/html")+
		cdxj("http://a.test/", "200", "text/html"))
	gz := write("z.cdxj.gz", packed.String())
	for _, tc := range []struct {
		status string
		files  []string
		want   string
		counts IndexCounts
		bad    int64
	}{
		{"200", []string{plain}, "a:1 c:6 a:9", IndexCounts{8, 4, 1}, 1},
		{"200,301-308", []string{plain}, "a:1 c:6 e:8 a:9", IndexCounts{8, 2, 2}, 1},
		{"404", []string{plain}, "b:4", IndexCounts{8, 7, 0}, 1},
		{"200", []string{gz, "-"}, "z:1 i:1", IndexCounts{2, 0, 0}, 0},
		{"500", []string{gz}, "", IndexCounts{1, 1, 0}, 0},
	} {
		var errout bytes.Buffer
		env := &command.Env{Stderr: &errout, Stdin: strings.NewReader(cdxj("http://i.test/", "200", "-"))}
		bad := env.Errors()
		var got []string
		counts, err := FromIndexes(t.Context(), env, tc.files, statusSet(t, tc.status), bad,
			func(seeds []Entry) error {
				for i, s := range seeds {
					if s.Line != i+1 {
						t.Errorf("seed %d has line %d", i, s.Line)
					}
					got = append(got,
						strings.TrimPrefix(s.URL, "http://")[:1]+s.Place[strings.LastIndex(s.Place, ":"):])
				}
				return nil
			})
		if err != nil || strings.Join(got, " ") != tc.want || counts != tc.counts ||
			bad.Count() != tc.bad {
			t.Errorf("%s of %v: %v, %+v, %d bad, %v; want %s, %+v, %d bad", tc.status, tc.files, got, counts,
				bad.Count(), err, tc.want, tc.counts, tc.bad)
		}
		if tc.bad > 0 && !strings.Contains(errout.String(), plain+":5: it has 3 of the 6 fields") {
			t.Errorf("%q does not name the bad line", errout.String())
		}
	}
}

// TestLongIndex: a long index comes in batches, and so do its bad lines; a URL that stands twice
// over the end of a batch comes once.
func TestLongIndex(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 2500 {
		text.WriteString(strings.Repeat(cdxj(fmt.Sprintf("http://h.test/%d", i), "200", "-"), 2))
	}
	text.WriteString(strings.Repeat("none\n", 2100))
	var errout bytes.Buffer
	env := &command.Env{Stderr: &errout, Stdin: strings.NewReader(text.String())}
	bad, batches, last := env.Errors(), []int{}, ""
	counts, err := FromIndexes(t.Context(), env, []string{"-"}, statusSet(t, "200"), bad,
		func(seeds []Entry) error {
			batches = append(batches, len(seeds))
			for _, s := range seeds {
				if s.URL == last {
					t.Errorf("%s comes twice", last)
				}
				last = s.URL
			}
			return nil
		})
	bad.End()
	if err != nil || counts != (IndexCounts{5000, 0, 2500}) ||
		fmt.Sprint(batches) != "[1000 1000 500]" || bad.Count() != 2100 {
		t.Errorf("%+v in %v, %d bad, %v", counts, batches, bad.Count(), err)
	}
	if lines := strings.Count(errout.String(), "\n"); lines != command.MostErrors+1 ||
		!strings.Contains(errout.String(), "and 2,090 more") {
		t.Errorf("%d lines: %s", lines, errout.String())
	}
}

// TestIndexEnds: what ends the reading early.
func TestIndexEnds(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	over, cancel := context.WithCancel(t.Context())
	cancel()
	never, hold := io.Pipe() // a person who types nothing
	defer hold.Close()
	for name, tc := range map[string]struct {
		ctx   context.Context
		files []string
		in    io.Reader
		want  error
		says  string
	}{
		"add fails": {t.Context(), []string{"-"}, strings.NewReader(cdxj("http://a.test/", "200", "-")),
			refused, ""},
		"a signal": {over, []string{"-"}, never, ErrSignalled, ""},
		"no file": {t.Context(), []string{"/nonexistent/x.cdxj"}, nil, os.ErrNotExist,
			"/nonexistent/x.cdxj"},
		"a folder":    {t.Context(), []string{t.TempDir()}, nil, nil, "is a folder"},
		"stdin twice": {t.Context(), []string{"-", "-"}, strings.NewReader(""), nil, "stands twice"},
		"cut gzip": {t.Context(), []string{"-"}, strings.NewReader("\x1f\x8b\x08"), nil,
			"standard input: it begins as gzip does"},
	} {
		var errout bytes.Buffer
		env := &command.Env{Stderr: &errout, Stdin: tc.in}
		_, err := FromIndexes(tc.ctx, env, tc.files, statusSet(t, "200"), env.Errors(),
			func([]Entry) error { return refused })
		if err == nil || tc.want != nil && !errors.Is(err, tc.want) ||
			!strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v, want %v %s", name, err, tc.want, tc.says)
		}
	}
}
