package seedwatch

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"crawlnode/cli/seedlist"
	"crawlnode/crawl"
)

// known answers for URLs as a node does.
type known map[string]crawl.RecordReport

func (k known) ExplainURL(_ context.Context, url string, _ int) (*crawl.URLReport, error) {
	if url == "" {
		return nil, errors.New("no URL")
	}
	r := &crawl.URLReport{}
	if rec, ok := k[url]; ok {
		r.Record = &rec
	}
	return r, nil
}

func (known) DescribeHost(context.Context, string) (*crawl.HostReport, error) {
	return nil, errors.New("not asked")
}

func record(state, reason string, at time.Time) crawl.RecordReport {
	r := crawl.RecordReport{State: state, FetchedAt: &at}
	if reason != "" {
		r.Reason = &reason
	}
	return r
}

func entry(url string, guessed bool) seedlist.Entry {
	return seedlist.Entry{Seed: crawl.Seed{URL: url, Guessed: guessed}}
}

const refused = "connect: connection refused; http://a.test/ is tried in its place"

// TestLook follows a seed whose scheme was guessed from https to http, and says so once.
func TestLook(t *testing.T) {
	t.Parallel()
	now := time.Now()
	node := known{}
	w := New([]seedlist.Entry{entry("https://a.test/", true), entry("https://b.test/", false)}, now)
	look := func(want string) {
		t.Helper()
		if got := strings.Join(w.Look(t.Context(), node, now), "|"); got != want {
			t.Errorf("news %q, want %q", got, want)
		}
	}
	look("")
	if w.Hopeless(now) || w.Decided() || w.Failed() {
		t.Error("nothing is stored, and it is judged")
	}
	node["https://a.test/"], node["https://b.test/"] = record("queued", "", now), record("failed",
		"dns: no such host", now)
	look("")
	if w.First() != "https://a.test/" || w.Decided() || w.Hopeless(now) {
		t.Errorf("%+v", w)
	}
	node["https://a.test/"], node["http://a.test/"] = record("failed", refused, now),
		record("queued", "", now)
	look("https://a.test/: " + refused)
	look("")
	if w.First() != "http://a.test/" || w.Decided() {
		t.Errorf("%+v", w)
	}
	node["http://a.test/"] = record("failed", "connect: connection refused", now)
	look("")
	if !w.Decided() || !w.Hopeless(now.Add(grace)) || !w.Failed() ||
		strings.Join(w.Complaints(), "|") !=
			"http://a.test/: connection refused"+advice["connect"]+"|https://b.test/: no such host"+
				advice["dns"] {
		t.Errorf("%+v, %q", w, w.Complaints())
	}
	earlier := New([]seedlist.Entry{entry("https://a.test/", true)}, now.Add(time.Second))
	if news := earlier.Look(t.Context(), node, now); len(news) > 0 ||
		earlier.First() != "http://a.test/" {
		t.Errorf("what an earlier run has found is news: %q, %s", news, earlier.First())
	}
}

// TestRefusals: seeds that were answered without a page are told, unless one gave a page.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		statuses []int
		more     int
		want     string
	}{
		"none yet":     {[]int{0, 404}, 0, ""},
		"one is fine":  {[]int{200, 404}, 0, ""},
		"others":       {[]int{404}, 1, ""},
		"all":          {[]int{403, 301}, 0, "403 Forbidden|301 Moved"},
		"server error": {[]int{500, 400}, 0, "--again when the server is well|wants https"},
	} {
		w := &Watch{more: tc.more}
		for _, s := range tc.statuses {
			w.states = append(w.states, state{status: s})
		}
		got := w.Refusals()
		if (tc.want == "") != (len(got) == 0) {
			t.Errorf("%s: %q", name, got)
			continue
		}
		for i, want := range strings.Split(tc.want, "|") {
			if tc.want != "" && !strings.Contains(got[i], want) {
				t.Errorf("%s: %q lacks %q", name, got[i], want)
			}
		}
	}
}

// TestRerun gives seeds the scheme that they had, and tries once more what failed.
func TestRerun(t *testing.T) {
	t.Parallel()
	now := time.Now()
	node := known{
		"https://a.test/": record("failed", refused,
			now),
		"https://forbidden.test/": record("refused", "robots.txt says no", now),
		"https://done.test/":      record("done", "", now),
		"https://queued.test/":    record("queued", "", now),
	}
	for _, tc := range []struct {
		url     string
		guessed bool
		again   bool // of the command
		http    string
		want    string
	}{
		{"https://a.test/", true, false, "queued", "https://a.test/ again guessed"},
		{"https://a.test/", true, false, "done", "http://a.test/"},
		{"https://a.test/", true, true, "done", "http://a.test/ again"},
		{"https://a.test/", false, false, "done", "https://a.test/ again"},
		{"https://forbidden.test/", false, false, "", "https://forbidden.test/ again"},
		{"https://done.test/", true, false, "", "https://done.test/ guessed"},
		{"https://queued.test/", false, false, "", "https://queued.test/"},
		{"https://new.test/", false, false, "", "https://new.test/"},
		{"", false, false, "", ""},
	} {
		node["http://a.test/"] = record(tc.http, "", now)
		given := []seedlist.Entry{entry(tc.url, tc.guessed)}
		given[0].Again = tc.again
		s := Rerun(t.Context(), node, given)[0]
		got := s.URL
		if s.Again {
			got += " again"
		}
		if s.Guessed {
			got += " guessed"
		}
		if got != tc.want || given[0].URL != tc.url {
			t.Errorf("%q, with http %s: %q, want %q", tc.url, tc.http, got, tc.want)
		}
	}
}
