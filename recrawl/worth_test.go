package recrawl

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"
)

// worthResults makes TestWorth simulate larger webs and write what it found.
var worthResults = flag.Bool("worth-results", false,
	"simulate larger webs and write the section on --recrawl-worth of docs/results/freshness.md")

// partWeb is a web of which a share of the pages changes, each at a rate of its own: in the mean
// once in six hours to once in thirty days. Hosts have ten pages, which change or do not.
func partWeb(pages int, share, worth float64) *simWeb {
	r := rand.New(rand.NewPCG(4, 9))
	w := &simWeb{per: 10, capacity: float64(pages) / 1000, settings: simSettings(worth)}
	for i := range pages {
		rate := 1 / (6 * 3600 * math.Exp(r.Float64()*math.Log(120)))
		if float64(i%pages) >= share*float64(pages) {
			rate = 0
		}
		w.rates = append(w.rates, rate)
	}
	return w
}

// run crawls a web, and returns what there was in the second half of the time.
func (w *simWeb) run(t *testing.T, days int) simResult {
	const day = 24 * time.Hour
	c := crawlOf(t, w, 6)
	c.run(time.Duration(days)*day/2, 100)
	c.measure()
	c.run(time.Duration(days)*day, 100)
	return c.result()
}

// TestWorth checks what --recrawl-worth does where there are more visits than pages need: most
// visits of pages that never change are not made, and those that do are nearly as fresh as the same
// visits can make them.
func TestWorth(t *testing.T) {
	if *worthResults {
		writeWorth(t)
		return
	}
	t.Parallel()
	for _, share := range []float64{0.05, 0.5} {
		all := partWeb(200, share, 0).run(t, 20)
		web := partWeb(200, share, 0.1)
		some := web.run(t, 20)
		best := web.best(some.visits)
		t.Logf("%v: worth 0 %+v; 0.1 %+v; best %+v", share, all, some, best)
		if some.useful < 3*all.useful || some.visits > all.visits/3 {
			t.Errorf("%v of the pages change: %.3f of %.5f visits a second find it, "+
				"%.3f of %.5f where nothing is asked",
				share, some.useful, some.visits, all.useful, all.visits)
		}
		if some.changing < best.changing-0.06 {
			t.Errorf("%v of the pages change: %.3f of these are fresh, at best %.3f", share, some.changing,
				best.changing)
		}
	}
}

// scarceWeb is a web with so many visits a mean change: a host's pages change once in ten minutes
// to once in ninety days in the mean, each page's rate is drawn around that (gamma, shape 1).
func scarceWeb(pages int, perChange, worth float64) *simWeb {
	r := rand.New(rand.NewPCG(5, 9))
	w := &simWeb{per: 10, settings: simSettings(worth)}
	mean, total := 0.0, 0.0
	for i := range pages {
		if i%w.per == 0 {
			mean = 1 / (600 * math.Exp(r.Float64()*math.Log(90*144)))
		}
		w.rates = append(w.rates, max(mean*r.ExpFloat64(), 1e-11))
		total += w.rates[i]
	}
	w.capacity = perChange * total
	interval := time.Duration(float64(pages) / w.capacity * float64(time.Second))
	w.settings.AllowNet = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	w.settings.Delay, w.settings.RecrawlMin, w.settings.RecrawlInterval = time.Millisecond,
		time.Second, 3*interval
	return w
}

// gain is what a crawl gains over equal intervals, as a share of what known rates gain, in the last
// ten of so many mean intervals.
func (w *simWeb) gain(t *testing.T, intervals int) (gain float64, got simResult) {
	mean := time.Duration(float64(len(w.rates)) / w.capacity * float64(time.Second))
	c := crawlOf(t, w, 6)
	c.run(time.Duration(intervals-10)*mean, 5*(intervals-10))
	c.measure()
	c.run(time.Duration(intervals)*mean, 50)
	got = c.result()
	equal, best := w.equal(got.visits), w.best(got.visits).fresh
	return (got.fresh - equal) / (best - equal), got
}

// TestWorthWhereVisitsAreScarce checks that --recrawl-worth costs no freshness where pages with a
// reason alone want more visits than there are: it saves none there. Without policy.Curve.Ease the
// gain is 0.68 in place of 0.84 at three visits a change.
func TestWorthWhereVisitsAreScarce(t *testing.T) {
	t.Parallel()
	for _, perChange := range []float64{0.2, 3} {
		without, all := scarceWeb(600, perChange, 0).gain(t, 20)
		with, some := scarceWeb(600, perChange, 0.1).gain(t, 20)
		t.Logf("%v visits a change: gain %.3f and %.3f; %+v, %+v", perChange, without, with, all, some)
		if with < without-0.02 {
			t.Errorf("%v visits a change: the gain is %.3f, %.3f where nothing is asked", perChange, with,
				without)
		}
	}
}

