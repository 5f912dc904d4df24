package node

import (
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/simweb"
)

// atWork is a node that politeness holds back; each row of the tests changes it.
func atWork() strain {
	return strain{queued: 1000, inFlight: 3, hosts: crawl.HostCounts{InFlight: 3, Waiting: 20}, busy: 3, fetchers: 256, processors: 2, cpu: 0.1, machine: 0.3}
}

func TestBottleneck(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*strain)
		cause  string
		says   []string // parts of the sentence
	}{
		{"few hosts", func(*strain) {}, crawl.BottleneckPoliteness, []string{"20 hosts", "3 are being asked", "--delay"}},
		{"few hosts, some broken", func(s *strain) { s.hosts.Backoff, s.hosts.Frozen = 4, 1 }, crawl.BottleneckPoliteness, []string{"20 hosts", "5 rest after errors"}},
		{"one host, being asked", func(s *strain) { s.hosts = crawl.HostCounts{InFlight: 1} }, crawl.BottleneckPoliteness, []string{"1 are being asked"}},
		{"nothing", func(s *strain) { *s = strain{processors: 2, fetchers: 256} }, crawl.BottleneckNone, []string{"nothing is queued", "seeds"}},
		{"the last pages", func(s *strain) { s.queued, s.hosts = 3, crawl.HostCounts{InFlight: 3} }, crawl.BottleneckNone, []string{"3 of 256"}},
		{"paused", func(s *strain) { s.paused = "the crawl was paused" }, crawl.BottleneckNone, []string{"1000 URLs", "the crawl was paused"}},
		{"no lease", func(s *strain) { s.paused = "no lease: why" }, crawl.BottleneckNone, []string{"no lease: why"}},
		{"few fetchers", func(s *strain) { s.busy, s.fetchers, s.hosts.Ready = 2, 2, 14 }, crawl.BottleneckFetchers, []string{"all 2", "14", "--fetchers"}},
		{"few fetchers on a busy machine", func(s *strain) { s.busy, s.fetchers, s.hosts.Ready, s.cpu, s.machine = 2, 2, 14, 0.05, 1 }, crawl.BottleneckFetchers, nil},
		{"more visits than fetchers", func(s *strain) { s.busy, s.fetchers, s.hosts.Ready = 9, 2, 1 }, crawl.BottleneckFetchers, nil},
		{"computing", func(s *strain) { s.busy, s.hosts.Ready, s.cpu, s.machine = 256, 500, 0.8, 1 }, crawl.BottleneckCPU, []string{"80 %", "2 processors", "100 %"}},
		{"computing beside others", func(s *strain) { s.hosts.Ready, s.cpu, s.machine = 500, 0.3, 0.97 }, crawl.BottleneckCPU, []string{"30 %"}},
		{"computing, and no host free at this moment", func(s *strain) { s.cpu = 0.9 }, crawl.BottleneckCPU, nil},
		{"ready hosts and free fetchers", func(s *strain) { s.hosts.Ready, s.machine = 7, 0 }, crawl.BottleneckCPU, []string{"7 hosts", "253 of 256"}},
		{"held back by a share", func(s *strain) { s.hosts.OverShare = 700 }, crawl.BottleneckFetchers, []string{"700 hosts", "domain's share", "253 of 256"}},
		{"some held back by a share", func(s *strain) { s.hosts.OverShare = 7 }, crawl.BottleneckPoliteness, []string{"20 hosts", "7 are held back by their domain's share"}},
		{"names", func(s *strain) { s.lookups, s.hosts = 18, crawl.HostCounts{Waiting: 20} }, crawl.BottleneckDNS, []string{"18 host names", "--dns"}},
		{"one name of many hosts", func(s *strain) { s.lookups = 1 }, crawl.BottleneckPoliteness, nil},
		{"names, but others may be asked", func(s *strain) { s.lookups, s.hosts.Ready, s.busy, s.fetchers = 18, 5, 2, 2 }, crawl.BottleneckFetchers, nil},
		{"no name server", func(s *strain) { s.dnsDown, s.hosts = true, crawl.HostCounts{Backoff: 9} }, crawl.BottleneckDNS, []string{"no name server", "9 hosts"}},
		{"no name server, but known hosts", func(s *strain) { s.dnsDown, s.hosts.Ready, s.busy, s.fetchers = true, 2, 1, 1 }, crawl.BottleneckFetchers, nil},
		{"slow disk", func(s *strain) { s.diskWait, s.busy, s.hosts.Ready = 0.7, 256, 40 }, crawl.BottleneckDisk, []string{"70 %", "--data-dir"}},
		{"slow disk, synced", func(s *strain) { s.diskWait, s.syncing = 0.9, true }, crawl.BottleneckDisk, []string{"90 %", "--sync"}},
		{"a store that computes", func(s *strain) { s.diskWait, s.cpu = 0.7, 0.9 }, crawl.BottleneckCPU, nil},
		{"full disk", func(s *strain) {
			s.short, s.paused = []volume{{path: "/data", free: 90 << 20}}, "the disk is nearly full at /data"
		}, crawl.BottleneckDisk, []string{"90 MiB", "/data", "256 MiB"}},
		{"moves", func(s *strain) { s.leaving, s.moves = 40, 512 }, crawl.BottleneckHandoff, []string{"40 of 512"}},
		{"moves of nobody's count", func(s *strain) { s.leaving = 7 }, crawl.BottleneckHandoff, []string{"7 of 7"}},
		{"moves of empty partitions", func(s *strain) { s.queued, s.inFlight, s.leaving, s.moves = 0, 0, 5, 6 }, crawl.BottleneckNone, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := atWork()
			c.change(&s)
			got := bottleneckOf(&s)
			if got.Cause != c.cause {
				t.Errorf("%s: %q, want %s", got.Cause, got.Message, c.cause)
			}
			for _, part := range c.says {
				if !strings.Contains(got.Message, part) {
					t.Errorf("%q does not say %q", got.Message, part)
				}
			}
			if strings.ContainsAny(got.Message, "\n!") || len(got.Message) > 220 || strings.HasSuffix(got.Message, ".") {
				t.Errorf("not one plain sentence: %q", got.Message)
			}
		})
	}
}

