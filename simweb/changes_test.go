package simweb

import (
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

var all = Claims{Truthful: 1000}

// changing is a small web that changes once a minute, or as c says.
func changing(t testing.TB, hosts, pages int, c Changes) *Web {
	t.Helper()
	if c.Mean == 0 {
		c.Mean = time.Minute
	}
	if c.Start.IsZero() {
		c.Start = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	}
	return newWeb(t,
		Config{Seed: 9, Hosts: hosts, PagesPerHost: pages, Skew: -1, PageBytes: 3000, Changes: c})
}

// at asks for a page as if it were another time.
func (w *Web) at(rawURL string, at time.Time, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", rawURL, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	rec := httptest.NewRecorder()
	w.serve(rec, r, at)
	return rec
}

// The changes of a page are a Poisson process with its rate, and rates are gamma distributed around
// those of the host.
func TestChangesArePoissonWithGammaRates(t *testing.T) {
	t.Parallel()
	for _, turn := range []time.Duration{0, 90 * time.Second} {
		w := changing(t, 4, 500, Changes{Shape: 2, Spread: 3, Turn: turn})
		var sum, squares, dispersion float64
		for page := range w.pages {
			mean := float64(w.cfg.Changes.Mean) * w.hosts[w.hostOf(page)].says.factor
			pace := mean / float64(w.intervalIn(page, 3)) // in its fourth turn, or its first
			sum += pace
			squares += pace * pace
			if turn == 0 {
				const intervals = 50
				n := float64(len(w.changesBetween(page, 0, intervals*w.intervalIn(page, 0))))
				dispersion += (n - intervals) * (n - intervals) / intervals
			}
		}
		n := float64(w.pages)
		mean := sum / n
		variance := squares/n - mean*mean
		if math.Abs(mean-1) > 0.06 || math.Abs(variance-0.5) > 0.1 {
			t.Errorf("turn %v: paces have the mean %.3f and the variance %.3f, want 1 and 1/2", turn, mean,
				variance)
		}
		if dispersion /= n; turn == 0 && math.Abs(dispersion-1) > 0.1 {
			t.Errorf("the number of changes has the variance %.3f of a Poisson distribution's", dispersion)
		}
	}
}

// The last change before a moment is found without the history, and is the one of the history.
func TestLastChangeIsThatOfTheHistory(t *testing.T) {
	t.Parallel()
	for _, turn := range []time.Duration{0, 20 * time.Second} {
		w := changing(t, 1, 40, Changes{Turn: turn, Shape: 0.5})
		for page := range w.pages {
			history := w.changesBetween(page, 0, 10*time.Minute)
			if !slices.IsSorted(history) {
				t.Fatalf("turn %v: changes of page %d are not in order: %v", turn, page, history)
			}
			want, next := time.Duration(0), 0
			for at := time.Duration(0); at < 10*time.Minute; at += 7 * time.Second {
				for ; next < len(history) && history[next] <= at; next++ {
					want = history[next]
				}
				if got := w.lastChange(page, at); got != want {
					t.Fatalf("turn %v: the last change of page %d before %v is at %v, in the history at %v", turn,
						page, at, got, want)
				}
			}
		}
	}
}

// Equal settings give equal answers at equal times, in whatever order they are asked for. With a
// change the text becomes another; the links stay. Noise changes the bytes and not the text.
func TestAnswersAreAFunctionOfSeedAndTime(t *testing.T) {
	t.Parallel()
	c := Changes{Noise: 500, ETags: all, Dates: all, Ages: all}
	a, b := changing(t, 1, 30, c), changing(t, 1, 30, c)
	start := a.cfg.Changes.Start
	var urls []string
	for page := range a.pages {
		urls = append(urls, a.url(page))
	}
	differ := func(a, b string) (words int) { // by words, not by numbers
		number := func(r rune) bool { return r >= '0' && r <= '9' || r <= ' ' }
		x, y := strings.FieldsFunc(a, number), strings.FieldsFunc(b, number)
		for i := range min(len(x), len(y)) {
			if x[i] != y[i] {
				words++
			}
		}
		return words
	}
	type key struct{ url, body string }
	seen := map[key]int{}
	for minute := range 5 {
		for i := range urls {
			at := start.Add(time.Duration(minute+1) * time.Minute)
			first, second := a.at(urls[i], at), b.at(urls[len(urls)-1-i], at)
			seen[key{urls[i], first.Body.String() + first.Header().Get("ETag")}]++
			seen[key{urls[len(urls)-1-i], second.Body.String() + second.Header().Get("ETag")}]++
			page, _ := a.page(urls[i])
			before := a.at(urls[i], at.Add(-time.Minute))
			changed := a.versionAt(page, at) != a.versionAt(page, at.Add(-time.Minute))
			if d := differ(first.Body.String(), before.Body.String()); !changed && d > 0 ||
				changed && d < newsWords/2 {
				t.Errorf("%s: changed is %t, and the texts differ in %d words", urls[i], changed, d)
			}
			if changed == (first.Header().Get("ETag") == before.Header().Get("ETag")) {
				t.Errorf("%s: changed is %t, and the tags are %s and %s", urls[i], changed,
					first.Header().Get("ETag"), before.Header().Get("ETag"))
			}
			if noisy := a.quirk(page, saltNoise, 500); !changed &&
				noisy == (first.Body.String() == before.Body.String()) {
				t.Errorf("%s: noisy is %t, and the bytes do not say so", urls[i], noisy)
			}
			if links := hrefs(t, first); !slices.Equal(links, hrefs(t, before)) {
				t.Errorf("%s: the links changed", urls[i])
			}
		}
	}
	for k, n := range seen {
		if n%2 != 0 {
			t.Fatalf("two webs of one seed give different answers for %s", k.url)
		}
	}
}

func TestConditionalRequests(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		changes Changes
		header  string
		liar    bool // 304 hides a change
	}{
		"tag":          {Changes{ETags: all}, "ETag", false},
		"weak tag":     {Changes{ETags: all, Noise: 1000}, "ETag", false},
		"constant tag": {Changes{ETags: Claims{Lying: 1000}}, "ETag", true},
		"date":         {Changes{Dates: all}, "Last-Modified", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := changing(t, 1, 20, c.changes)
			url := w.url(3)
			times := w.Changed(url, w.cfg.Changes.Start, w.cfg.Changes.Start.Add(time.Hour))
			at := times[0].Add(2 * time.Second)
			for len(times) > 1 && times[1].Before(at.Add(time.Second)) {
				times = times[1:]
				at = times[0].Add(2 * time.Second)
			}
			first := w.at(url, at)
			validator := first.Header().Get(c.header)
			if validator == "" {
				t.Fatalf("no %s: %v", c.header, first.Header())
			}
			ask := map[string]string{"ETag": "If-None-Match", "Last-Modified": "If-Modified-Since"}[c.header]
			again := w.at(url, at.Add(500*time.Millisecond), ask, validator)
			if again.Code != 304 || again.Body.Len() > 0 || again.Header().Get("Content-Length") != "" ||
				again.Header().Get(c.header) != validator {
				t.Errorf("unchanged: %d, %v", again.Code, again.Header())
			}
			later := w.at(url, times[1].Add(time.Second), ask, validator)
			if (later.Code == 304) != c.liar {
				t.Errorf("changed: %d, %v after %s", later.Code, later.Header(), validator)
			}
			want := Conditions{
				Conditional: 2,
				NotModified: 1,
				Bytes:       int64(first.Body.Len() + later.Body.Len()),
				Saved:       int64(first.Body.Len()),
			}
			if c.liar {
				want.NotModified, want.Misled, want.Saved, want.Bytes = 2, 1, 2*want.Saved,
					int64(first.Body.Len())
			}
			got := w.Conditions()
			// noise and versions differ in length by a little
			if got.Saved-want.Saved < 200 && want.Saved-got.Saved < 200 {
				got.Saved = want.Saved
			}
			if got != want {
				t.Errorf("judged %+v, want %+v", got, want)
			}
			if visits := w.Visits(url); len(visits) != 3 || visits[0].Conditional ||
				!visits[1].Conditional || visits[1].Status != 304 ||
				!visits[1].At.Equal(at.Add(500*time.Millisecond)) {
				t.Errorf("visits %+v", visits)
			}
		})
	}
}

