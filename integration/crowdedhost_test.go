package integration

import (
	"flag"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"
)

// A measurement, not a test of every day: `.ci/bench` runs it, or
//
//	go test ./integration -count=1 -timeout 20m -v -run '^TestCrowdedHost$' -crowded 1000000
var (
	crowdedURLs = flag.Int("crowded", 0, "run TestCrowdedHost with this many URLs queued on one host")
	crowdedTime = flag.Duration("crowded.time", time.Minute, "how long TestCrowdedHost counts pages")
)

// The neighbours of the crowded host, and the part of what --delay allows that all
// but 1 % of them must get.
const (
	crowdedHosts = 1000
	crowdedEach  = 200 // URLs that wait on each
	crowdedShare = 0.9
)

// TestCrowdedHost crawls a host with a million queued URLs beside many small ones: each of these is
// requested as often as its delay allows.
func TestCrowdedHost(t *testing.T) {
	onRequest(t, *crowdedURLs != 0, "a measurement of minutes; see .ci/bench")
	hosts := crowdedHosts + 1
	r := &bigRun{t: t, urls: hosts * crowdedEach, hosts: hosts, crowd: *crowdedURLs}
	dir := t.TempDir()
	r.filled = filepath.Join(dir, "filled")
	r.web = startBigWeb(t, r.hosts, freePort(t))
	const delay = time.Second
	c := r.cluster(dir, "--delay", delay.String())
	r.found(c)
	r.fill(filepath.Join(dir, "n1"))

	n := c.place()
	n.start()
	for i := range r.web.byHost {
		r.web.byHost[i].Store(0)
	}
	until(t, time.Minute, func() string {
		for i := range r.web.byHost {
			if r.web.byHost[i].Load() == 0 {
				return "a host has not been asked: " + r.web.url(i, 0)
			}
		}
		return ""
	})
	before := make([]int64, hosts)
	for i := range before {
		before[i] = r.web.byHost[i].Load()
	}
	began := time.Now()
	time.Sleep(*crowdedTime) // what is measured
	possible := time.Since(began).Seconds() / delay.Seconds()
	var shares []float64
	for i := range before {
		shares = append(shares, float64(r.web.byHost[i].Load()-before[i])/possible)
	}
	crowd := shares[0]
	small := slices.Sorted(slices.Values(shares[1:]))
	n.signal(syscall.SIGTERM)
	n.exit(t, time.Minute)

	median, least := small[len(small)/2], small[len(small)/100]
	benchRow(t,
		"e: 1,000 small hosts beside one with a million queued URLs get 90 % of what their delay allows",
		"%d queued on the one host: the small ones got, of what a delay of %v allows, "+
			"%.3f (median) and %.3f (all but 1 %%), the large one %.3f",
		*crowdedURLs, delay, median, least, crowd)
	if least < crowdedShare {
		t.Errorf("a small host got %.3f of what its delay allows, %.2f promised", least, crowdedShare)
	}
}
