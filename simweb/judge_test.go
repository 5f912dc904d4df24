package simweb

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// script drives the judge by lines "at WHAT PATH": begin and end of requests to
// the first host, at milliseconds.
func script(t *testing.T, w *Web, lines string) Report {
	t.Helper()
	open := map[string]*visit{}
	epoch := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for line := range strings.Lines(lines) {
		var at int
		var what, path string
		if n, err := fmt.Sscan(line, &at, &what, &path); n != 3 {
			t.Fatalf("script line %q: %v", line, err)
		}
		now := epoch.Add(time.Duration(at) * time.Millisecond)
		switch what {
		case "begin":
			v := w.visit(0, path)
			v.start, v.status = now, 200
			open[path] = v
			w.judge.begin(v)
		case "end":
			open[path].end = now
			w.judge.end(open[path])
		case "busy":
			open[path].end, open[path].status = now, 503
			w.judge.end(open[path])
		case "unsent":
			w.judge.unsent(open[path])
		}
	}
	return w.Report()
}

func TestJudge(t *testing.T) {
	t.Parallel()
	const polite = "0 begin /robots.txt\n10 end /robots.txt\n60 begin /\n90 end /\n"
	cases := map[string]struct {
		lines string
		want  Report
	}{
		"polite": {polite + "140 begin /p/1.html\n150 end /p/1.html",
			Report{Pages: 2, Requests: 3, SmallestGap: 50}},
		"too soon": {polite + "139 begin /p/1.html\n150 end /p/1.html",
			Report{Pages: 2, Requests: 3, SmallestGap: 49, TooSoon: 1}},
		"overlap": {
			polite + "200 begin /p/1.html\n210 begin /p/2.html\n220 end /p/1.html\n230 end /p/2.html",
			Report{Pages: 3, Requests: 4, SmallestGap: 50, Overlaps: 1},
		},
		"twice": {polite + "200 begin /\n210 end /",
			Report{Pages: 1, Requests: 3, SmallestGap: 50, Duplicates: 1, MostTwice: 1}},
		"busy": {
			polite + "200 begin /p/1.html\n210 busy /p/1.html\n300 begin /p/1.html\n310 end /p/1.html",
			Report{Pages: 2, Requests: 4, SmallestGap: 50},
		},
		"unsent": {polite + "200 begin /p/1.html\n210 end /p/1.html\n210 unsent /p/1.html\n" +
			"300 begin /p/1.html\n310 end /p/1.html", Report{Pages: 2, Requests: 4, SmallestGap: 50}},
		"no robots": {"0 begin /\n10 end /",
			Report{Pages: 1, Requests: 1, SmallestGap: -1, LateRobots: 1}},
		"busy robots": {"0 begin /robots.txt\n10 busy /robots.txt\n100 begin /\n110 end /",
			Report{Pages: 1, Requests: 2, SmallestGap: 90, LateRobots: 1}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWeb(t, Config{Hosts: 1, PagesPerHost: 5, Delay: 50 * time.Millisecond})
			// Every page of this small web gets a plain path.
			for n := range w.pages {
				c.lines = strings.ReplaceAll(c.lines, fmt.Sprintf("/p/%d.html", n),
					strings.TrimPrefix(w.url(n), w.origin(0)))
			}
			got := script(t, w, c.lines)
			if c.want.SmallestGap > 0 {
				c.want.SmallestGap *= time.Millisecond
			}
			got.MissingExamples, got.ExtraExamples, got.DuplicateExamples, got.GapHost = nil, nil, nil, ""
			got.Reachable, got.Missing = 0, 0
			if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", c.want) {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

func TestCrawlDelayCountsFromTheSecondRequestAfterRobots(t *testing.T) {
	t.Parallel()
	w := newWeb(t,
		Config{Hosts: 1, PagesPerHost: 5, Delay: 50 * time.Millisecond, CrawlDelay: time.Second})
	w.hosts[0].robots, w.hosts[0].slowed = robotsAll, true
	first, second := strings.TrimPrefix(w.url(1), w.origin(0)), strings.TrimPrefix(w.url(2),
		w.origin(0))
	r := script(t, w, "0 begin /robots.txt\n10 end /robots.txt\n60 begin /\n70 end /\n1070 begin "+
		first+"\n1080 end "+first)
	if r.TooSoon != 0 {
		t.Errorf("polite, and judged too soon %d times", r.TooSoon)
	}
	r = script(t, w, "1200 begin "+second+"\n1210 end "+second)
	if r.TooSoon != 1 {
		t.Errorf("a Crawl-delay of 1 s was not kept, and judged too soon %d times", r.TooSoon)
	}
}

func TestForbiddenAndUnreachable(t *testing.T) {
	t.Parallel()
	w := newWeb(t,
		Config{Seed: 1, Hosts: 8, PagesPerHost: 100, Private: 300, Hidden: 100, DeadHosts: 1})
	forbidden := 0
	for i := range w.hosts {
		h := &w.hosts[i]
		if h.dead {
			continue
		}
		get(w, w.origin(i)+"/robots.txt")
		for n := range h.pages {
			if !w.allowed(h, n) {
				forbidden++
				get(w, w.url(h.first+n))
			}
		}
	}
	get(w, "http://h1.sim.test/nowhere")
	get(w, "http://dead1.sim.test/")
	get(w, "http://elsewhere.test/")
	r := w.Report()
	if forbidden == 0 || r.RobotsViolations != forbidden || r.Extra != forbidden+3 {
		t.Errorf("%d forbidden requests and 3 strange ones, judged %d and %d", forbidden,
			r.RobotsViolations, r.Extra)
	}
	for _, word := range []string{"were not fetched", "cannot be reached", "forbids"} {
		if err := r.Err(); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("the error does not say %q: %v", word, err)
		}
	}
}

// Without sockets the web runs on a bubble's clock, slow answers included.
func TestSlowAndBusyAnswersInVirtualTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(t, Config{
			Hosts:        1,
			PagesPerHost: 3,
			Slow:         1000,
			SlowBy:       time.Hour,
			RateLimited:  1000,
			RetryAfter:   1500 * time.Millisecond,
		})
		start := time.Now()
		rec := get(w, "http://h1.sim.test/")
		if rec.Code != 429 || rec.Header().Get("Retry-After") != "2" || time.Since(start) != 0 {
			t.Errorf("first answer: %d, Retry-After %q, after %v", rec.Code, rec.Header().Get("Retry-After"),
				time.Since(start))
		}
		if rec = get(w, "http://h1.sim.test/"); rec.Code != 200 || time.Since(start) != time.Hour {
			t.Errorf("second answer: %d after %v", rec.Code, time.Since(start))
		}
	})
}

func TestRequestsAreReported(t *testing.T) {
	t.Parallel()
	var seen []Request
	w := newWeb(t, Config{Hosts: 1, OnRequest: func(r Request) { seen = append(seen, r) }})
	get(w, "http://H1.sim.test:80/")
	if len(seen) != 1 || seen[0].URL != "http://h1.sim.test/" || seen[0].Status != 200 ||
		seen[0].End.Before(seen[0].Start) {
		t.Errorf("reported %+v", seen)
	}
	r := httptest.NewRequest("POST", "http://h1.sim.test/", strings.NewReader("x"))
	rec := httptest.NewRecorder()
	if w.ServeHTTP(rec, r); rec.Code != 405 {
		t.Errorf("POST answers %d", rec.Code)
	}
}