// If-None-Match overrules If-Modified-Since, and a list of tags and "*" count (RFC 9110, 13.1).
func TestPrecedenceOfConditions(t *testing.T) {
	t.Parallel()
	w := changing(t, 1, 5, Changes{ETags: all, Dates: all, Mean: 1000 * time.Hour, Shape: -1})
	url, at := w.url(0), w.cfg.Changes.Start.Add(time.Minute)
	tag, now := w.at(url, at).Header().Get("ETag"), at.Format(http.TimeFormat)
	for _, c := range []struct {
		tag, date string
		want      int
	}{
		{`"other"`, now, 200}, {tag, "Mon, 02 Jan 2006 15:04:05 GMT", 304}, {`"x", W/` + tag, "", 304},
		{"*", "", 304}, {"", now, 304}, {"", "yesterday", 200}, {"", "", 200},
	} {
		var header []string
		if c.tag != "" {
			header = append(header, "If-None-Match", c.tag)
		}
		if c.date != "" {
			header = append(header, "If-Modified-Since", c.date)
		}
		if got := w.at(url, at, header...).Code; got != c.want {
			t.Errorf("tag %q, date %q: %d, want %d", c.tag, c.date, got, c.want)
		}
	}
}

// A page is there, then gone, then there again, or removed for ever. No other page depends on it.
func TestPagesGoAwayAndComeBack(t *testing.T) {
	t.Parallel()
	w := changing(t, 2, 200, Changes{Gone: 500, GoneAfter: time.Hour, BackAfter: time.Hour})
	var back, removed int
	for page := range w.pages {
		from, to := w.absence(page)
		if from == math.MaxInt64 {
			continue
		}
		status := func(since time.Duration) int {
			return w.at(w.url(page), w.cfg.Changes.Start.Add(since)).Code
		}
		if got := status(from - 1); got != 200 {
			t.Errorf("before it goes: %d", got)
		}
		if to == math.MaxInt64 {
			removed++
			if a, b := status(from), status(from+1000*time.Hour); a != 410 || b != 410 {
				t.Errorf("removed: %d and %d", a, b)
			}
			continue
		}
		back++
		if a, b := status(from), status(to); a != 404 || b != 200 {
			t.Errorf("gone: %d, and back: %d", a, b)
		}
		if h := &w.hosts[w.hostOf(page)]; len(w.appendChildren(nil, h, page-h.first, 0)) > 0 {
			t.Errorf("%s goes away, and its children with it", w.url(page))
		}
	}
	if back < 20 || removed < 20 {
		t.Errorf("%d pages come back, %d are removed", back, removed)
	}
}

