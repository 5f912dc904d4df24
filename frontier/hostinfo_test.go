package frontier

import (
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/storage"
	"crawlnode/frontier/storage/storagetest"
)

// A host that was only asked for another host's robots.txt keeps what it said: the
// first URL of it that is found waits for that. Until then it is not counted.
func TestParkWithoutURLs(t *testing.T) {
	storagetest.OnStores(t, func(t *testing.T, kv storage.KV, reopen func() storage.KV) {
		const host = "h1.p0.test"
		r := startHolding(t, kv, 1, commit.Options{})
		state := crawl.HostState{
			Requests:  1,
			Latency:   time.Second,
			NotBefore: day,
			HoldUntil: day.Add(time.Hour),
		}
		r.must(r.Park(t.Context(), []Parked{{Partition: 0, Host: host, State: state},
			{Partition: 0, Host: "h2.p0.test", State: crawl.HostState{NotBefore: day}}}))
		r.check()
		r = r.crash(reopen, commit.Options{})
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

// Visits of one host are completed concurrently: a completion that was overtaken by
// that of a later visit must not bring the host's earlier state back.
func TestOvertakenCompletion(t *testing.T) {
	storagetest.OnStores(t, func(t *testing.T, kv storage.KV, _ func() storage.KV) {
		const host = "h1.p0.test"
		r := startHolding(t, kv, 1, commit.Options{})
		r.add(link("http://"+host+"/1"), link("http://"+host+"/2"))
		items := r.load(0, host, 2).Items
		earlier := crawl.HostState{Requests: 2, Pages: 1, NotBefore: day}
		later := crawl.HostState{Requests: 3, Pages: 2, NotBefore: day.Add(time.Minute)}
		for i, state := range []crawl.HostState{1: earlier, 0: later} {
			lease := crawl.Lease{Partition: 0, Epoch: 1, Host: host, Item: items[1-i]}
			r.must(r.Complete(t.Context(), Completion{Lease: lease, Outcome: fetched, Host: state}))
		}
		if info, _, err := r.HostInfo(0, host); err != nil || !sameHost(info.State, later) {
			t.Errorf("%+v, %v; want the later state %+v", info.State, err, later)
		}
		r.check()
	})
}
