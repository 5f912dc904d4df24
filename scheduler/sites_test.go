package scheduler

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/crawl"
	"crawlnode/scheduler/core"
	"crawlnode/settings/sites/sitestest"
	"crawlnode/web/urlnorm"
)

// siteRig is a rig whose rules for sites change, and which keeps the times of all requests.
type siteRig struct {
	*rig

	mu       sync.Mutex // guards the rest
	requests map[crawl.Host][]request
}

type request struct {
	path       string
	start, end time.Time
}

func newSiteRig(t *testing.T) *siteRig {
	r := &siteRig{rig: newRig(t), requests: map[crawl.Host][]request{}}
	r.web.delay = 0 // each test judges the gaps
	r.web.answer = func(ctx context.Context, v crawl.Visit) (crawl.Response, bool) {
		r.note(v)
		return crawl.Response{}, false
	}
	r.rule("")
	return r
}

// note keeps the time of a request that begins now and takes as long as all do.
func (r *siteRig) note(v crawl.Visit) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	q := request{v.Item.URL.Path(), now, now.Add(r.web.took)}
	if v.Robots == nil {
		q.path = "/robots.txt"
	}
	r.requests[v.Host] = append(r.requests[v.Host], q)
}

// rule gives the crawl rules for sites, beside the rig's settings as they are.
func (r *siteRig) rule(text string) {
	r.t.Helper()
	next := rules{settings: &crawl.Settings{}}
	*next.settings = r.settings
	next.settings.Sites = text
	if text != "" {
		next.sites = sitestest.Table(r.t, next.settings, text)
	}
	r.now.Store(&next)
}

// queue adds URLs of a host by their paths.
func (r *siteRig) queue(host crawl.Host, paths ...string) {
	r.disk.add(0, host, 0, len(paths))
	items := r.disk.hosts[host].items
	for i, path := range paths {
		u, err := urlnorm.Parse("http://" + string(host) + path)
		if err != nil {
			r.t.Fatal(err)
		}
		items[len(items)-len(paths)+i].URL = u
	}
}

// of are the requests to a host.
func (r *siteRig) of(host crawl.Host) []request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]request(nil), r.requests[host]...)
}

// gaps calls visit with each gap of a host and with the requests around it.
func (r *siteRig) gaps(host crawl.Host, visit func(gap time.Duration, a, b request)) {
	all := r.of(host)
	for i := 1; i < len(all); i++ {
		visit(all[i].start.Sub(all[i-1].end), all[i-1], all[i])
	}
}

// TestSiteDelayChanges lets two thousand hosts wait for a minute each, and gives those of one
// domain a delay of 10 ms, and then their minute again. They go on at once, and wait again from
// their next request on; the others keep exactly their times, in memory and on disk.
func TestSiteDelayChanges(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		active, one, others int
		late                time.Duration // a host may be behind its time by that much
	}{
		"in memory": {active: 20_000, one: 100, others: 1900, late: time.Second},
		// Most of the hosts wait on disk, and are loaded a few each second.
		"on disk": {active: 300, one: 30, others: 570, late: 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { siteDelayChanges(t, c.active, c.one, c.others, c.late) })
		})
	}
}