func TestSitemapsSayWhenPagesChanged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]Changes{
		"truthful": {Lastmods: all},
		"lying":    {Lastmods: Claims{Lying: 1000}},
	} {
		w := changing(t, 6, 30, c)
		at := w.cfg.Changes.Start.Add(10 * time.Minute)
		right, wrong, hosts := 0, 0, 0
		for i := range w.hosts {
			body, ok := w.sitemapXML(i, at)
			if !ok {
				continue
			}
			hosts++
			for _, entry := range strings.Split(body, "<url>")[1:] {
				_, rest, _ := strings.Cut(entry, "<loc>")
				url, rest, _ := strings.Cut(rest, "</loc><lastmod>")
				said, _, _ := strings.Cut(rest, "</lastmod>")
				date, err := time.Parse(time.RFC3339, said)
				page, ok := w.page(url)
				if err != nil || !ok {
					t.Fatalf("entry %q: %v", entry, err)
				}
				if truth := w.cfg.Changes.Start.Add(w.lastChange(page, 10*time.Minute)); date.Equal(
					truth.Truncate(time.Millisecond)) {
					right++
				} else {
					wrong++
				}
			}
		}
		if hosts < 2 || (name == "truthful") != (wrong == 0) || right+wrong < 20*hosts ||
			name == "lying" && right > wrong/5 {
			t.Errorf("%s: %d hosts with sitemaps, %d dates are right and %d wrong", name, hosts, right,
				wrong)
		}
	}
}

