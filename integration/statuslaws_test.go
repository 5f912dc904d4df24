package integration

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"crawlnode/api/plaintext"
	"crawlnode/crawl"
	"crawlnode/settings/crawldoc"
	nodestatus "crawlnode/status"
)

// waitingText is how a bottleneck tells of waiting hosts.
var waitingText = regexp.MustCompile(
	`(\d+|one) hosts? with queued URLs waits? for (?:their|its) delay, (\d+) (?:is|are) in flight`)

// brokenLaws lists how the figures of a status contradict each other. They are what any reader may
// expect of a document in which parts add up to sums and words agree with numbers.
func brokenLaws(s *crawl.Status) (broken []string) {
	law := func(ok bool, format string, args ...any) {
		if !ok {
			broken = append(broken, fmt.Sprintf(format, args...))
		}
	}
	for what, r := range map[string]crawl.Rate{
		"pages": s.Throughput.PagesPerSecond,
		"bytes": s.Throughput.BytesInPerSecond,
	} {
		law(r.Peak >= r.Now && r.Peak >= r.Avg1m && r.Peak >= r.Avg, "%s: a speed is above the peak: %+v",
			what, r)
		law(r.Now >= 0 && r.Avg1m >= 0 && r.Avg >= 0 && !math.IsInf(r.Peak, 0) && !math.IsNaN(r.Peak),
			"%s: %+v", what, r)
	}
	lawsOfNodes(s, law)
	lawsOfWork(s, law)
	lawsOfHealth(s, law)
	return broken
}

// lawful checks what each running node says of the cluster at this moment.
func (c *cluster) lawful() {
	c.t.Helper()
	for _, n := range c.living() {
		var s crawl.Status
		if n.decode("/status", &s) != nil {
			continue // it has ended
		}
		for _, broken := range brokenLaws(&s) {
			c.t.Errorf("the status of %s: %s", n.name, broken)
		}
	}
}

// brokenText lists where the short status does not fit its screen.
func brokenText(s *crawl.Status) (broken []string) {
	var b strings.Builder
	_ = plaintext.WriteStatus(&b, s) // into memory
	if lines := strings.Count(b.String(), "\n"); len(s.Nodes) <= 3 && lines > 24 {
		broken = append(broken, fmt.Sprintf("%d lines:\n%s", lines, b.String()))
	}
	for line := range strings.SplitSeq(b.String(), "\n") {
		if n := utf8.RuneCountInString(line); n > 80 {
			broken = append(broken, fmt.Sprintf("%d columns: %s", n, line))
		}
	}
	return broken
}

func lawsOfNodes(s *crawl.Status, law func(bool, string, ...any)) {
	var pages, queued, busy int64
	var held, alive, suspect, draining, left, failed int
	speed := 0.0
	for i := range s.Nodes {
		n := &s.Nodes[i]
		switch n.State {
		case crawl.NodeAlive:
			alive++
		case crawl.NodeSuspect:
			suspect++
		case crawl.NodeDraining:
			draining++
		case crawl.NodeLeft:
			left++
		case crawl.NodeFailed:
			failed++
		}
		if n.AgeSeconds == nil {
			continue // never heard of
		}
		silent := *n.AgeSeconds >= nodestatus.StaleAfter.Seconds() || n.State == crawl.NodeLeft ||
			n.State == crawl.NodeFailed
		law(!silent || *n.PagesPerSecond == 0 && *n.Fetchers.Busy == 0,
			"%s is %s and fetches %v a second", n.Name, n.State, *n.PagesPerSecond)
		pages, queued, busy = pages+*n.PagesTotal, queued+*n.Queued, busy+int64(*n.Fetchers.Busy)
		speed += *n.PagesPerSecond
		held += *n.Partitions.Held
	}
	law(pages == s.Throughput.PagesTotal, "the nodes have %d pages, all %d", pages,
		s.Throughput.PagesTotal)
	law(queued == s.Frontier.Queued, "the nodes have queued %d, all %d", queued, s.Frontier.Queued)
	law(math.Abs(speed-s.Throughput.PagesPerSecond.Now) < 1e-6, "the nodes fetch %v a second, all %v",
		speed, s.Throughput.PagesPerSecond.Now)
	law(busy <= s.Frontier.InFlight, "%d fetchers are busy with %d pages in flight", busy,
		s.Frontier.InFlight)
	want := crawl.MemberCounts{
		Alive:    alive,
		Suspect:  suspect,
		Draining: draining,
		Left:     left,
		Failed:   failed,
	}
	law(s.Cluster.Members == want, "members %+v of the nodes %+v", s.Cluster.Members, want)
}