func siteDelayChanges(t *testing.T, active, one, others int, late time.Duration) {
	const delay = time.Minute
	r := newSiteRig(t)
	r.settings.Delay = delay
	r.rule("")
	r.options.Scheduler.MaxActive = active
	var chosen, rest []crawl.Host
	for i := range one {
		chosen = append(chosen, crawl.Host(fmt.Sprintf("h%d.one.test", i)))
		r.disk.add(crawl.Partition(i%2), chosen[i], 0, 200)
	}
	for i := range others {
		rest = append(rest, crawl.Host(fmt.Sprintf("h%d.d%d.test", i, i%40)))
		r.disk.add(crawl.Partition(i%2), rest[i], 0, 6)
	}
	r.start(100)
	defer r.end()
	r.d.Hold(0, 7, time.Time{})
	r.d.Hold(1, 7, time.Time{})
	time.Sleep(2*delay + delay/2)
	before := map[crawl.Host]int{}
	for _, h := range chosen {
		before[h] = len(r.of(h))
	}

	r.rule("- match: domain:one.test\n  delay: 10ms\n")
	faster := time.Now()
	time.Sleep(5 * time.Second)
	for _, h := range chosen {
		switch q := r.of(h); {
		case len(q) < before[h]+5:
			t.Errorf("%s was requested %d times within 5 s, and has a delay of 10 ms", h, len(q)-before[h])
		case late <= time.Second && q[before[h]].start.Sub(faster) > 2*time.Second:
			t.Errorf("%s went on after %v", h, q[before[h]].start.Sub(faster))
		}
	}

	r.rule("")
	slower := time.Now()
	time.Sleep(2*delay + late)
	for _, h := range chosen {
		after := 0
		r.gaps(h, func(gap time.Duration, a, b request) {
			// The loop sees other rules within a second.
			if b.start.Sub(slower) <= 0 {
				return
			}
			after++
			if gap < delay || gap > delay+time.Second+late {
				t.Errorf("%s: a gap of %v although its delay is a minute again", h, gap)
			}
		})
		if after == 0 {
			t.Errorf("%s is not requested any more", h)
		}
	}
	for _, h := range rest {
		n := 0
		r.gaps(h, func(gap time.Duration, a, b request) {
			n++
			if gap < delay || gap > delay+late {
				t.Errorf("%s: a gap of %v, and its delay was a minute all the time", h, gap)
			}
		})
		if n < 2 {
			t.Errorf("%s was requested %d times", h, n+1)
		}
	}
}

// TestPauseAfterURL checks that the host rests after a URL as long as the rule for that URL says,
// and not after its others; a rule that asks for less than the host's delay changes nothing.
func TestPauseAfterURL(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newSiteRig(t)
		r.rule(`
- match: host:h.test
  delay: 2s
- match: prefix:http://h.test/slow
  delay: 20s
- match: glob:*/fast*
  delay: 5ms
`)
		r.queue("h.test", "/a", "/slow/1", "/fast", "/b", "/slow/2", "/c")
		r.start(4)
		defer r.end()
		r.d.Hold(0, 7, time.Time{})
		time.Sleep(2 * time.Minute)
		if n := len(r.of("h.test")); n != 7 {
			t.Errorf("%d requests", n)
		}
		r.gaps("h.test", func(gap time.Duration, a, _ request) {
			want := 2 * time.Second
			if strings.HasPrefix(a.path, "/slow") ||
				a.path == "/robots.txt" && r.of("h.test")[1].path == "/slow/1" {
				want = 20 * time.Second
			}
			if gap < want || gap > want+100*time.Millisecond {
				t.Errorf("after %s the host rests %v, want %v", a.path, gap, want)
			}
		})
	})
}

// TestPauseAfterURLChanges changes the rule for a URL while its host rests after it, in memory
// and on disk: a shorter pause counts at once, a longer one for the next request, and a change of
// another delay does not end the pause.
func TestPauseAfterURLChanges(t *testing.T) {
	t.Parallel()
	slow := func(pause string) string {
		return "- match: prefix:http://h.test/slow\n  delay: " + pause + "\n"
	}
	for name, c := range map[string]struct {
		after    string
		settings func(*crawl.Settings)
		active   int
		want     time.Duration // from the end of the request for /slow to the next
	}{
		"shorter":          {after: slow("3s"), want: 53 * time.Second},
		"shorter, on disk": {after: slow("3s"), active: 4, want: 53 * time.Second},
		"gone":             {after: "", want: 51 * time.Second},
		"gone, on disk":    {after: "", active: 4, want: 51 * time.Second},
		"longer":           {after: slow("400s"), want: 450 * time.Second},
		"of another host": {
			after: slow("100s") + "- match: host:x.test\n  delay: 9s\n",
			want:  100 * time.Second,
		},
		"of another host, on disk": {
			after:  slow("100s") + "- match: host:x.test\n  delay: 10ms\n",
			active: 4,
			want:   100 * time.Second,
		},
		"shorter, of the crawl": {
			after:    slow("100s"),
			settings: func(s *crawl.Settings) { s.Delay = 10 * time.Millisecond },
			want:     100 * time.Second,
		},
		"of the addresses": {
			after:    slow("100s"),
			settings: func(s *crawl.Settings) { d := time.Duration(0); s.IPDelay = &d },
			want:     150 * time.Second,
		},
		"of the addresses, on disk": {
			after:    slow("100s"),
			settings: func(s *crawl.Settings) { d := time.Duration(0); s.IPDelay = &d },
			active:   4,
			want:     100 * time.Second,
		},
		"of the host, and the same": {
			after: "- match: host:h.test\n  delay: 500ms\n" + slow("100s"),
			want:  100 * time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newSiteRig(t)
				r.rule(slow("100s"))
				r.options.Scheduler = core.Config{MaxActive: c.active, ItemsPerHost: 4, Quantum: 2}
				r.queue("h.test", "/slow", "/next")
				if c.active > 0 {
					for i := range 8 {
						r.disk.add(0, crawl.Host(fmt.Sprintf("busy%d.test", i)), 0, 400)
					}
				}
				r.start(4)
				defer r.end()
				r.d.Hold(0, 7, time.Time{})
				at := func(path string) (q request) {
					for _, o := range r.of("h.test") {
						if o.path == path {
							q = o
						}
					}
					return q
				}
				r.until("the request for /slow", func() bool { return !at("/slow").start.IsZero() })
				end := at("/slow").end
				time.Sleep(time.Until(end.Add(50 * time.Second)))
				var inMemory bool
				if err := r.d.call(t.Context(), func(time.Time) {
					inMemory = r.d.loop.core.Has("h.test")
				}); err != nil {
					t.Fatal(err)
				}
				if inMemory != (c.active == 0) {
					t.Fatalf("the host is in memory: %v", inMemory)
				}
				if c.settings != nil {
					c.settings(&r.settings)
				}
				r.rule(c.after)
				r.until("the request for /next", func() bool { return !at("/next").start.IsZero() })
				late := 2 * time.Second
				if c.active > 0 {
					late = 12 * time.Second // it comes back from disk
				}
				if gap := at("/next").start.Sub(end); gap < c.want || gap > c.want+late {
					t.Errorf("the host rests %v after the URL, want %v", gap, c.want)
				}
			})
		})
	}
}

