package integration

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"crawlnode/config"
	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/frontier/storage"
	"crawlnode/local/resources"
)

var (
	fillMillions = flag.Int("fillmillions", 0,
		"run TestFillMillions with so many million URLs, "+
			"and append the figures to docs/results/fillmillions.md")
	fillTogether = flag.Int("fillmillions.together", 10,
		"how many new URLs of a host come in a row, as from one page")
	fillDir = flag.String("fillmillions.dir", "",
		"keep the store of TestFillMillions here; the folder must be new")
	fillTime = flag.Duration("fillmillions.time", 4*time.Hour,
		"when TestFillMillions adds nothing more")
)

const (
	fillPartitions = 1024 // as a node has them
	fillPace       = 10 * time.Millisecond
	fillRows       = 5      // how often a host gets new URLs
	fillApart      = 20_000 // how many hosts begin between two of these times
	fillBatch      = 1000
	fillStep       = 1_000_000 // URLs for each line of the log
	fillAnswers    = 1000      // hosts that are loaded after the restart
)

// TestFillMillions fills a frontier, opened as a node with default settings does, with links as
// pages bring them. With each million it notes what a new URL and a known one cost, bytes on disk
// and anonymous memory; then it stops, starts again and notes the time to the first answers.
// SIGTERM or SIGINT ends the filling early: what is left is done, and the row is written.
func TestFillMillions(t *testing.T) {
	onRequest(t, *fillMillions != 0, "a measurement; run with -fillmillions 100")
	dir := *fillDir
	if dir == "" {
		dir = t.TempDir()
	}
	r := &millions{t: t, dir: dir}
	stopped := r.housekeeping()
	s := r.open()
	var ps []crawl.Partition
	for p := range crawl.Partition(fillPartitions) {
		ps = append(ps, p)
	}
	if err := s.Found(s.ctx, ps, 1); err != nil {
		t.Fatal(err)
	}
	s.partitions = fillPartitions
	r.fill(s)
	r.end(s)
	r.restart()
	stopped()
	if !t.Failed() {
		r.report()
	}
}

// millions is one run and what it found.
type millions struct {
	t   *testing.T
	dir string

	added                             int
	began                             time.Time
	took, used                        time.Duration // until the last URL
	steps                             []fillLine
	memory, disk                      int64 // at the end, after a stop
	mostMemory                        int64
	stopTime, opened, first, thousand time.Duration
}

// fillLine is what a million cost.
type fillLine struct {
	fresh, known float64 // us of the processor for a URL
	rate         float64 // new ones a second
}

