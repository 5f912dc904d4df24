package workers

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/pipeline"
	"crawlnode/web/urlnorm"
)

// TestLeaseIDs: an id that no node gives, and an empty list of a lease that has ended, are answered
// as a lease that has ended.
func TestLeaseIDs(t *testing.T) {
	t.Parallel()
	f, _, _ := cluster(t)
	now := time.Now()
	good := newLeaseID(now.Add(time.Minute))
	for _, c := range []struct {
		name, id string
		ended    bool
	}{
		{"of a lease", good, false},
		{"of one that has ended", newLeaseID(now.Add(-2 * time.Second)), true},
		{"empty", "", true},
		{"a word", "no-such-lease", true},
		{"without its end", good[:2*idRandom], true},
		{"a negative end", good[:2*idRandom] + "-1", true},
		{"an end that overflows", good[:2*idRandom] + strings.Repeat("f", 16), true},
		{"no random part", strings.Repeat("z", 2*idRandom) + "7fffffff", true},
		{"with a NUL", good + "\x00", true},
		{"endless", good + strings.Repeat("0", 1<<20), true},
	} {
		r, err := f.SettleURLs(t.Context(), crawl.WorkerResults{LeaseID: c.id})
		if ended := errors.Is(err, crawl.ErrLeaseEnded); ended != c.ended || err != nil && !ended ||
			r != (crawl.ResultsReport{}) {
			t.Errorf("%s: %+v, %v", c.name, r, err)
		}
	}
}

// TestForeignURLs: results for URLs of nobody's lease, or of another worker's, cost nobody
// anything.
func TestForeignURLs(t *testing.T) {
	t.Parallel()
	f, _, _ := cluster(t)
	var leases []crawl.WorkerLease
	for _, name := range []string{"honest", "liar"} {
		l, err := f.NextURLs(t.Context(), crawl.NextQuery{Worker: name, Most: 1, Wait: 20 * time.Second})
		if err != nil || len(l.URLs) != 1 {
			t.Fatalf("%+v, %v", l, err)
		}
		leases = append(leases, l)
	}
	honest, liar := leases[0], leases[1]
	lies := crawl.WorkerResults{LeaseID: liar.LeaseID}
	for _, u := range []string{honest.URLs[0].URL, "http://never.test/", "", "\x00", "javascript:x",
		"http://a.test:0/", strings.Repeat("x", 1<<20)} {
		lies.Results = append(lies.Results, result(u, 200))
	}
	if r, err := f.SettleURLs(t.Context(), lies); !errors.Is(err, crawl.ErrLeaseEnded) && err == nil ||
		r.Processed != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	for _, l := range leases {
		if r, err := f.SettleURLs(t.Context(), crawl.WorkerResults{
			LeaseID: l.LeaseID,
			Results: []crawl.WorkerResult{result(l.URLs[0].URL, 200)},
		}); err != nil || r.Processed != 1 {
			t.Errorf("an honest result: %+v, %v", r, err)
		}
	}
}

// TestRepetitionWaits: who repeats a result while it is being stored is not answered before it is.
func TestRepetitionWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, time.Minute)
	w.add("http://a.test/")
	w.next("w", 1, 20*time.Second)
	slow, stored := make(chan struct{}), atomic.Bool{}
	w.mu.Lock()
	w.slow = slow
	w.mu.Unlock()
	var calls sync.WaitGroup
	for range 3 {
		calls.Go(func() {
			r, err := w.desk.Settle(t.Context(), "lease-of-w",
				[]crawl.WorkerResult{result("http://a.test/", 200), result("http://a.test/", 200)})
			if err != nil || r.Processed != 2 || !stored.Load() {
				t.Errorf("%+v, %v; stored: %v", r, err, stored.Load())
			}
		})
	}
	for w.desk.Counts().Settled == 0 {
		time.Sleep(time.Millisecond)
	}
	// so that the others come as well; whether they do decides nothing
	time.Sleep(20 * time.Millisecond)
	stored.Store(true)
	close(slow)
	calls.Wait()
	w.became("settled 200", "http://a.test/")
	w.desk.mu.Lock()
	defer w.desk.mu.Unlock()
	if n := len(w.desk.writes); n != 0 {
		t.Errorf("%d results are still being written", n)
	}
}