func lawsOfWork(s *crawl.Status, law func(bool, string, ...any)) {
	f, h := &s.Frontier, &s.Frontier.Hosts
	var bands int64
	for _, n := range f.ByBand {
		bands += n
	}
	law(bands == f.Queued, "the bands have %d of %d queued", bands, f.Queued)
	law(f.InFlight == h.InFlight, "%d in flight beside %d hosts in flight", f.InFlight, h.InFlight)
	if m := waitingText.FindStringSubmatch(s.Bottleneck.Message); m != nil {
		waiting, _ := strconv.ParseInt(strings.Replace(m[1], "one", "1", 1), 10, 64)
		flying, _ := strconv.ParseInt(m[2], 10, 64)
		law(waiting == h.Waiting && flying == f.InFlight, "%q beside %d waiting, %d in flight", m[0],
			h.Waiting, f.InFlight)
	}
	machine := []string{crawl.BottleneckCPU, crawl.BottleneckIndex, crawl.BottleneckRender}
	law(!slices.Contains(machine, s.Bottleneck.Cause) || h.Ready > 0 ||
		h.Waiting <= h.InFlight+h.OverShare,
		"%s is named while no host is ready and %d wait (%d in flight)", s.Bottleneck.Cause, h.Waiting,
		h.InFlight)
	e, c := &s.Fetch, s.Fetch.ErrorsByCategory
	law(e.ErrorsTotal == c.DNS+c.Connect+c.TLS+c.Timeout+c.Protocol+c.Truncated+c.BlockedAddress+
		c.Other+c.Proxy, "errors %d are not %+v", e.ErrorsTotal, c)
	stands := s.Crawl.State == crawl.CrawlFinished || s.Crawl.State == crawl.CrawlIdle
	law(!stands || s.Throughput.PagesPerSecond.Now == 0 && s.Output.RecordsPerSecond == 0,
		"%s, at %v pages a second", s.Crawl.State, s.Throughput.PagesPerSecond.Now)
	law((s.Crawl.State == crawl.CrawlFinished) == (s.Crawl.FinishReason != nil),
		"%s, and the reason is %v", s.Crawl.State, s.Crawl.FinishReason)
	if s.Crawl.State == crawl.CrawlFinished {
		law(s.Bottleneck.Cause == crawl.BottleneckNone &&
			strings.Contains(s.Bottleneck.Message, "has ended"),
			"the crawl has ended, and %+v", s.Bottleneck)
	}
	if s.Crawl.State == crawl.CrawlPaused {
		law(s.Bottleneck.Cause == crawl.BottleneckNone || f.Queued == 0, "the crawl is paused, and %+v",
			s.Bottleneck)
	}
}

func lawsOfHealth(s *crawl.Status, law func(bool, string, ...any)) {
	h, level := &s.Cluster.Health, crawl.HealthOK
	for _, r := range h.Reasons {
		if level == crawl.HealthOK {
			level = crawl.HealthWarn
		}
		if nodestatus.Critical(r.Code) {
			level = crawl.HealthCritical
		}
		law(!r.Since.After(s.AsOf.Add(time.Second)), "%s since %v, as of %v", r.Code, r.Since, s.AsOf)
		law(r.Message != "", "%s says nothing", r.Code)
	}
	law(h.Level == level, "%s of %d reasons that are %s", h.Level, len(h.Reasons), level)
	r := &s.Ring
	law(r.Served <= r.Partitions && r.UnderReplicated <= r.Partitions, "%d and %d of %d partitions",
		r.Served, r.UnderReplicated, r.Partitions)
	law(!r.Converged || r.Served == r.Partitions, "converged, with %d of %d served", r.Served,
		r.Partitions)
	law(r.Handoff.PartitionsDone <= r.Handoff.PartitionsTotal &&
		r.Repair.PartitionsDone <= r.Repair.PartitionsTotal, "%+v, %+v", r.Handoff, r.Repair)
	law(s.Cluster.Message != "" && s.Crawl.Message != "" && s.Bottleneck.Message != "",
		"a sentence is missing")
}

