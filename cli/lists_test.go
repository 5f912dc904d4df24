package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"crawlnode/cli/command"
	"crawlnode/crawl"
)

// ListURLs has two pages of one URL each.
func (fakeNode) ListURLs(_ context.Context, q crawl.URLQuery) (*crawl.URLPage, error) {
	switch {
	case q.Match == "regex:(":
		return nil, fmt.Errorf("%w: match: missing )", crawl.ErrBadQuery)
	case q.Host == "down.test":
		return nil, errors.New("still joining")
	}
	at, status, cause, next := time.Date(2026, 11, 24, 1, 2, 3, 0, time.UTC), 200, "robots", "second"
	if q.After == next {
		return &crawl.URLPage{URLs: []crawl.URLLine{{
			URL:       "http://b.test/\x1b",
			State:     crawl.ListSkipped,
			Cause:     &cause,
			FetchedAt: &at,
			Depth:     3,
		}}}, nil
	}
	return &crawl.URLPage{URLs: []crawl.URLLine{{
		URL:       "http://a.test/?x&y",
		Host:      "a.test",
		State:     crawl.ListDone,
		Status:    &status,
		FetchedAt: &at,
	}}, Next: &next}, nil
}

func TestURLsList(t *testing.T) {
	t.Parallel()
	addr := fakeAddr(t)
	nowhere := t.TempDir()
	for _, tc := range []struct {
		args        string
		code        int
		out, errout string
	}{
		{"", command.ExitOK,
			"done       200     0 2026-11-24T01:02:03Z -               http://a.test/?x&y\n" +
				`skipped      -     3 2026-11-24T01:02:03Z robots          http://b.test/\x1b` + "\n", ""},
		{"-o json --limit 1", command.ExitOK, `{"url":"http://a.test/?x&y","host":"a.test",`, ""},
		{"-o csv", command.ExitOK,
			"url,host,state,status,depth,attempts,fetched_at,not_before,cause,reason,partition,changed_at,referrer,wall\nhttp://a.test/?x&y,a.test,done,200,0,0,2026-11-24T01:02:03Z,,,,0,,,\n",
			""},
		{"--match regex:(", command.ExitUsage, "", "missing )"},
		{"--host down.test", command.ExitCluster, "", "still joining"},
		{"--state open", command.ExitUsage, "", "must be one of"},
		{"--limit=-1", command.ExitUsage, "", "less than nothing"},
		{"--since 7d", command.ExitUsage, "", "give --changed with it"},
		{"--changed --since yesterday", command.ExitUsage, "", "is no time"},
		{"--copies", command.ExitUsage, "", "give --data-dir with it"},
		{"--data-dir " + nowhere, command.ExitUsage, "", "name a folder that crawlnode has made"},
	} {
		run(t, "", append(append([]string{"urls", "list"}, strings.Fields(tc.args)...), "--addr",
			addr)...).want(t, tc.code, tc.out, tc.errout)
	}
	if r := run(t, "", "urls", "list", "-o", "json", "--limit", "1", "--addr",
		addr); strings.Count(r.out, "\n") != 1 {
		t.Errorf("--limit 1 lists %s", r.out)
	}
	run(t, "", "urls", "list", "--addr", "127.0.0.1:1").want(t, command.ExitError, "",
		"without a node, --data-dir DIR answers")
}

// TestURLsListOfFolder lists what the node of a crawl has left.
func TestURLsListOfFolder(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robots.txt":
			_, _ = w.Write([]byte("User-agent: *\nDisallow: /secret\n"))
		case "/":
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write(
				[]byte("<a href=/secret>x</a> <a href=/gone>y</a> <a href=http://elsewhere.test/>z</a>"))
		default:
			http.NotFound(w, r)
		}
	}))
	defer web.Close()
	dir := filepath.Join(t.TempDir(), "data")
	run(t, "", "crawl", web.URL+"/", "--data-dir", dir, "--http", "127.0.0.1:0", "--gossip",
		"127.0.0.1:0", "--rpc", "127.0.0.1:0",
		"--allow-net", "127.0.0.0/8", "--delay", "5ms").want(t, command.ExitOK,
		"ended: frontier_exhausted", "")
	list := func(args ...string) result {
		return run(t, "", append([]string{"urls", "list", "--data-dir", dir}, args...)...)
	}
	for state, want := range map[string]string{
		"":        " ",
		"done":    "done       200     0 ",
		"skipped": "robots          " + web.URL + "/secret\n",
		"queued":  "",
	} {
		r := list("--state", state)
		if state == "" {
			r = list()
		}
		r.want(t, command.ExitOK, want, "")
		// with /sitemap.xml
		if lines := map[string]int{"": 4, "done": 3, "skipped": 1}[state]; strings.Count(r.out,
			"\n") != lines {
			t.Errorf("state %q: %s", state, r.out)
		}
	}
	list("--status", "4xx", "--contains", "GONE", "-o", "csv").want(t, command.ExitOK,
		web.URL+"/gone,127.0.0.1,done,404,1,0,2", "")

	// Nothing links to /sitemap.xml, and the link to /secret leads somewhere for people.
	broken := list("--state", "broken", "--referrer", "-o", "csv")
	broken.want(t, command.ExitOK, web.URL+"/gone,127.0.0.1,done,404,1,0,2", "")
	if lines := strings.Split(strings.TrimSpace(broken.out), "\n"); len(lines) != 2 ||
		!strings.HasSuffix(lines[1], ",,"+web.URL+"/,") {
		t.Errorf("broken links: %s", broken.out)
	}
	list("--state", "broken", "--referrer").want(
		t, command.ExitOK, " "+web.URL+"/gone "+web.URL+"/\n", "")
	list("--state", "broken", "--referrer", "-o", "json").want(t, command.ExitOK,
		`"referrer":"`+web.URL+`/"`, "")
	if r := list("--changed"); r.code != command.ExitOK || r.out != "" {
		t.Errorf("nothing was visited twice: %s", r.out)
	}

	lock, err := os.Open(filepath.Join(dir, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Close() }()
	// as a node does
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		t.Fatal(err)
	}
	list().want(t, command.ExitUsage, "", "a node runs on "+dir+": ask it")
}

func (fakeNode) Search(_ context.Context, q crawl.SearchQuery) (*crawl.SearchReport, error) {
	if q.Query == "off" {
		return nil, fmt.Errorf("%w: set index=on", crawl.ErrRefused)
	}
	lang := "en"
	return &crawl.SearchReport{
		Query:       q.Query,
		Interpreted: q.Query,
		Total:       41,
		TotalExact:  true,
		Coverage:    1,
		Results: []crawl.SearchResult{{Title: "<b>T\x1b", Snippet: "a hit", Highlight: []crawl.SearchPart{
			{Text: "a "}, {Text: "<hit>", Hit: true}},
			Link: "http://a.test/x?y=1&z=2", Host: "a.test", Lang: &lang, File: "f.warc.gz",
			AlsoAt: []string{}}},
	}, nil
}