// TestSiteRetriesAndPages checks that URLs are tried as often, and hosts asked for as many pages,
// as the rules say.
func TestSiteRetriesAndPages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newSiteRig(t)
		retries := 1
		r.settings.Retries, r.settings.MaxPagesPerHost = &retries, 3
		r.rule(`
- match: host:often.test
  retries: 4
- match: [host:often.test, host:few.test]
  max-pages: 2
- match: prefix:http://few.test/more
  max-pages: 4
`)
		r.queue("often.test", "/fails")
		r.queue("once.test", "/fails")
		r.queue("few.test", "/1", "/2", "/3", "/more/1", "/more/2", "/more/3")
		r.disk.add(0, "many.test", 0, 6)
		r.web.answer = func(_ context.Context, v crawl.Visit) (crawl.Response, bool) {
			r.note(v)
			fails := v.Item.URL.Path() == "/fails" && v.Robots != nil
			return crawl.Response{Kind: crawl.URLFailed, Requested: true, Took: time.Millisecond}, fails
		}
		r.start(4)
		defer r.end()
		r.d.Hold(0, 7, time.Time{})
		r.until("all are done", func() bool { return r.disk.left() == 0 })
		// With robots.txt of each host.
		for host, want := range map[crawl.Host]int{
			"often.test": 6,
			"once.test":  3,
			"few.test":   5,
			"many.test":  4,
		} {
			if n := len(r.of(host)); n != want {
				t.Errorf("%s was requested %d times, want %d: %v", host, n, want, r.of(host))
			}
		}
		few, _ := r.refused.Load(crawl.Host("few.test"))
		many, _ := r.refused.Load(crawl.Host("many.test"))
		if !strings.Contains(fmt.Sprint(few), "rule") ||
			!strings.Contains(fmt.Sprint(many), "--max-pages-per-host") {
			t.Errorf("refused for %v and %v", few, many)
		}
	})
}

// TestSiteExcluded excludes a domain by a rule for it, in a crawl that excludes nothing else: its
// URLs are refused within seconds, also those that wait on disk.
func TestSiteExcluded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newSiteRig(t)
		r.settings.Delay = time.Hour
		r.rule("")
		r.options.Scheduler.MaxActive = 100
		const hosts = 300
		for i := range hosts {
			r.disk.add(1, crawl.Host(fmt.Sprintf("n%d.bad.test", i)), 0, 3)
		}
		r.disk.add(1, "good.test", 0, 3)
		r.start(20)
		defer r.end()
		r.d.Hold(1, 7, time.Time{})
		time.Sleep(time.Minute)
		if n := r.disk.left(); n != 3*hosts+3 {
			t.Fatalf("%d URLs are left before", n)
		}
		r.rule("- match: domain:bad.test\n  exclude: '*'\n")
		time.Sleep(20 * time.Second)
		if n := r.disk.left(); n != 3 {
			t.Errorf("20 s after their domain was excluded %d URLs are queued, and 3 are not excluded", n)
		}
		if n := r.web.robotsFetched() + r.web.pages(); n != 0 {
			t.Errorf("%d requests were made", n)
		}
	})
}

