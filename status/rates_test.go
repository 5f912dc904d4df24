package status

import (
	"testing"
	"time"

	"crawlnode/crawl"
)

func TestMeterStrain(t *testing.T) {
	t.Parallel()
	var m Meter
	if p, machine, disk := m.Strain(); p != 0 || machine != 0 || disk != 0 {
		t.Errorf("nothing measured: %v, %v, %v", p, machine, disk)
	}
	for i := range int64(3) {
		m.Sample(noon.Add(time.Duration(i)*time.Second), Totals{CPU: i * 1_500_000, BusyTicks: i * 150, AllTicks: i * 200, DiskWait: i * 1_200_000})
	}
	if p, machine, disk := m.Strain(); p != 1.5 || machine != 0.75 || disk != 1 {
		t.Errorf("%v processors, %v of the machine, %v of the time; want 1.5, 0.75, 1", p, machine, disk)
	}
}

func TestRate(t *testing.T) {
	t.Parallel()
	var r rate
	at := noon
	step := func(total int64) { r.sample(total, at); at = at.Add(time.Second) }
	says := func(when string, now, minute float64) {
		t.Helper()
		if a, b := r.over(rateNow), r.over(rateSpan); a != now || b != minute {
			t.Errorf("%s: %v now and %v in the last minute, want %v and %v", when, a, b, now, minute)
		}
	}
	says("of nothing", 0, 0)
	step(1000) // earlier totals do not count
	says("of one sample", 0, 0)
	for i := range 10 {
		step(1000 + int64(i+1)*50)
	}
	says("steady", 50, 50)
	for range 5 {
		step(1500)
	}
	says("after a pause", 0, 500.0/15)
	step(100) // a total that falls
	step(130)
	says("after a fall", 0, 500.0/17)
	step(1510)
	says("after a fall and its end", 2, 510.0/18)
	// A total that does not return within a minute is lost, and the rest counts.
	for i := range 200 {
		step(130 + int64(i+1)*10)
	}
	says("after more than its memory", 10, 10)
	r.sample(9999, at.Add(-time.Second)) // no time has passed
	if got := r.over(rateNow); got < 0 {
		t.Errorf("%v", got)
	}
	var m Meter
	m.Sample(noon, Totals{Runs: true})
	m.Sample(noon.Add(time.Second), Totals{Pages: 1, Bytes: 2, Runs: true, Others: Speeds{2, 3},
		Moved: 5, Written: 6, Records: 7})
	if written, records := m.Archive(); written != 6 || records != 7 {
		t.Errorf("the archive grows by %v bytes and %v records", written, records)
	}
	pages, bytes, moved := m.Own()
	if c := m.Cluster(); pages != 1 || bytes != 2 || moved != 5 || c.Pages.Now != 3 || c.Bytes.Now != 5 {
		t.Errorf("%v %v %v %+v", pages, bytes, moved, c)
	}
	if a := m.Alone(); a.Pages != (crawl.Rate{Now: 1, Avg1m: 1, Peak: 1}) ||
		a.Bytes != (crawl.Rate{Now: 2, Avg1m: 2, Peak: 2}) {
		t.Errorf("this node alone: %+v", a)
	}
}

// TestClusterSpeed: the cluster is as fast as its members together, whatever their totals do while
// partitions change hands; the mean is over a minute, and the peak stays.
func TestClusterSpeed(t *testing.T) {
	t.Parallel()
	var m Meter
	at, own := noon, int64(400) // pages of before the first sample
	step := func(pages int64, others, average float64) crawl.Rate {
		own += pages
		m.Sample(at, Totals{Pages: own, Bytes: 1000 * own, Runs: true,
			Others:  Speeds{others, 1000 * others},
			Average: Speeds{average, 1000 * average}})
		at = at.Add(time.Second)
		return m.Cluster().Pages
	}
	if got := step(0, 5, 0); got != (crawl.Rate{Peak: 5}) {
		t.Errorf("of one sample: %+v", got)
	}
	var got crawl.Rate
	for range 10 {
		got = step(10, 5, 9)
	}
	if want := (crawl.Rate{Now: 15, Avg1m: 15, Peak: 15}); got != want {
		t.Errorf("steady: %+v, want %+v", got, want)
	}
	for range 10 { // the others are silent, and this node has nothing to do
		got = step(0, 0, 9)
	}
	if got.Now != 0 || got.Avg1m >= 15 || got.Avg1m < 7 || got.Peak != 15 {
		t.Errorf("after ten idle seconds: %+v", got)
	}
	for range rateSpan + rateNow {
		got = step(0, 0, 9)
	}
	if want := (crawl.Rate{Peak: 15}); got != want {
		t.Errorf("after an idle minute: %+v, want %+v", got, want)
	}
	if peaks := m.Peaks(); peaks != (crawl.Peaks{Pages: 15, Bytes: 15_000}) {
		t.Errorf("%+v", peaks)
	}
}

// TestMinuteOfTheCrawl: the mean of the last minute is over the time in which the crawl ran. A
// minute of waiting for the first seed, and a pause, are none of it; what was before the minute is
// forgotten.
func TestMinuteOfTheCrawl(t *testing.T) {
	t.Parallel()
	var m Meter
	at, pages := noon, int64(0)
	run := func(seconds int, each int64, runs bool) {
		for range seconds {
			pages += each
			at = at.Add(time.Second)
			m.Sample(at, Totals{Pages: pages, Bytes: 10 * pages, Runs: runs,
				Others: Speeds{2 * float64(each), 20 * float64(each)}})
		}
	}
	says := func(when string, now, minute float64) {
		t.Helper()
		for what, r := range map[string]Rates{"cluster": m.Cluster(), "node": m.Alone()} {
			k := 3.0
			if what == "node" {
				k = 1
			}
			if r.Pages.Now != k*now || r.Pages.Avg1m != k*minute ||
				r.Bytes.Now != 10*k*now || r.Bytes.Avg1m != 10*k*minute {
				t.Errorf("%s, the %s: %+v; want %v and %v pages", when, what, r, k*now, k*minute)
			}
		}
	}
	run(90, 0, false)
	says("idle", 0, 0)
	run(3, 50, true)
	says("in its first seconds", 50, 50)
	run(23, 50, true)
	says("after 26 seconds", 50, 50)
	run(1, 50, false) // the last pages are under way when the crawl is paused
	run(9, 0, false)
	says("paused", 0, 50)
	run(9, 20, true)
	says("going on", 20, 42.5) // 27 seconds and 9
	run(60, 20, true)
	says("after a minute", 20, 20)
	run(61, 0, false)
	says("a minute after its end", 0, 0)
	run(5, 30, true)
	says("started again", 30, 30)
}

// TestPeakAfterARestart: a process that has just started has seen less than the crawl has reached.
func TestPeakAfterARestart(t *testing.T) {
	t.Parallel()
	var m Meter
	for i := range int64(8) { // slower from second to second, as the crawl's average
		m.Sample(noon.Add(time.Duration(i)*time.Second), Totals{Runs: true, Pages: 1000 + 6*i,
			Average: Speeds{44.5 - float64(i), 44_500}})
	}
	if c := m.Cluster(); c.Pages.Now != 6 || c.Pages.Peak != 44.5 || c.Bytes.Peak != 44_500 {
		t.Errorf("%+v, want 6 pages a second, and once 44.5", c)
	}
}