func TestParseProcStat(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text      string
		busy, all int64
	}{
		{"cpu  10 1 5 80 4 0 0 0 0 0\ncpu0 1 1 1 1 1\n", 16, 100},
		{"cpu  10 1 5 80 4 1 2 3 99 99\n", 22, 106}, // guests are among the users
		{"cpu 1 2 3\n", 0, 0},
		{"cpu0 1 1 1 1 1 1 1\n", 0, 0},
		{"cpu a b c d e\n", 0, 0},
		{"", 0, 0},
	} {
		if busy, all := parseProcStat(c.text); busy != c.busy || all != c.all {
			t.Errorf("%q: %d of %d, want %d of %d", c.text, busy, all, c.busy, c.all)
		}
	}
}

func TestMeterStrain(t *testing.T) {
	t.Parallel()
	var m meter
	if p, machine, disk := m.strain(); p != 0 || machine != 0 || disk != 0 {
		t.Errorf("nothing measured: %v, %v, %v", p, machine, disk)
	}
	for i := range int64(3) {
		m.sample(noon.Add(time.Duration(i)*time.Second), totals{cpu: i * 1_500_000, busyTicks: i * 150, allTicks: i * 200, diskWait: i * 1_200_000})
	}
	if p, machine, disk := m.strain(); p != 1.5 || machine != 0.75 || disk != 1 {
		t.Errorf("%v processors, %v of the machine, %v of the time; want 1.5, 0.75, 1", p, machine, disk)
	}
}

// slowStore takes its time for each write.
type slowStore struct {
	*frontier.Memory
	writes time.Duration
}

func (s slowStore) Write(entries []frontier.Entry) error {
	time.Sleep(s.writes) // this is the fault
	return s.Memory.Write(entries)
}

// A node whose store is slow says that the disk is waited for, and for how long.
func TestBottleneckIsTheDisk(t *testing.T) {
	t.Parallel()
	web, srv := newWeb(t, simweb.Config{Seed: 6, Hosts: 100, PagesPerHost: 500, Skew: -1, PageBytes: 2000})
	c := testConfig(t, "slow")
	c.DNS, c.Delay = []string{srv.DNS.String()}, 0
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	var ticks atomic.Int64 // other tests keep the whole machine busy, which would be named first
	idle := func() (own, busy, all int64) { return 0, 0, ticks.Add(100) }
	n := startNodeWith(t, Options{Config: c, Logger: slog.New(slog.DiscardHandler), Version: "test", ProcessorTime: idle,
		Store: slowStore{frontier.NewMemory(), 50 * time.Millisecond}})
	converged(t, 1, n)
	if _, err := n.AddSeeds(t.Context(), seedsOf(web)); err != nil {
		t.Fatal(err)
	}
	until(t, patience, func() string {
		if b := statusOf(t, n.Node).Bottleneck; b.Cause != crawl.BottleneckDisk || !strings.Contains(b.Message, "% of the time") {
			return b.Cause + ": " + b.Message
		}
		return ""
	})
}
