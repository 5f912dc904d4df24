package status

import (
	"strings"
	"testing"

	"crawlnode/crawl"
)

// atWork is a node limited by politeness; each row of the tests changes it.
func atWork() Strain {
	return Strain{Queued: 1000, InFlight: 3, Hosts: crawl.HostCounts{InFlight: 3, Waiting: 20}, Busy: 3, Fetchers: 256, Processors: 2, CPU: 0.1, Machine: 0.3}
}

func TestBottleneck(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*Strain)
		cause  string
		says   []string // parts of the sentence
	}{
		{"few hosts", func(*Strain) {}, crawl.BottleneckPoliteness, []string{"20 hosts", "3 are in flight", "--delay"}},
		{"few hosts, some broken", func(s *Strain) { s.Hosts.Backoff, s.Hosts.Frozen = 4, 1 }, crawl.BottleneckPoliteness, []string{"20 hosts", "5 are backing off after errors"}},
		{"all hosts broken", func(s *Strain) { s.InFlight, s.Hosts = 0, crawl.HostCounts{Backoff: 4, Frozen: 1} }, crawl.BottleneckPoliteness, []string{"5 hosts with queued URLs", "backing off after errors", "crawlnode hosts show"}},
		{"one host, being asked", func(s *Strain) { s.Hosts = crawl.HostCounts{InFlight: 1} }, crawl.BottleneckPoliteness, []string{"every host with queued URLs is in flight (1)"}},
		{"nothing", func(s *Strain) { *s = Strain{Processors: 2, Fetchers: 256} }, crawl.BottleneckNone, []string{"nothing is queued", "seeds"}},
		{"the last pages", func(s *Strain) { s.Queued, s.Hosts = 3, crawl.HostCounts{InFlight: 3} }, crawl.BottleneckNone, []string{"3 of 256"}},
		{"paused", func(s *Strain) { s.Paused = "the crawl is paused" }, crawl.BottleneckNone, []string{"1000 URLs", "the crawl is paused"}},
		{"no lease", func(s *Strain) { s.Paused = "no lease: why" }, crawl.BottleneckNone, []string{"no lease: why"}},
		{"no worker asks", func(s *Strain) { s.FetchOff, s.Busy, s.Hosts.Ready = true, 0, 14 }, crawl.BottleneckFetchers, []string{"14 hosts", "--fetch off", "crawlnode worker"}},
		{"workers, and few hosts", func(s *Strain) { s.FetchOff = true }, crawl.BottleneckPoliteness, nil},
		{"the workers keep this node busy", func(s *Strain) { s.FetchOff, s.Hosts.Ready, s.CPU = true, 14, 0.9 }, crawl.BottleneckCPU, nil},
		{"few fetchers", func(s *Strain) { s.Busy, s.Fetchers, s.Hosts.Ready = 2, 2, 14 }, crawl.BottleneckFetchers, []string{"all 2", "14", "--fetchers"}},
		{"few fetchers on a busy machine", func(s *Strain) { s.Busy, s.Fetchers, s.Hosts.Ready, s.CPU, s.Machine = 2, 2, 14, 0.05, 1 }, crawl.BottleneckFetchers, nil},
		{"more visits than fetchers", func(s *Strain) { s.Busy, s.Fetchers, s.Hosts.Ready = 9, 2, 1 }, crawl.BottleneckFetchers, nil},
		{"computing", func(s *Strain) { s.Busy, s.Hosts.Ready, s.CPU, s.Machine = 256, 500, 0.8, 1 }, crawl.BottleneckCPU, []string{"80 %", "2 processors", "100 %"}},
		{"computing beside others", func(s *Strain) { s.Hosts.Ready, s.CPU, s.Machine = 500, 0.3, 0.97 }, crawl.BottleneckCPU, []string{"30 %"}},
		{"computing, and all hosts wait", func(s *Strain) { s.CPU, s.Machine = 0.9, 1 }, crawl.BottleneckPoliteness, []string{"20 hosts"}},
		{"computing, and nothing in flight", func(s *Strain) { s.CPU, s.InFlight, s.Hosts.InFlight = 1, 0, 0 }, crawl.BottleneckPoliteness, []string{"0 are in flight"}},
		{"computing, and one host on its way", func(s *Strain) { s.CPU, s.Hosts.Ready = 0.9, 1 }, crawl.BottleneckPoliteness, []string{"20 hosts", "1 is ready"}},
		{"computing, and many are ready", func(s *Strain) { s.CPU, s.Hosts.Ready = 0.9, 15 }, crawl.BottleneckCPU, nil},
		{"computing, and most are in flight", func(s *Strain) { s.CPU, s.Hosts.InFlight = 0.9, 40 }, crawl.BottleneckCPU, nil},
		{"computing beside the index", func(s *Strain) { s.CPU, s.Hosts.Ready, s.Unindexed = 0.9, 15, 9000 }, crawl.BottleneckIndex, []string{"9000 changes"}},
		{"the index is behind, and all hosts wait", func(s *Strain) { s.CPU, s.Unindexed = 0.9, 9000 }, crawl.BottleneckPoliteness, nil},
		{"a slow disk, and all hosts wait", func(s *Strain) { s.DiskWait = 0.9 }, crawl.BottleneckPoliteness, nil},
		{"browsers busy, and most hosts in flight", func(s *Strain) { s.Unrendered, s.Rendering, s.Renderers, s.Hosts.InFlight = 1, 2, 2, 30 }, crawl.BottleneckRender, []string{"all 2 renderers are busy and one page waits for one"}},
		{"all fetchers taken, and most hosts wait", func(s *Strain) { s.Busy, s.Fetchers, s.Hosts.Ready = 3, 3, 1 }, crawl.BottleneckFetchers, []string{"one more host is ready"}},
		{"ready hosts and free fetchers", func(s *Strain) { s.Hosts.Ready = 7 }, crawl.BottleneckNone, []string{"3 of 256 are busy", "7 more hosts are ready"}},
		{"ready hosts beside other programs", func(s *Strain) { s.Hosts.Ready, s.CPU, s.Machine = 7, 0.01, 1 }, crawl.BottleneckCPU, []string{"7 hosts", "253 of 256", "other programs", "100 %"}},
		{"paused while partitions move", func(s *Strain) { s.Paused, s.Leaving = "the crawl was paused", 4 }, crawl.BottleneckNone, []string{"the crawl was paused"}},
		{"held back by a share", func(s *Strain) { s.Hosts.OverShare = 700 }, crawl.BottleneckFetchers, []string{"700 hosts", "domain's share", "253 of 256"}},
		{"some held back by a share", func(s *Strain) { s.Hosts.OverShare = 7 }, crawl.BottleneckPoliteness, []string{"20 hosts", "7 are held back by their domain's share"}},
		{"names", func(s *Strain) { s.Lookups, s.Hosts = 18, crawl.HostCounts{Waiting: 20} }, crawl.BottleneckDNS, []string{"18 host names", "--dns"}},
		{"one name of many hosts", func(s *Strain) { s.Lookups = 1 }, crawl.BottleneckPoliteness, nil},
		{"names, but others may be asked", func(s *Strain) { s.Lookups, s.Hosts.Ready, s.Busy, s.Fetchers = 18, 5, 2, 2 }, crawl.BottleneckFetchers, nil},
		{"no name server", func(s *Strain) { s.DNSDown, s.Hosts = true, crawl.HostCounts{Backoff: 9} }, crawl.BottleneckDNS, []string{"no name server", "9 hosts"}},
		{"no name server, but known hosts", func(s *Strain) { s.DNSDown, s.Hosts.Ready, s.Busy, s.Fetchers = true, 2, 1, 1 }, crawl.BottleneckFetchers, nil},
		{"slow disk", func(s *Strain) { s.DiskWait, s.Busy, s.Hosts.Ready = 0.7, 256, 40 }, crawl.BottleneckDisk, []string{"70 %", "--data-dir"}},
		{"slow disk, synced", func(s *Strain) { s.DiskWait, s.Syncing, s.Hosts.InFlight = 0.9, true, 30 }, crawl.BottleneckDisk, []string{"90 %", "--sync"}},
		{"a store that computes", func(s *Strain) { s.DiskWait, s.CPU, s.Hosts.Ready = 0.7, 0.9, 9 }, crawl.BottleneckCPU, nil},
		{"full disk", func(s *Strain) {
			s.Short, s.Paused = []string{"only 90 MiB are free at /data"}, "the disk is nearly full at /data"
		}, crawl.BottleneckDisk, []string{"90 MiB", "/data"}},
		{"moves", func(s *Strain) { s.Leaving, s.Moves = 40, 512 }, crawl.BottleneckHandoff, []string{"40 of 512"}},
		{"moves of nobody's count", func(s *Strain) { s.Leaving = 7 }, crawl.BottleneckHandoff, []string{"7 of 7"}},
		{"moves of empty partitions", func(s *Strain) { s.Queued, s.InFlight, s.Leaving, s.Moves = 0, 0, 5, 6 }, crawl.BottleneckNone, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := atWork()
			c.change(&s)
			got := BottleneckOf(&s)
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