// TestStillPagesWhereVisitsAreScarce checks that pages that never change get few visits also where
// only a part of
// --recrawl-worth acts, because others want more visits than there are. Without any of it they have
// 0.11 of the visits.
func TestStillPagesWhereVisitsAreScarce(t *testing.T) {
	t.Parallel()
	w := scarceWeb(600, 1, 0.1)
	for i := range w.rates {
		if i/w.per%2 == 0 {
			w.rates[i] = 0
		}
	}
	c := crawlOf(t, w, 6)
	mean := time.Duration(float64(len(w.rates)) / w.capacity * float64(time.Second))
	c.run(20*mean, 100)
	c.measure()
	c.run(30*mean, 50)
	got := c.result()
	t.Logf("ease %v, %+v", c.k.Terms().Ease, got)
	if got.still > 0.08 {
		t.Errorf("%.3f of the visits are of the half of the pages that never changes", got.still)
	}
}

// stillWeb is a web whose pages never change, on a clock of seconds.
func stillWeb(hosts int, worth float64) *simWeb {
	w := &simWeb{per: 20, capacity: 160, settings: simSettings(worth)}
	w.rates = make([]float64, hosts*w.per)
	w.settings.AllowNet = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	w.settings.RecrawlMin, w.settings.RecrawlInterval = time.Second, 30*time.Second
	return w
}

// speeds are the visits a second of a web in the minute before each of some times.
func (w *simWeb) speeds(t *testing.T, minutes []int) (out []float64) {
	c := crawlOf(t, w, 6)
	for _, m := range minutes {
		c.run(time.Duration(m-1)*time.Minute, 1+m)
		c.measure()
		c.run(time.Duration(m)*time.Minute, 6)
		out = append(out, c.result().visits)
	}
	return out
}

// TestStillHosts checks that hosts whose pages never change are left alone soon.
func TestStillHosts(t *testing.T) {
	t.Parallel()
	got := stillWeb(30, 0.1).speeds(t, []int{2, 10, 60})
	t.Logf("%v visits a second", got)
	if got[1] > got[0]/2 || got[2] > 1 {
		t.Errorf("%v visits a second after 2, 10 and 60 minutes", got)
	}
}

const worthFile = "../docs/results/freshness.md"

// writeWorth replaces the section on --recrawl-worth, which is the last one.
func writeWorth(t *testing.T) {
	var b strings.Builder
	b.WriteString("| pages that change | worth | visits a second | useful | changing pages fresh | " +
		"at best with as many visits: useful | fresh |\n|---|---|---|---|---|---|---|\n")
	for _, share := range []float64{0.01, 0.05, 0.2, 0.5} {
		for _, worth := range []float64{0, 0.1} {
			w := partWeb(1000, share, worth)
			got := w.run(t, 40)
			best := w.best(got.visits)
			fmt.Fprintf(&b, "| %g %% | %g | %.4f | %.3f | %.4f | %.3f | %.4f |\n", 100*share, worth,
				got.visits, got.useful, got.changing, best.useful, best.changing)
		}
	}
	b.WriteString(
		"\n| visits a change | worth 0: gain, useful | 0.02 | 0.05 | 0.1 |\n|---|---|---|---|---|\n")
	for _, perChange := range []float64{0.2, 1, 3} {
		fmt.Fprintf(&b, "| %g |", perChange)
		for _, worth := range []float64{0, 0.02, 0.05, 0.1} {
			gain, got := scarceWeb(2000, perChange, worth).gain(t, 30)
			fmt.Fprintf(&b, " %.3f, %.3f |", gain, got.useful)
		}
		b.WriteString("\n")
	}
	minutes := []int{1, 2, 5, 10, 30, 60}
	b.WriteString("\n| visits a second of 240 still hosts after minutes |")
	for _, m := range minutes {
		fmt.Fprintf(&b, " %d |", m)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(minutes)) + "\n")
	for _, worth := range []float64{0, 0.1} {
		fmt.Fprintf(&b, "| worth %g |", worth)
		for _, v := range stillWeb(240, worth).speeds(t, minutes) {
			fmt.Fprintf(&b, " %.1f |", v)
		}
		b.WriteString("\n")
	}
	const begin, end = "<!-- written by TestWorth -->\n", "<!-- end -->\n"
	text, err := os.ReadFile(worthFile)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no place for the figures between %q and %q:\n%s", worthFile, begin, end,
			b.String())
	}
	if err := os.WriteFile(worthFile, []byte(before+begin+b.String()+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