// TestHeavyResults: results of another node's URL reach it, whatever they are filled with.
func TestHeavyResults(t *testing.T) {
	t.Parallel()
	f, _, worlds := cluster(t)
	l, err := f.NextURLs(t.Context(), crawl.NextQuery{Worker: "w", Most: 10, Wait: 20 * time.Second})
	if err != nil || len(l.URLs) != 3 {
		t.Fatalf("%+v, %v", l, err)
	}
	for i, links := range [][]string{
		slices.Repeat([]string{strings.Repeat("<", 2000)}, 4000),
		slices.Repeat([]string{strings.Repeat("\x00", 2000)}, 8000),
		slices.Repeat([]string{""}, 2<<20),
	} {
		r := result(l.URLs[i].URL, 200)
		r.Links, r.Error, r.ContentType, r.Simhash, r.ContentHash = links, strings.Repeat("\xff", 1<<20),
			strings.Repeat("\x00", 1<<20), crawl.Simhash(strings.Repeat("<", 1<<20)),
			strings.Repeat("0", 1<<20)
		if report, err := f.SettleURLs(t.Context(), crawl.WorkerResults{
			LeaseID: l.LeaseID,
			Results: []crawl.WorkerResult{r},
		}); err != nil || report.Processed != 1 {
			t.Errorf("%s: %+v, %v", r.URL, report, err)
		}
	}
	for id, w := range worlds {
		w.became("settled 200", "http://"+string(id)+".test/")
	}
}

func TestLighten(t *testing.T) {
	t.Parallel()
	good := slices.Repeat([]string{"/a"}, pipeline.MaxReportedLinks)
	r := crawl.WorkerResult{Links: append(append([]string{strings.Repeat("x", urlnorm.MaxLen),
		strings.Repeat("x", urlnorm.MaxLen+1)}, good...), "/b"), Error: strings.Repeat("e", 2*maxField)}
	lighten(&r)
	if len(r.Links) != len(good)+3 || r.Links[0] == "" || r.Links[1] != "" || r.Links[2] != "/a" ||
		r.Links[len(r.Links)-1] != "" || len(r.Error) != maxField {
		t.Errorf("%d links, the first have %d and %d bytes, the last is %q; error of %d bytes",
			len(r.Links), len(r.Links[0]), len(r.Links[1]), r.Links[len(r.Links)-1], len(r.Error))
	}
}

// TestLastMoment: of a result that comes when its lease ends, and of the end, one counts.
func TestLastMoment(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 30*time.Millisecond)
	const urls = 40
	var ends sync.WaitGroup
	for i := range urls {
		u := fmt.Sprintf("http://h%d.test/", i)
		w.add(u)
		g, err := w.desk.Next(t.Context(), u, "w", 1, 20*time.Second)
		if err != nil || len(g.URLs) != 1 {
			t.Fatalf("%+v, %v", g, err)
		}
		ends.Go(func() {
			// the lease's end is an event of the clock
			time.Sleep(g.Left + time.Duration(i-urls/2)*50*time.Microsecond)
			r, err := w.desk.Settle(t.Context(), u, []crawl.WorkerResult{result(u, 200)})
			if err != nil || r.Processed+r.Ended != 1 {
				t.Errorf("%+v, %v", r, err)
				return
			}
			want := "settled 200"
			if r.Ended == 1 {
				want = "returned asked=true failed=true"
			}
			w.became(want, u)
		})
	}
	ends.Wait()
	if c := w.desk.Counts(); c.Open != 0 || c.Settled+c.Expired != urls {
		t.Errorf("%+v", c)
	}
}

// FuzzWritten: no text is longer in JSON than is reckoned.
func FuzzWritten(f *testing.F) {
	for _, s := range []string{"", "<>&", "\x00\x1f\x7f\b", "\xff\u2028é", `"\`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		raw, err := json.Marshal([]string{s, ""})
		if err != nil || len(raw)-len(`[""]`) > written(s) {
			t.Errorf("%q: %d bytes, reckoned with %d", s, len(raw), written(s))
		}
	})
}