// TestManySiteChanges changes the rules more often than changes are told apart: a host on disk
// whose delay grew by a forgotten change waits for it all the same.
func TestManySiteChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newSiteRig(t)
		r.make()
		l := &r.d.loop
		l.rules = *r.now.Load()
		h := &holding{partition: 0}
		l.held[0] = h
		first := time.Now()
		delay := func(host string, d time.Duration) string {
			return fmt.Sprintf("- match: host:%s\n  delay: %v\n", host, d)
		}
		follow := func(text string) {
			r.rule(text)
			l.followGaps(time.Now())
			time.Sleep(time.Second)
		}
		follow(delay("a.test", 30*time.Second))
		if at := l.acquired(h, "a.test"); !at.Equal(first) || !l.acquired(h, "b.test").IsZero() ||
			h.earlySites == 0 {
			t.Errorf("a.test waits from %v, b.test from %v", at, l.acquired(h, "b.test"))
		}
		for i := range changesKept {
			follow(delay("a.test", 30*time.Second) + delay("b.test", time.Duration(40+i)*time.Second))
		}
		if len(l.changes) != changesKept {
			t.Errorf("%d changes are kept", len(l.changes))
		}
		if at := l.acquired(h, "a.test"); !at.Equal(first) {
			t.Errorf("a.test waits from %v, want %v", at, first)
		}
		if at := l.acquired(h, "b.test"); time.Since(at) > time.Second {
			t.Errorf("b.test waits from %v ago", time.Since(at))
		}
		if l.shorter("a.test") || l.shorter("b.test") {
			t.Error("no delay has become smaller")
		}
		follow(delay("b.test", time.Second))
		if !l.shorter("a.test") || !l.shorter("b.test") || l.shorter("c.test") {
			t.Error("the delays of a.test and b.test have become smaller, and no other")
		}
		l.forgetChanges(time.Now().Add(changesLife))
		if len(l.changes) != 0 {
			t.Errorf("%d changes are kept for ever", len(l.changes))
		}
	})
}

// TestCrawlDelayBesideSites changes the delay of the crawl, and not the rules for sites: the
// hosts with a delay of their own keep their times, and the others on disk wait for the new one.
func TestCrawlDelayBesideSites(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newSiteRig(t)
		r.rule("- match: host:own.test\n  delay: 5s\n")
		r.make()
		l := &r.d.loop
		l.rules = *r.now.Load()
		h := &holding{partition: 0}
		l.held[0] = h
		change := func(f func(*crawl.Settings)) time.Time {
			next := rules{settings: &crawl.Settings{}}
			*next.settings = *l.rules.settings
			f(next.settings)
			next.sites = sitestest.Of(l.rules.sites.File(), next.settings)
			r.now.Store(&next)
			time.Sleep(time.Second)
			l.followGaps(time.Now())
			return time.Now()
		}
		change(func(s *crawl.Settings) { s.MaxPages = 7 })
		if len(l.changes) != 0 || h.again {
			t.Errorf("a change of something else: %+v", l.changes)
		}
		at := change(func(s *crawl.Settings) { s.Delay = 9 * time.Second })
		if !l.acquired(h, "own.test").IsZero() || !l.acquired(h, "other.test").Equal(at) {
			t.Errorf("own.test waits from %v, other.test from %v", l.acquired(h, "own.test"),
				l.acquired(h, "other.test"))
		}
		change(func(s *crawl.Settings) { s.Delay = 8 * time.Second })
		if l.shorter("own.test") || !l.shorter("other.test") {
			t.Errorf("own.test waits for less: %v, other.test: %v", l.shorter("own.test"),
				l.shorter("other.test"))
		}
		at = change(func(s *crawl.Settings) { d := time.Minute; s.IPDelay = &d })
		if !l.acquired(h, "own.test").Equal(at) {
			t.Errorf("the addresses rest for longer: own.test waits from %v", l.acquired(h, "own.test"))
		}
	})
}
