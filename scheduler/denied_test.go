package scheduler

import (
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/scheduler/core"
	"crawlnode/web/urlnorm"
)

const (
	floodDomain     = ".flood.test"
	floodPartitions = 100
)

// floodDisk has any number of hosts of one domain in partitions 1 to floodPartitions, with a page
// each, and the hosts of its fakeDisk in partition 0.
type floodDisk struct {
	*fakeDisk
	hosts int
	read  atomic.Int64 // of them, by Waiting
}

func (s *floodDisk) Waiting(
	p crawl.Partition,
	from frontier.WakeCursor,
	n int,
) ([]frontier.Wake, frontier.WakeCursor, error) {
	if p == 0 {
		return s.fakeDisk.Waiting(p, from, n)
	}
	i, _ := strconv.Atoi(string(from)) // "" is 0
	var out []frontier.Wake
	s.mu.Lock()
	defer s.mu.Unlock()
	for ; len(out) < n && i < s.hosts/floodPartitions; i++ {
		host := crawl.Host(fmt.Sprintf("h%d-%d", p, i) + floodDomain)
		if h := s.fakeDisk.hosts[host]; h == nil || len(h.items) > 0 { // done, it leaves the index
			out = append(out, frontier.Wake{Host: host, Band: 3})
		}
	}
	s.read.Add(int64(len(out)))
	return out, frontier.WakeCursor(strconv.Itoa(i)), nil
}

func (s *floodDisk) Load(
	p crawl.Partition,
	host crawl.Host,
	after frontier.Cursor,
	n int,
) (frontier.HostQueue, error) {
	s.mu.Lock()
	if s.fakeDisk.hosts[host] == nil && strings.HasSuffix(string(host), floodDomain) {
		u, err := urlnorm.Parse(fmt.Sprintf("http://%s/", host))
		if err != nil {
			panic(err)
		}
		s.fakeDisk.hosts[host] = &fakeHost{partition: p, items: []crawl.Item{{URL: u, Band: 3, Seq: 1}}}
	}
	s.mu.Unlock()
	return s.fakeDisk.Load(p, host, after, n)
}

func (s *floodDisk) hold(d *Dispatcher) {
	for p := range crawl.Partition(floodPartitions) {
		d.Hold(1+p, 7, time.Time{})
	}
}

// TestDenied gives a domain many more hosts than it may have in memory beside another domain. Their
// number must not cause more sweeps.
func TestDenied(t *testing.T) {
	t.Parallel()
	numbers := []int{1_000, 100_000, 500_000}
	if testing.Short() {
		numbers = numbers[:2]
	}
	for _, hosts := range numbers {
		t.Run(fmt.Sprint(hosts), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const places, span = 2048, 2 * time.Minute
				r := newRig(t)
				r.options.Scheduler = core.Config{MaxActive: places}
				disk := &floodDisk{fakeDisk: r.disk, hosts: hosts}
				r.options.Store = disk
				r.disk.add(0, "www.other.test", 0, 10)
				r.start(0) // there are no fetches, so no host leaves
				defer r.end()
				r.d.Hold(0, 7, time.Time{})
				time.Sleep(time.Second) // the other domain is known
				disk.hold(r.d)
				time.Sleep(span)
				read := disk.read.Load()
				t.Logf("%.1f sweeps, %d hosts a second", float64(read)/float64(hosts),
					read/int64(span.Seconds()))
				if most := int64(span / deniedHostPause); read > most+2*int64(hosts) {
					t.Errorf("%d hosts were read in %v, want %d at most", read, span, most)
				}
				if n := r.d.Counts().Active; n < min(places/2, hosts) || n >= places {
					t.Errorf("%d hosts are in memory, want half of %d at least and not all", n, places)
				}
			})
		})
	}
}

// TestDeniedComeBack checks that denied hosts come into memory as soon as their domain has room,
// and not with the next sweep, which is most of a minute away, and that this takes few reads: a
// domain with millions of good hosts is fetched as fast as there are fetchers.
func TestDeniedComeBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.options.Scheduler = core.Config{MaxActive: 4096}
		disk := &floodDisk{fakeDisk: r.disk, hosts: 500_000}
		r.options.Store, r.options.Lookups = disk, 128
		r.disk.add(0, "www.other.test", 0, 10)
		r.start(0)
		defer r.end()
		r.d.Hold(0, 7, time.Time{})
		time.Sleep(time.Second)
		disk.hold(r.d)
		time.Sleep(30 * time.Second)
		had, read := r.d.Counts().Active, disk.read.Load()
		r.workers(500)
		const span = 20 * time.Second
		time.Sleep(span)
		got, read := r.web.pages(), disk.read.Load()-read
		t.Logf("%d pages, %d hosts read", got, read)
		// Without top-ups these are the hosts in memory and once 32 of each partition.
		if want := had + 2*floodPartitions*deniedKept; got < want {
			t.Errorf("%d pages were fetched in %v, %d hosts were in memory, want %d", got, span, had, want)
		}
		if most := int64(8 * got); read > most {
			t.Errorf("%d hosts were read for %d pages, want %d at most", read, got, most)
		}
	})
}
