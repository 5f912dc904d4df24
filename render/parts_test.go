package render

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/crawl"
	"crawlnode/web/urlnorm"
)

func url(t testing.TB, s string) urlnorm.URL {
	t.Helper()
	u, err := urlnorm.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// visit is one of u.
func visit(u urlnorm.URL, id uint64) *crawl.Visit {
	return &crawl.Visit{
		ID:    id,
		Lease: crawl.Lease{Host: crawl.Host(u.Host()), Item: crawl.Item{URL: u, Via: crawl.ViaPart}},
	}
}

func ok(body string) *crawl.Outcome {
	return &crawl.Outcome{Part: &crawl.Part{Status: 200, Body: []byte(body)}}
}

// serve ends the visits of t's parts with answers from outcome, one after the other.
func serve(t *Parts, outcome func(u urlnorm.URL, n int) *crawl.Outcome) {
	for n := 0; ; n++ {
		waiting := t.Waiting("", time.Now())
		if len(waiting) == 0 {
			return
		}
		u := waiting[0].URL
		if t.Begin(u, uint64(n+1)) {
			t.Ended(visit(u, uint64(n+1)), outcome(u, n))
		}
	}
}

// looks counts how often the dispatcher was told to look, of a node that holds all hosts.
type looks struct{ atomic.Int32 }

func (n *looks) look()                    { n.Add(1) }
func (*looks) holds(crawl.Partition) bool { return true }

// TestPartIsFetchedOnce has many pages ask for one URL: one visit, one answer for all, also later,
// until it expires.
func TestPartIsFetchedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var node looks
		p := newParts(1<<20, &node)
		u := url(t, "http://a.test/x.js")
		type result struct {
			a   *crawl.Part
			hit bool
			err error
		}
		got := make(chan result, 20)
		ask := func() { a, hit, err := p.Ask(t.Context(), 7, u); got <- result{a, hit, err} }
		for range 10 {
			go ask()
		}
		synctest.Wait()
		if node.Load() != 1 || !p.News() || !p.Wants("a.test") || p.Wants("b.test") {
			t.Errorf("%d looks", node.Load())
		}
		visits := 0
		serve(p, func(_ urlnorm.URL, n int) *crawl.Outcome {
			visits++
			if n < 2 {
				// the visit is spent, or never made
				return []*crawl.Outcome{{Kind: crawl.RobotsFetched}, nil}[n]
			}
			return ok("one")
		})
		for range 10 {
			if r := <-got; r.err != nil || string(r.a.Body) != "one" || r.hit {
				t.Errorf("%+v", r)
			}
		}
		if visits != 3 || p.News() || p.Wants("a.test") {
			t.Errorf("%d visits", visits)
		}
		time.Sleep(usualLife)
		ask()
		if r := <-got; !r.hit || string(r.a.Body) != "one" {
			t.Errorf("%+v", r)
		}
		time.Sleep(time.Second)
		go ask()
		synctest.Wait()
		serve(p, func(urlnorm.URL, int) *crawl.Outcome {
			return &crawl.Outcome{Kind: crawl.HostFailed, Reason: "no way"}
		})
		if r := <-got; r.hit || r.err != nil || r.a.Refusal != "no way" {
			t.Errorf("%+v", r)
		}
	})
}

// TestPartIsAskedForAgain: an answer whose life is over is asked for with its validators. One that
// still holds is used again; another one takes its place, and what may not be stored is fetched
// anew.
func TestPartIsAskedForAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newParts(1<<20, new(looks))
		u := url(t, "http://a.test/x.js")
		for i, step := range []struct {
			sends   string // the tag
			answer  *crawl.Part
			etag    string
			want    string
			control string // of what the page gets
		}{
			{"", &crawl.Part{
				Status: 200,
				Header: http.Header{"Cache-Control": {"max-age=60"}, "Content-Type": {"text/javascript"}},
				Body:   []byte("one"),
			}, `"1"`, "one", "max-age=60"},
			{`"1"`, &crawl.Part{
				Status: 304,
				Header: http.Header{"Cache-Control": {"max-age=90"}, "Content-Type": {"none"}},
			}, `"1"`, "one", "max-age=90"},
			{`"1"`, &crawl.Part{Status: 304, Header: http.Header{}}, `"1"`, "one", "max-age=90"},
			{`"1"`, &crawl.Part{Status: 200, Header: http.Header{"Cache-Control": {"No-Store"}}, Body: []byte("two")}, `"2"`, "two", "No-Store"},
			{"", &crawl.Part{Status: 200, Header: http.Header{}, Body: []byte("three")}, "", "three", ""},
			{"", &crawl.Part{Status: 200, Header: http.Header{}, Body: []byte("four")}, `"4"`, "four", ""},
			{`"4"`, nil, "", "", ""}, // no answer: the next one is fetched anew
			{"", &crawl.Part{Refusal: "not whole"}, `"5"`, "", ""},
			{"", &crawl.Part{Status: 200, Header: http.Header{}, Body: []byte("five")}, "", "five", ""},
		} {
			got := make(chan *crawl.Part, 1)
			go func() { a, _, _ := p.Ask(t.Context(), 7, u); got <- a }()
			synctest.Wait()
			if w := p.Waiting("", time.Now()); len(w) != 1 || w[0].ETag != step.sends {
				t.Errorf("step %d: %+v waits", i, w)
			}
			serve(p, func(urlnorm.URL, int) *crawl.Outcome {
				return &crawl.Outcome{Kind: crawl.Fetched, Part: step.answer, ETag: step.etag}
			})
			a := <-got
			if string(a.Body) != step.want || a.Header.Get("Cache-Control") != step.control ||
				a.Status == 304 {
				t.Errorf("step %d: %+v", i, a)
			}
			if i == 1 && a.Header.Get("Content-Type") != "text/javascript" {
				t.Errorf("a header of the body was replaced: %+v", a)
			}
			if p.bytes != size(a) || p.left != 0 {
				t.Errorf("step %d: %d bytes are counted, %d parts wait; want %d and none", i, p.bytes, p.left,
					size(a))
			}
			time.Sleep(usualLife + time.Second)
		}
	})
}