// A script of visits, with the freshness that is counted by hand from the changes.
func TestFreshness(t *testing.T) {
	t.Parallel()
	w := changing(t, 1, 6, Changes{ETags: Claims{Lying: 1000}})
	url, start := w.url(2), w.cfg.Changes.Start
	end := start.Add(time.Hour)
	changes := w.Changed(url, start, end)
	if len(changes) < 4 {
		t.Fatalf("only %d changes", len(changes))
	}
	own := func() float64 {
		for u, fresh := range w.PageFreshness(start, end) {
			if u == url {
				return fresh
			}
		}
		t.Fatalf("%s is not counted", url)
		return 0
	}
	if got := own(); got != 0 {
		t.Errorf("without a copy the freshness is %v", got)
	}
	w.at(url, changes[1].Add(time.Millisecond))
	fresh := changes[2].Sub(changes[1].Add(time.Millisecond)).Seconds() / 3600
	if got := own(); math.Abs(got-fresh) > 1e-9 {
		t.Errorf("with a copy between two changes the freshness is %v, want %v", got, fresh)
	}
	tag := w.at(url, changes[1].Add(2*time.Millisecond)).Header().Get("ETag")
	w.at(url, changes[3].Add(time.Millisecond), "If-None-Match", tag) // a lie, which changes no copy
	if got := own(); math.Abs(got-fresh) > 1e-9 {
		t.Errorf("a 304 that is not true changed the freshness from %v to %v", fresh, got)
	}
	if got := w.FreshnessIf(url, []time.Time{
		changes[1].Add(time.Millisecond)}, start, end); math.Abs(got-fresh) > 1e-9 {
		t.Errorf("if it were visited so, the freshness is %v, want %v", got, fresh)
	}
	var often []time.Time
	for at := start; at.Before(end); at = at.Add(10 * time.Millisecond) {
		often = append(often, at)
	}
	if got := w.FreshnessIf(url, often, start, end); got < 0.99 {
		t.Errorf("visited every 10 ms the freshness is %v", got)
	}
	if got, want := w.Freshness(start, end), fresh/6; math.Abs(got-want) > 1e-9 {
		t.Errorf("the mean over six pages is %v, want %v", got, want)
	}
}

// Visited at equal intervals t, a page with the rate r is fresh for (1-exp(-rt))/(rt) of the time
// (Cho and Garcia-Molina 2003).
func TestFreshnessFollowsTheFormula(t *testing.T) {
	t.Parallel()
	w := changing(t, 1, 300, Changes{Shape: -1})
	start := w.cfg.Changes.Start
	var visits []time.Time
	for at := start; at.Before(start.Add(time.Hour)); at = at.Add(30 * time.Second) {
		visits = append(visits, at)
	}
	var sum float64
	n := 0
	for url := range w.Reachable() {
		sum += w.FreshnessIf(url, visits, start, start.Add(time.Hour))
		n++
	}
	if got, want := sum/float64(n), (1-math.Exp(-0.5))/0.5; math.Abs(got-want) > 0.005 {
		t.Errorf("the mean freshness is %.4f, the formula's %.4f", got, want)
	}
}

// A web that changes runs on a bubble's clock; its start is that of New.
func TestChangesInVirtualTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(t,
			Config{Hosts: 1, PagesPerHost: 2, Changes: Changes{Mean: 30 * 24 * time.Hour, Shape: -1}})
		first := get(w, "http://h1.sim.test/").Body.String()
		time.Sleep(time.Hour)
		hour := get(w, "http://h1.sim.test/").Body.String()
		time.Sleep(365 * 24 * time.Hour)
		if year := get(w, "http://h1.sim.test/").Body.String(); first != hour || year == first {
			t.Errorf("after an hour changed is %t, after a year %t", first != hour, first != year)
		}
		if fresh := w.Freshness(time.Now().Add(-366*24*time.Hour), time.Now()); fresh <= 0 ||
			fresh > 0.2 {
			t.Errorf("freshness %v", fresh)
		}
	})
}

func TestChangesThatMakeNoSenseAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []Changes{
		{Mean: -1}, {Noise: 3}, {Mean: time.Second, Spread: 0.5}, {Mean: time.Second, Spread: math.NaN()},
		{Mean: time.Second, Shape: math.Inf(1)},
		{Mean: time.Second, Gone: 1001}, {Mean: time.Second, Turn: 1},
		{Mean: time.Second, ETags: Claims{800, 201}}, {Mean: time.Second, Dates: Claims{-1, 0}},
	} {
		if _, err := New(Config{Changes: c}); err == nil || !strings.Contains(err.Error(), "Changes") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func BenchmarkLastChange(b *testing.B) {
	w := changing(b, 1, 100, Changes{})
	for i := range b.N {
		w.lastChange(uint32(i)%w.pages, time.Duration(i)*time.Second)
	}
}
