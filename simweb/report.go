package simweb

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// maxExamples bounds the URLs that a report names.
const maxExamples = 20

// Report is the judge's result so far: numbers, and a few URLs for people.
type Report struct {
	Reachable  int // pages that a correct crawl requests
	Pages      int // of these, how many were answered (429 and 503 are no answers)
	Missing    int // Reachable minus Pages
	Extra      int // pages requested that are not reachable, and URLs that do not exist
	Duplicates int // answers beyond the first, over all pages
	MostTwice  int // Duplicates of the host that has most of them
	Requests   int // all, with robots.txt and sitemaps

	SmallestGap time.Duration // between two requests to one host; -1 when no host had two
	GapHost     string        // where SmallestGap was seen
	TooSoon     int           // gaps below Config.Delay or the host's Crawl-delay
	Overlaps    int           // requests that began while another to the host was open

	RobotsViolations int // requests that robots.txt forbids
	LateRobots       int // pages requested before the host's robots.txt was answered

	Connections int // that carried a request
	Handshakes  int // of these, how many began with a full TLS handshake
	Resumed     int // and how many with that of an earlier session
	HTTP2       int // requests over HTTP/2

	MissingExamples, ExtraExamples, DuplicateExamples []string
}

// Report evaluates everything seen so far. It walks the whole web, so it takes about a second for a
// million pages; Progress is cheap.
func (w *Web) Report() Report {
	reachable := w.reach()
	r := Report{SmallestGap: -1}
	for i := range w.hosts {
		w.reportHost(&r, i, reachable)
	}
	r.Missing = r.Reachable - r.Pages
	w.traffic.report(&r)
	w.judge.mu.Lock()
	defer w.judge.mu.Unlock()
	r.Extra += w.judge.unknown
	for _, url := range w.judge.examples {
		example(&r.ExtraExamples, url)
	}
	return r
}

// reportHost adds one host to r.
func (w *Web) reportHost(r *Report, i int, reachable bitset) {
	host, h := &w.hosts[i], &w.judge.hosts[i]
	h.mu.Lock()
	defer h.mu.Unlock()
	r.Requests += h.requests
	r.TooSoon += h.tooSoon
	r.Overlaps += h.overlaps
	r.RobotsViolations += h.forbidden
	r.LateRobots += h.lateRobots
	if h.smallest != math.MaxInt64 && (r.SmallestGap < 0 || h.smallest < r.SmallestGap) {
		r.SmallestGap, r.GapHost = h.smallest, host.name
	}
	before := r.Duplicates
	defer func() { r.MostTwice = max(r.MostTwice, r.Duplicates-before) }()
	for page := host.first; page < host.first+host.pages+host.trap; page++ {
		answered := int(w.judge.answered[page])
		switch {
		case reachable.has(page):
			r.Reachable++
			if answered > 0 {
				r.Pages++
			} else {
				w.example(&r.MissingExamples, page)
			}
		case w.judge.asked[page] > 0:
			r.Extra++
			w.example(&r.ExtraExamples, page)
		}
		if answered > 1 {
			r.Duplicates += answered - 1
			w.example(&r.DuplicateExamples, page)
		}
	}
}

func (w *Web) example(to *[]string, page uint32) {
	if len(*to) < maxExamples {
		example(to, w.url(page))
	}
}

func example(to *[]string, url string) {
	if len(*to) < maxExamples {
		*to = append(*to, url)
	}
}

// Err lists every violation by a crawl without crashes. A crawl whose nodes were killed may fetch a
// page twice: check Duplicates separately, with ErrButDuplicates.
func (r *Report) Err() error {
	var errs []error
	if r.Duplicates > 0 {
		errs = append(errs, fmt.Errorf("%d answers to pages that had been answered before, such as %s",
			r.Duplicates, first(r.DuplicateExamples)))
	}
	return errors.Join(append(errs, r.ErrButDuplicates())...)
}

// ErrOfMoves is Err for a crawl in which each partition has moved between living nodes so often, at
// most. The page that is open when the partition of its host moves gets a moment to end, and is
// asked for once more if that does not suffice, for example because the machine is busy. A host has
// one open page.
func (r *Report) ErrOfMoves(moves int) error {
	if r.MostTwice > moves {
		return r.Err()
	}
	return r.ErrButDuplicates()
}

// ErrButDuplicates is Err without Duplicates.
func (r *Report) ErrButDuplicates() error {
	var errs []error
	fail := func(n int, format string, args ...any) {
		if n > 0 {
			errs = append(errs, fmt.Errorf("%d "+format, append([]any{n}, args...)...))
		}
	}
	fail(r.Missing, "of %d reachable pages were not fetched, such as %s", r.Reachable,
		first(r.MissingExamples))
	fail(r.Extra, "requests for pages that cannot be reached, such as %s", first(r.ExtraExamples))
	fail(r.TooSoon, "requests came too soon; the smallest gap is %v, at %s", r.SmallestGap, r.GapHost)
	fail(r.Overlaps, "requests began while another to the same host was open")
	fail(r.RobotsViolations, "requests that robots.txt forbids")
	fail(r.LateRobots, "pages were asked for before the host's robots.txt")
	return errors.Join(errs...)
}

func first(examples []string) string {
	if len(examples) == 0 {
		return "(no example)"
	}
	return examples[0]
}

// Progress returns the number of distinct pages answered so far. It reads
// counters only.
func (w *Web) Progress() int { return int(w.judge.distinct.Load()) }

// Fetches returns how often a page was asked for and answered (up to 255); ok
// is false when the URL is no page of this web.
func (w *Web) Fetches(url string) (asked, answered int, ok bool) {
	page, ok := w.page(url)
	if !ok {
		return 0, 0, false
	}
	h := &w.judge.hosts[w.hostOf(page)]
	h.mu.Lock()
	defer h.mu.Unlock()
	return int(w.judge.asked[page]), int(w.judge.answered[page]), true
}

// Clients returns, by host, the clients that requested it (as named by Config.Who), in the order of
// their first requests. Hosts without requests are left out.
func (w *Web) Clients() map[string][]string {
	clients := make(map[string][]string)
	for i := range w.hosts {
		h := &w.judge.hosts[i]
		h.mu.Lock()
		if len(h.who) > 0 {
			clients[w.hosts[i].name] = append([]string(nil), h.who...)
		}
		h.mu.Unlock()
	}
	return clients
}
