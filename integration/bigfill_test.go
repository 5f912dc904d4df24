package integration

import (
	"context"
	"crypto/sha1"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/frontier/storage"
	placement "crawlnode/ring" // ring is what the API says of it
	"crawlnode/web/urlnorm"
)

// bigStore is the frontier of a node that does not run.
type bigStore struct {
	*frontier.Frontier
	t          *testing.T
	ctx        context.Context
	stop       func()
	over       chan error
	partitions int
}

// openBigStore opens the frontier in a node's data directory. The node's cluster
// must have been founded.
func openBigStore(t *testing.T, dir string) *bigStore {
	t.Helper()
	kv, err := storage.OpenBadger(filepath.Join(dir, "frontier"), storage.BadgerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	f, err := frontier.New(kv, frontier.Options{BloomDir: filepath.Join(dir, "bloom")})
	if err != nil {
		t.Fatal(err)
	}
	s := &bigStore{Frontier: f, t: t, over: make(chan error, 1), partitions: len(f.Metas())}
	s.ctx, s.stop = context.WithCancel(t.Context())
	go func() { s.over <- f.Run(s.ctx) }()
	return s
}

// close ends it as a clean stop does.
func (s *bigStore) close() {
	s.t.Helper()
	s.stop()
	if err := <-s.over; err != nil {
		s.t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		s.t.Fatal(err)
	}
}

// routed makes a link of a URL.
func (s *bigStore) routed(raw string, depth int) crawl.Routed {
	u, err := urlnorm.Parse(raw)
	if err != nil {
		s.t.Fatal(err)
	}
	return crawl.Routed{Partition: placement.PartitionOf(crawl.Host(u.Host()), s.partitions),
		Target: crawl.Target{URL: u, Depth: depth, Band: crawl.Band(depth), Via: crawl.ViaLink}}
}

// total is the number of URLs that fill adds.
func (r *bigRun) total() int { return r.urls + r.done + r.crowd }

// nth is the host and the page of the i-th of them. Each batch has one URL of each of many hosts,
// so the URLs of a host are as far apart as in a crawl. The crowd comes last, on the first host.
func (r *bigRun) nth(i int) (host, page int) {
	if spread := r.urls + r.done; i >= spread {
		return 0, spread/r.hosts + 1 + i - spread
	}
	return i % r.hosts, i / r.hosts
}

// fill adds the URLs and completes those that are done.
func (r *bigRun) fill(dir string) {
	t := r.t
	began := time.Now()
	f := openBigStore(t, dir)
	const batch = 1000
	p := &fillProgress{bigRun: r, f: f, dir: dir, at: began}
	for from := 0; from < r.total(); from += batch {
		p.look(from)
		links := make([]crawl.Routed, 0, batch)
		for i := from; i < min(from+batch, r.total()); i++ {
			links = append(links, f.routed(r.web.url(r.nth(i)), 1+i/r.hosts%3))
		}
		if _, err := f.Add(f.ctx, links); err != nil {
			t.Fatal(err)
		}
	}
	r.complete(f)
	if totals := f.Totals(); totals.QueuedTotal() < int64(r.urls+r.crowd)*99/100 {
		t.Fatalf("%d URLs are queued of %d", totals.QueuedTotal(), r.urls+r.crowd)
	}
	p.end()
	f.close()
	r.fillTime = time.Since(began)
	if err := os.WriteFile(r.filled, []byte(r.fillTime.String()+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// fillSteps is how often the rate of a fill is noted.
const fillSteps = 20

// fillKnown is how many known URLs are then offered again, drawn at random.
const fillKnown = 20_000

// fillProgress notes how the rate of new URLs, the cost of known ones, memory and disk change as a
// frontier grows.
type fillProgress struct {
	*bigRun
	f     *bigStore
	dir   string
	at    time.Time // of the last note, and what was there
	added int
	cpu   time.Duration
	rates []float64
}

// look notes a step when added URLs complete it.
func (p *fillProgress) look(added int) {
	if step := p.total() / fillSteps; step == 0 || added-p.added < step {
		return
	}
	count := float64(added - p.added)
	took, cpu := time.Since(p.at), cpuTime(os.Getpid())-p.cpu
	p.rates = append(p.rates, count/took.Seconds())
	again, againCPU := p.known(added)
	p.t.Logf("%d URLs: %.0f new a second (%.1f us of processor time each), %.0f known (%.1f us); "+
		"RssAnon %d MiB, disk %d MiB", added,
		count/took.Seconds(), cpu.Seconds()*1e6/count, fillKnown/again.Seconds(),
		againCPU.Seconds()*1e6/fillKnown,
		rssAnon(os.Getpid())>>20, allocated(p.t, filepath.Join(p.dir, "frontier"))>>20)
	p.added, p.at, p.cpu = added, time.Now(), cpuTime(os.Getpid())
}

// known offers URLs that were added before, in the batches in which new ones come.
func (p *fillProgress) known(added int) (took, cpu time.Duration) {
	random := rand.New(rand.NewPCG(3, uint64(added)))
	links := make([]crawl.Routed, fillKnown)
	for i := range links {
		links[i] = p.f.routed(p.web.url(p.nth(random.IntN(added))), 9) // no lower depth than before
	}
	began, before := time.Now(), cpuTime(os.Getpid())
	for batch := range slices.Chunk(links, 1000) {
		admissions, err := p.f.Add(p.f.ctx, batch)
		if err != nil {
			p.t.Fatal(err)
		}
		for i, a := range admissions {
			if a != frontier.Known {
				p.t.Fatalf("%s is %v, want known", batch[i].Target.URL, a)
			}
		}
	}
	return time.Since(began), cpuTime(os.Getpid()) - before
}

// end compares the slowest step with the fastest, once all are over.
func (p *fillProgress) end() {
	p.look(p.total())
	if len(p.rates) > 0 {
		p.t.Logf("the slowest step has %.2f of the rate of the fastest",
			slices.Min(p.rates)/slices.Max(p.rates))
	}
}

// fillers complete URLs at the same time, so that a commit has many of them.
const fillers = 32

// complete completes the share of each host's URLs that is done, without fetching it.
func (r *bigRun) complete(f *bigStore) {
	each := r.done / r.hosts
	if each == 0 {
		return
	}
	hosts := make(chan int)
	var wg sync.WaitGroup
	for range fillers {
		wg.Go(func() {
			for host := range hosts {
				if err := f.completeHost(r.web.url(host, 0), each); err != nil {
					r.t.Error(err)
				}
			}
		})
	}
	for host := range r.hosts {
		hosts <- host
	}
	close(hosts)
	wg.Wait()
}

// completeHost completes the first URLs in the queue of a URL's host.
func (s *bigStore) completeHost(raw string, urls int) error {
	at := s.routed(raw, 0)
	host := crawl.Host(at.Target.URL.Host())
	meta, _ := s.Meta(at.Partition)
	q, err := s.Load(at.Partition, host, frontier.Cursor{}, urls)
	if err != nil {
		return err
	}
	for _, item := range q.Items {
		digest := sha1.Sum([]byte(item.URL.String()))
		err := s.Complete(s.ctx, frontier.Completion{
			Lease: crawl.Lease{Partition: at.Partition, Epoch: meta.Epoch, Host: host, Item: item},
			Outcome: crawl.Outcome{
				Kind:        crawl.Fetched,
				Status:      200,
				FetchedAt:   time.Now(),
				Took:        time.Millisecond,
				Bytes:       8000,
				ContentType: "text/html",
				Digest:      digest,
				Archive: crawl.ArchiveRef{
					Node:   "0123456789abcdef",
					File:   "crawlnode-20260101000000-00001-n1.warc.gz",
					Offset: int64(digest[0])<<24 | int64(digest[1])<<16,
					Length: 3000,
				},
			},
			Host: q.State,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// textBytes is the length of all URLs.
func (r *bigRun) textBytes() (sum int64) {
	for i := range r.total() {
		sum += int64(len(r.web.url(r.nth(i))))
	}
	return sum
}

// seenTests is how many URLs are looked up to learn what that takes.
const seenTests = 20_000

// seenTest offers known URLs, drawn at random, one by one to the frontier of a node
// that has ended, and returns how long the median and the slowest but 1 % took.
func (r *bigRun) seenTest(dir string) (p50, p99 time.Duration) {
	f := openBigStore(r.t, dir)
	defer f.close()
	random := rand.New(rand.NewPCG(1, 2))
	var took []time.Duration
	for range seenTests {
		link := f.routed(r.web.url(r.nth(random.IntN(r.total()))), 9) // no lower depth than before
		began := time.Now()
		admissions, err := f.Add(f.ctx, []crawl.Routed{link})
		if err != nil {
			r.t.Fatal(err)
		}
		took = append(took, time.Since(began))
		if admissions[0] != frontier.Known {
			r.t.Fatal(fmt.Errorf("%s is %v, want known", link.Target.URL, admissions[0]))
		}
	}
	slices.Sort(took)
	return took[len(took)/2], took[len(took)*99/100]
}