// TestPartNobodyWaitsFor is not fetched.
func TestPartNobodyWaitsFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newParts(1<<20, new(looks))
		u := url(t, "http://a.test/x.js")
		gone := errors.New("gone")
		ctx, leave := context.WithCancelCause(t.Context())
		done := make(chan error, 1)
		ask := func() { _, _, err := p.Ask(ctx, 7, u); done <- err }
		go ask()
		synctest.Wait()
		leave(gone)
		if err := <-done; !errors.Is(err, gone) {
			t.Error(err)
		}
		if len(p.Waiting("", time.Now())) != 0 || p.Begin(u, 1) ||
			len(p.byURL)+len(p.waiting)+p.left != 0 {
			t.Errorf("%+v", p.byURL)
		}
		// A page leaves while the visit is under way: others get the answer.
		ctx, leave = context.WithCancelCause(t.Context())
		go ask()
		synctest.Wait()
		if !p.Begin(u, 2) || p.Begin(u, 3) {
			t.Error("not one visit")
		}
		leave(gone)
		<-done
		p.Ended(visit(u, 3), ok("wrong")) // another's
		p.Ended(visit(u, 2), ok("x"))
		if a, hit, err := p.Ask(t.Context(), 7, u); err != nil || !hit || string(a.Body) != "x" {
			t.Errorf("%v, %v, %v", a, hit, err)
		}
	})
}

// TestPartsAreBounded: waiting ones by number, in all and of a host, answers by size.
func TestPartsAreBounded(t *testing.T) {
	t.Parallel()
	p := newParts(1<<20, new(looks))
	now := time.Now()
	for i := range 2 * maxHostWaiting {
		if _, _, begun, err := p.want(1, url(t, fmt.Sprint("http://a.test/", i)), now); begun !=
			(i < maxHostWaiting) || (err == nil) != begun {
			t.Fatalf("%d: %v, %v", i, begun, err)
		}
	}
	for i := range 2 * maxWaiting {
		p.want(1, url(t, fmt.Sprintf("http://h%d.test/", i)), now) //nolint:errcheck // counted below
	}
	if p.left != maxWaiting || len(p.byURL) != maxWaiting {
		t.Errorf("%d wait", p.left)
	}
	serve(p, func(urlnorm.URL, int) *crawl.Outcome { return ok(string(make([]byte, 10<<10))) })
	sum := 0
	for _, x := range p.byURL {
		sum += size(x.answer)
	}
	if p.left != 0 || len(p.waiting) != 0 || sum != p.bytes || p.bytes > 1<<20 || p.bytes < 1<<19 {
		t.Errorf("%d wait, %d bytes, %d counted", p.left, sum, p.bytes)
	}
	if x, kept, _, err := p.want(1,
		url(t, fmt.Sprintf("http://h%d.test/", maxWaiting-maxHostWaiting-1)), now); err != nil || !kept ||
		x.answer.Status != 200 {
		t.Error("the newest answer is gone")
	}
}

func TestLife(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		part crawl.Part
		want time.Duration
	}{
		{crawl.Part{Status: 200}, usualLife},
		{crawl.Part{Status: 404}, usualLife},
		{crawl.Part{Status: 503}, failedLife},
		{crawl.Part{Status: 429}, failedLife},
		{crawl.Part{Refusal: "robots"}, failedLife},
		{crawl.Part{Status: 200, Header: http.Header{"Cache-Control": {"public, Max-Age=60"}}}, time.Minute},
		{crawl.Part{Status: 200, Header: http.Header{"Cache-Control": {"max-age=1"}}}, briefLife},
		{crawl.Part{Status: 200, Header: http.Header{"Cache-Control": {"max-age=999999999"}}}, longestLife},
		{crawl.Part{Status: 200, Header: http.Header{"Cache-Control": {"max-age=x"}}}, usualLife},
		{crawl.Part{Status: 200, Header: http.Header{"Cache-Control": {"no-store"}}}, briefLife},
	} {
		if got := lifeOf(&c.part); got != c.want {
			t.Errorf("%+v: %v, want %v", c.part, got, c.want)
		}
	}
}

// BenchmarkNoParts is what the dispatcher asks for a page while no page is in the browser: more
// often than it does.
func BenchmarkNoParts(b *testing.B) {
	p := newParts(1<<20, new(looks))
	for b.Loop() {
		if p.News() || p.Wants("a.test") || p.Waiting("a.test", time.Time{}) != nil ||
			p.Waiting("", time.Time{}) != nil {
			b.Fatal("a part waits")
		}
	}
}