// drawnPicture is a moment of a cluster as chance makes it: figures need no cause, they must agree.
func drawnPicture(r *rand.Rand) nodestatus.Picture {
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	began := now.Add(-time.Duration(r.IntN(1e6)) * time.Millisecond)
	chance := func(n int) bool { return r.IntN(n) == 0 }
	states := []string{crawl.CrawlRunning, crawl.CrawlRunning, crawl.CrawlRunning, crawl.CrawlPaused,
		crawl.CrawlFinished}
	doc := &crawldoc.Document{
		Version:  3,
		State:    states[r.IntN(len(states))],
		Started:  &began,
		RunSince: &began,
	}
	if doc.State == crawl.CrawlFinished {
		doc.Reason, doc.Ended = crawl.FinishMaxPages, &now
	}
	p := nodestatus.Picture{
		Now:    now,
		Self:   "id-0",
		Name:   "n0",
		Joined: true,
		Doc:    doc,
		View:   5,
		Total:  64,
		Factor: 2,
		Since:  began,
	}
	p.Rates.Pages = crawl.Rate{Now: r.Float64(), Avg1m: 50 * r.Float64(), Peak: 40 * r.Float64()}
	for i := range 1 + r.IntN(4) {
		n := nodestatus.Node{
			Heard:  true,
			State:  crawl.NodeAlive,
			Counts: true,
			Held:   make([]byte, 8),
			Boot:   1,
		}
		b := &n.Block
		b.View, b.Boot = 5, 1
		if i > 0 {
			n.Age = time.Duration(r.IntN(1200)) * time.Millisecond
			switch r.IntN(8) {
			case 0:
				n.Age = time.Duration(3000+r.IntN(5000)) * time.Millisecond
			case 1:
				n.Counts, n.State, n.GoneSince = false, crawl.NodeFailed, now.Add(-time.Second)
			case 2:
				n.Counts, n.State = false, crawl.NodeLeft
			case 3:
				n.Counts = false // it joins
			case 4:
				n.State = crawl.NodeDraining
			}
			n.DeriveState(nodestatus.Departure{})
		}
		for part := range 64 {
			if part%3 == i {
				crawl.SetBit(n.Held, part)
			}
		}
		open, most, held := r.IntN(20), 1+r.IntN(30), crawl.CountBits(n.Held)
		b.Counters.Pages, b.Counters.Bytes = int64(r.IntN(1e6)), int64(r.IntN(1e9))
		if !chance(4) {
			b.Counters.Queued[r.IntN(crawl.Bands)] = int64(r.IntN(1e5))
		}
		queued := b.Counters.QueuedTotal()
		b.InFlight = int64(open)
		b.Hosts = crawl.HostCounts{
			InFlight:  int64(open),
			Ready:     int64(r.IntN(4) * r.IntN(30)),
			Waiting:   int64(r.IntN(50)),
			Backoff:   int64(r.IntN(4)),
			Frozen:    int64(r.IntN(2)),
			OverShare: int64(r.IntN(2) * r.IntN(9)),
		}
		b.Load = &crawl.NodeLoad{
			CPU:        r.Float64(),
			Machine:    r.Float64(),
			Processors: 2,
			DiskWait:   r.Float64(),
			FetchOff:   chance(9),
			Lookups:    r.IntN(2) * r.IntN(30),
		}
		b.Handoff.Active = chance(8)
		b.UnderReplicated = r.IntN(2) * r.IntN(10)
		b.Peaks.Pages = 60 * r.Float64()
		if chance(8) {
			b.Reasons = append(b.Reasons,
				crawl.HealthReason{Code: crawl.ReasonLowDisk, Message: "the disk is low", Since: began})
		}
		if chance(8) {
			b.Render = &crawl.RenderBlock{Queued: r.IntN(3), Busy: 2, Max: 2}
		}
		b.Node = crawl.NodeStatus{
			ID:             crawl.NodeID(fmt.Sprint("id-", i)),
			Name:           fmt.Sprint("n", i),
			HTTP:           "127.0.0.1:27295",
			PagesTotal:     new(int64(7)),
			PagesPerSecond: new(30 * r.Float64()),
			Queued:         &queued,
			Fetchers:       crawl.FetcherCounts{Busy: new(min(open, most)), Max: &most},
			Partitions:     crawl.PartitionCounts{Held: &held, Replica: &held},
		}
		if chance(9) {
			b.Node.PausedReason = new("the disk is nearly full at /data")
		}
		p.Nodes = append(p.Nodes, n)
	}
	return p
}

// TestStatusLaws: of whatever the nodes report, one document is made that does not contradict
// itself.
func TestStatusLaws(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3000) {
		s := nodestatus.Merge(drawnPicture(rand.New(rand.NewPCG(seed, 37))))
		if broken := append(brokenLaws(s), brokenText(s)...); len(broken) > 0 {
			t.Fatalf("seed %d: %s", seed, strings.Join(broken, "\n"))
		}
	}
}
