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

func TestRates(t *testing.T) {
	t.Parallel()
	var r rate
	if got := r.read(); got != (crawl.Rate{}) {
		t.Errorf("of nothing: %+v", got)
	}
	at := noon
	step := func(total int64) { r.sample(total, at); at = at.Add(time.Second) }
	step(1000) // earlier totals do not count
	if got := r.read(); got != (crawl.Rate{}) {
		t.Errorf("of one sample: %+v", got)
	}
	for i := range 10 {
		step(1000 + int64(i+1)*50)
	}
	if got := r.read(); got.Now != 50 || got.Avg1m != 50 || got.Peak != 50 {
		t.Errorf("steady: %+v", got)
	}
	for range 5 {
		step(1500)
	}
	if got := r.read(); got.Now != 0 || got.Avg1m < 33 || got.Avg1m > 34 || got.Peak != 50 {
		t.Errorf("after a pause: %+v", got)
	}
	step(100) // no node reports some partitions while they are taken over
	step(130)
	if got := r.read(); got.Now != 0 {
		t.Errorf("after a fall: %+v", got)
	}
	step(1510)
	if got := r.read(); got.Now != 2 || got.Peak != 50 {
		t.Errorf("after a fall and its end: %+v", got)
	}
	// A total that does not return within a minute is lost, and the rest counts.
	for i := range 200 {
		step(130 + int64(i+1)*10)
	}
	if got := r.read(); got.Avg1m != 10 || got.Now != 10 || got.Peak != 50 {
		t.Errorf("after more than its memory: %+v", got)
	}
	r.sample(9999, at.Add(-time.Second)) // no time has passed
	if got := r.read(); got.Now < 0 {
		t.Errorf("%+v", got)
	}
	var m Meter
	m.Sample(noon, Totals{})
	m.Sample(noon.Add(time.Second), Totals{Pages: 1, Bytes: 2, AllPages: 3, AllBytes: 4, Moved: 5, Written: 6, Records: 7})
	if written, records := m.Archive(); written != 6 || records != 7 {
		t.Errorf("the archive grows by %v bytes and %v records", written, records)
	}
	pages, bytes, moved := m.Own()
	if c := m.Cluster(); pages != 1 || bytes != 2 || moved != 5 || c.Pages.Now != 3 || c.Bytes.Now != 4 {
		t.Errorf("%v %v %v %+v", pages, bytes, moved, c)
	}
}

// TestRatesAfterARestart: the first reports of other members, and partitions taken over from a
// member that does not return, were fetched before and are not current speed.
func TestRatesAfterARestart(t *testing.T) {
	t.Parallel()
	var m Meter
	at := noon
	step := func(pages int64, partial bool) {
		m.Sample(at, Totals{AllPages: pages, AllBytes: 1000 * pages, Partial: partial})
		at = at.Add(time.Second)
	}
	step(400, true) // this node's own partitions
	step(900, true) // another member has reported its own
	for i := range int64(10) {
		step(1200+i*10, false)
	}
	if c := m.Cluster(); c.Pages.Peak != 10 || c.Pages.Now != 10 || c.Bytes.Peak != 10_000 {
		t.Errorf("%+v, want 10 pages a second and never more", c)
	}
	var offline Meter // some partitions stay away: after a minute the rest counts
	for i := range int64(rateSpan + 10) {
		offline.Sample(noon.Add(time.Duration(i)*time.Second), Totals{AllPages: 5 * i, Partial: true})
	}
	if c := offline.Cluster(); c.Pages.Now != 5 {
		t.Errorf("with partitions that stay away: %+v, want 5 pages a second", c)
	}
}