// open opens the store as node.openStores does with the default --memory.
func (r *millions) open() *bigStore {
	r.t.Helper()
	memory := int64(config.Default().Memory)
	kv, err := storage.OpenBadger(filepath.Join(r.dir, "frontier"),
		storage.OptionsFor(memory, false, nil))
	if err != nil {
		r.t.Fatal(err)
	}
	bloom := filepath.Join(r.dir, "bloom")
	if err := os.MkdirAll(bloom, 0o755); err != nil {
		r.t.Fatal(err)
	}
	f, err := frontier.New(kv, frontier.Options{
		BloomDir:           bloom,
		HighWater:          filepath.Join(r.dir, "highwater"),
		Machine:            storage.MachineRun(),
		PayloadFilterBytes: memory / 32,
		CacheEntries:       int(memory >> 9),
		CommitPace:         fillPace,
		OnQueued:           func([]frontier.QueuedHost) {},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	s := &bigStore{Frontier: f, t: r.t, over: make(chan error, 1), partitions: len(f.Metas())}
	s.ctx, s.stop = context.WithCancel(context.Background())
	go func() { s.over <- f.Run(s.ctx) }()
	return s
}

// housekeeping keeps the heap within --memory as a node does, and notes the most memory. It ends
// with the call of what it returns.
func (r *millions) housekeeping() func() {
	collector := resources.NewCollector(int64(config.Default().Memory))
	ctx, stop := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() {
		defer close(over)
		for tick := time.NewTicker(time.Second); ; {
			select {
			case <-ctx.Done():
				tick.Stop()
				return
			case <-tick.C:
				collector.Look(true)
				r.mostMemory = max(r.mostMemory, rssAnon(os.Getpid()))
			}
		}
	}()
	return func() { stop(); <-over }
}

// fill adds URLs until there are enough, the time is over, or a signal comes. The store is synced
// each second, as a node does it.
func (r *millions) fill(s *bigStore) {
	ctx, cancel := context.WithTimeout(s.ctx, *fillTime)
	defer cancel()
	ctx, forget := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT)
	defer forget()
	r.began = time.Now()
	at, cpu, step, synced := r.began, cpuTime(os.Getpid()), 0, r.began
	links := make([]crawl.Routed, 0, fillBatch)
	for r.added < *fillMillions*fillStep && ctx.Err() == nil {
		links = links[:0]
		for i := r.added; i < r.added+fillBatch; i++ {
			links = append(links, r.link(s, i, 1))
		}
		if _, err := s.Add(s.ctx, links); err != nil {
			r.t.Fatal(err)
		}
		r.added += len(links)
		if time.Since(synced) > time.Second {
			synced = time.Now()
			if err := s.Sync(); err != nil {
				r.t.Fatal(err)
			}
		}
		if r.added-step >= fillStep {
			line := fillLine{
				rate:  float64(r.added-step) / time.Since(at).Seconds(),
				fresh: (cpuTime(os.Getpid()) - cpu).Seconds() * 1e6 / float64(r.added-step),
			}
			r.note(s, line)
			step, at, cpu = r.added, time.Now(), cpuTime(os.Getpid())
		}
	}
	r.took, r.used = time.Since(r.began), cpuTime(os.Getpid())
}

// link is the i-th URL. URLs of a host come in rows. Of five rows one begins a new host; the others
// are the second to the fifth of hosts that began before, or of hosts of their own while there are
// none. So new and older hosts come in the same measure at any time.
func (r *millions) link(s *bigStore, i, depth int) crawl.Routed {
	row, in := i / *fillTogether, i%*fillTogether
	begun, again := row/fillRows, row%fillRows
	host := begun - again*fillApart
	name := fmt.Sprintf("www.site-%d.example", host)
	if host < 0 {
		name, again = fmt.Sprintf("www.early-%d-%d.example", begun, again), 0
	}
	page := again**fillTogether + in
	return s.routed(fmt.Sprintf("https://%s/section-%d/page-%d.html", name, page%7, page), depth)
}

// note logs a step, with the cost of known URLs.
func (r *millions) note(s *bigStore, line fillLine) {
	random := rand.New(rand.NewPCG(3, uint64(r.added)))
	links := make([]crawl.Routed, fillKnown)
	for i := range links {
		links[i] = r.link(s, random.IntN(r.added), 9) // no lower depth than before
	}
	before := cpuTime(os.Getpid())
	for batch := range slices.Chunk(links, fillBatch) {
		admissions, err := s.Add(s.ctx, batch)
		if err != nil {
			r.t.Fatal(err)
		}
		for i, a := range admissions {
			if a != frontier.Known {
				r.t.Fatalf("%s is %v, want known", batch[i].Target.URL, a)
			}
		}
	}
	line.known = (cpuTime(os.Getpid()) - before).Seconds() * 1e6 / fillKnown
	r.steps = append(r.steps, line)
	r.t.Logf("%s %d URLs after %.0f s: %.0f a second, %.1f us of the processor each, "+
		"a known one %.1f; %.0f s of the processor in all; RssAnon %d MiB, "+
		"disk %d MiB (%d bytes each), load %s",
		time.Now().UTC().Format(time.TimeOnly), r.added, time.Since(r.began).Seconds(), line.rate,
		line.fresh, line.known, cpuTime(os.Getpid()).Seconds(),
		rssAnon(os.Getpid())>>20, r.bytes()>>20, r.bytes()/int64(r.added), loadAverage())
}

func (r *millions) bytes() int64 { return allocated(r.t, filepath.Join(r.dir, "frontier")) }

// end stops the frontier.
func (r *millions) end(s *bigStore) {
	if seen := s.Totals().Seen; seen != int64(r.added) {
		r.t.Errorf("%d URLs are known, %d were added", seen, r.added)
	}
	if r.added == 0 {
		r.t.Fatal("no URL was added")
	}
	r.memory = rssAnon(os.Getpid())
	at := time.Now()
	s.stop()
	if err := <-s.over; err != nil {
		r.t.Fatal(err)
	}
	if err := s.Close(); err != nil { // a node would exit now, and the next start read the logs
		r.t.Log(err)
	}
	r.unlocked()
	r.stopTime, r.disk = time.Since(at), r.bytes()
	r.t.Logf("%d URLs, stopped in %v, %d bytes on disk each", r.added, r.stopTime,
		r.disk/int64(max(r.added, 1)))
	runtime.GC()
}

// unlocked waits until the store has let go of its folder.
func (r *millions) unlocked() {
	dir, err := os.Open(filepath.Join(r.dir, "frontier"))
	if err != nil {
		r.t.Fatal(err)
	}
	defer dir.Close()
	if err := syscall.Flock(int(dir.Fd()), syscall.LOCK_EX); err != nil {
		r.t.Fatal(err)
	}
}

// restart opens the store again, and asks for the queues of many hosts.
func (r *millions) restart() {
	at := time.Now()
	s := r.open()
	r.opened = time.Since(at)
	if seen := s.Totals().Seen; seen != int64(r.added) {
		r.t.Errorf("%d URLs are known after the restart, %d were added", seen, r.added)
	}
	random := rand.New(rand.NewPCG(4, 4))
	for n := range fillAnswers {
		l := r.link(s, random.IntN(r.added), 1)
		q, err := s.Load(l.Partition, crawl.Host(l.Target.URL.Host()), frontier.Cursor{}, 16)
		if err != nil || len(q.Items) == 0 {
			r.t.Fatalf("%s has %d URLs after the restart: %v", l.Target.URL.Host(), len(q.Items), err)
		}
		if n == 0 {
			r.first = time.Since(at)
		}
	}
	r.thousand = time.Since(at)
	r.t.Logf("opened in %v, the first queue after %v, %d after %v; RssAnon %d MiB", r.opened, r.first,
		fillAnswers, r.thousand, rssAnon(os.Getpid())>>20)
	s.stop()
	if err := errors.Join(<-s.over, s.Close()); err != nil {
		r.t.Log(err)
	}
	r.unlocked() // so that the folder can be removed
}

// report appends the row.
func (r *millions) report() {
	fresh, known := make([]float64, len(r.steps)), make([]float64, len(r.steps))
	for i, s := range r.steps {
		fresh[i], known[i] = s.fresh, s.known
	}
	if len(r.steps) == 0 {
		fresh, known = []float64{0}, []float64{0}
	}
	slices.Sort(fresh)
	slices.Sort(known)
	middle := func(of []float64) float64 { return of[len(of)/2] }
	r.t.Logf("the dearest million cost %.2f of the cheapest", fresh[len(fresh)-1]/max(fresh[0], 0.001))
	appendResult(r.t, "fillmillions.md", fillMillionsHead, fmt.Sprintf(
		"%d | %d | %.0f s | %.0f | %.1f | %.1f (%.1f to %.1f) | %.1f (%.1f to %.1f) | %d | %d, "+
			"%d | %.1f | %.2f, %.2f | %s |",
		r.added, *fillTogether,
		r.took.Seconds(), float64(r.added)/r.took.Seconds(), r.used.Seconds()*1e6/float64(r.added),
		middle(fresh), fresh[0], fresh[len(fresh)-1], middle(known), known[0], known[len(known)-1],
		r.disk/int64(r.added), r.memory>>20, r.mostMemory>>20, r.stopTime.Seconds(), r.first.Seconds(),
		r.thousand.Seconds(), loadAverage()))
}

const fillMillionsHead = `# Millions of URLs in one frontier

A frontier is opened as a node with default settings opens it, and filled with new URLs: ten of a host in a row, as from one page, five times for each host, a million URLs apart. With each million,
20,000 known ones, drawn at random, are offered again. The processor's time is all of the process's, the making of URLs included. Then the frontier stops, starts again, and loads the queues of hosts drawn at random. Appended by

    go test ./integration -count=1 -v -timeout 0 -run '^TestFillMillions$' -fillmillions 100

| date | commit | URLs | in a row | time | URLs a second | us of the processor a URL, all | by million: a new one, median (least to most) | a known one | bytes on disk a URL | RssAnon at the end, at most, MiB | stop, s | from the start to the first queue, to a thousand, s | load |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
`
