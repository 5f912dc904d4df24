package frontier

import (
	"testing"
	"time"

	"crawlnode/crawl"
)

// A host that was only asked for another host's robots.txt keeps what it said: the
// first URL of it that is found waits for that. Until then it is not counted.
func TestParkWithoutURLs(t *testing.T) {
	onStores(t, func(t *testing.T, kv KV, reopen func() KV) {
		const host = "h1.p0.test"
		r := startHolding(t, kv, 1, Options{})
		state := crawl.HostState{Requests: 1, Latency: time.Second, NotBefore: day, HoldUntil: day.Add(time.Hour)}
		r.must(r.Park(t.Context(), []Parked{{0, host, state}, {0, "h2.p0.test", crawl.HostState{NotBefore: day}}}))
		r.check()
		r = r.crash(reopen, Options{})
		if q := r.load(0, host, 4); len(q.Items) != 0 || q.More || !sameHost(q.State, state) {
			t.Fatalf("%+v", q)
		}
		if _, known, err := r.HostInfo(0, host); known || err != nil || r.Totals().Hosts != 0 {
			t.Errorf("it is known: %v, %v; %d hosts are counted", known, err, r.Totals().Hosts)
		}
		r.add(link("http://" + host + "/"))
		if q := r.load(0, host, 4); len(q.Items) != 1 || !sameHost(q.State, state) {
			t.Fatalf("%+v", q)
		}
		if _, known, err := r.HostInfo(0, host); !known || err != nil || r.Totals().Hosts != 1 {
			t.Errorf("it is not known: %v, %v; %d hosts are counted", known, err, r.Totals().Hosts)
		}
		r.check()
	})
}
