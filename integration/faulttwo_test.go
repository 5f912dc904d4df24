package integration

import (
	"fmt"
	"math"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/miekg/dns"

	"crawlnode/crawl"
	placement "crawlnode/ring" // ring is what the API says of it
	"crawlnode/web/urlnorm"
)

// The web of TestOneOfTwoStopped, and how long the node that is left may take for its share: nine
// seconds by the delay of a host, and some until it knows that the other does not answer.
const (
	leadingSeeds = 100
	leadingPages = 20
	leadingDelay = 200 * time.Millisecond
	leadingShare = 40 * time.Second
)

// leadingWeb has a seed on each host with an even number, which redirects to the next
// host. There the pages are a chain of links.
type leadingWeb struct {
	port int

	mu   sync.Mutex
	seen map[string][]time.Time // requests for each page, "h1.big.test:1/0"
}

func (w *leadingWeb) url(host, page int) string {
	return fmt.Sprintf("http://h%d.big.test:%d/%d", host, w.port, page)
}

func (w *leadingWeb) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	host, _ := strconv.Atoi(strings.TrimPrefix(strings.Split(r.Host, ".")[0], "h")) // 0 for a stranger
	page, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
	if err != nil { // robots.txt
		http.NotFound(rw, r)
		return
	}
	w.mu.Lock()
	w.seen["http://"+r.Host+r.URL.Path] = append(w.seen["http://"+r.Host+r.URL.Path], time.Now())
	w.mu.Unlock()
	switch {
	case host%2 == 0:
		http.Redirect(rw, r, w.url(host+1, 0), http.StatusFound)
	case page+1 < leadingPages:
		rw.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(rw, `<a href="%s">on</a>`, w.url(host, page+1)) // the crawler asks again
	}
}

// missing is a page of these hosts that was not asked for, and how many there are.
func (w *leadingWeb) missing(hosts []int) (first string, count int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, host := range hosts {
		for page := range leadingPages {
			if url := w.url(host, page); len(w.seen[url]) == 0 && (host%2 == 1 || page == 0) {
				first = url
				count++
			}
		}
	}
	return first, count
}

// shortestGap is the shortest time between two requests to one of these hosts.
func (w *leadingWeb) shortestGap(hosts []int) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	shortest := time.Hour
	for _, host := range hosts {
		var times []time.Time
		for page := range leadingPages {
			times = append(times, w.seen[w.url(host, page)]...)
		}
		slices.SortFunc(times, time.Time.Compare)
		for i := range len(times) - 1 {
			shortest = min(shortest, times[i+1].Sub(times[i]))
		}
	}
	return shortest
}

// oneOfTwo is a way in which one of two nodes stops answering (F34), and what must follow.
type oneOfTwo struct {
	lab bool // each node on a machine of its own
	// flags are those of both nodes.
	flags []string
	// strike stops the node or its network, and back undoes that; nil: the other node takes all
	// over.
	strike, back func(l *lab, n *node)
}

// TestOneOfTwoStopped stops one of two nodes as soon as the seeds, each of which redirects to
// another host, are acknowledged. The other node fetches everything that it holds itself, and
// reports what waits. When the first continues, nothing is missing.
func TestOneOfTwoStopped(t *testing.T) {
	needsProcesses(t)
	beside(t, *faultRuns)
	stop := func(_ *lab, n *node) { n.signal(syscall.SIGSTOP) }
	kill := func(_ *lab, n *node) { n.signal(syscall.SIGKILL); <-n.done }
	cut := func(l *lab, _ *node) { l.cut([]int{0}, []int{1}) }
	for name, way := range map[string]oneOfTwo{
		"stop": {strike: stop, back: func(_ *lab, n *node) { n.signal(syscall.SIGCONT) }},
		"kill": {strike: kill},
		"cut":  {lab: true, strike: cut, back: func(l *lab, _ *node) { l.heal() }},
		// Nothing of the node arrives any more, not even the end of its connections. On one machine
		// the other node could see that the process is gone.
		"power": {
			lab:    true,
			flags:  []string{"--proof-of-death=off"},
			strike: func(l *lab, n *node) { cut(l, n); kill(l, n) },
			back:   func(l *lab, n *node) { l.heal(); n.start(); n.ready() },
		},
	} {
		t.Run(name, func(t *testing.T) {
			if way.lab {
				needsRoot(t)
			}
			if *faultRuns == 0 {
				t.Parallel()
				way.run(t)
				return
			}
			worst, failed, tight := figures{}, 0, math.Inf(1)
			for i := range *faultRuns {
				ok := t.Run(fmt.Sprint("run", i+1), func(t *testing.T) {
					f := way.run(t)
					worst.missing, tight = max(worst.missing, f.missing), min(tight,
						float64(f.gap)/float64(leadingDelay))
				})
				if !ok {
					failed++
				}
			}
			appendFaults(t, "one-of-two-"+name, *faultRuns, failed, worst, 0, tight)
		})
	}
}

// run strikes once, and returns what pages were missing in the end and the shortest gap.
func (way *oneOfTwo) run(t *testing.T) (f figures) {
	w := &leadingWeb{port: freePort(t), seen: map[string][]time.Time{}}
	left, stopped, l := way.start(t, w)
	c := left.c
	var seeds []string
	var all []int
	for i := range leadingSeeds {
		seeds, all = append(seeds, w.url(2*i, 0)), append(all, 2*i, 2*i+1)
	}
	left.seed(seeds...)
	share := w.heldBy(t, left)
	if len(share) < 10 {
		t.Fatalf("%s holds %d hosts whose seeds it holds too: nothing is tested", left.name, len(share)/2)
	}
	way.strike(l, stopped)
	since := time.Now()
	until(t, leadingShare, func() string {
		if page, count := w.missing(share); count > 0 {
			s, err := left.status()
			return fmt.Sprintf("%d pages of %s's own share are missing, the last is %s: %+v, %v", count,
				left.name, page, s, err)
		}
		return ""
	})
	t.Logf("%s fetched its share, %d hosts with %d pages each, in %.1f s", left.name, len(share)/2,
		leadingPages, time.Since(since).Seconds())
	until(t, 10*time.Second, func() string { return w.explained(left, stopped) })
	if way.back != nil {
		way.back(l, stopped)
	}
	since = time.Now()
	c.finished(2 * time.Minute)
	t.Logf("the rest took %.1f s", time.Since(since).Seconds())
	var page string
	if page, f.missing = w.missing(all); f.missing > 0 {
		t.Errorf("%d pages are missing in the end, the last is %s", f.missing, page)
	}
	// the server's own delay varies
	if f.gap = w.shortestGap(all); f.gap < leadingDelay-5*time.Millisecond {
		t.Errorf("a host was asked %v after the last time, %v are promised", f.gap, leadingDelay)
	}
	c.stop()
	return f
}

// start brings two nodes up, with a copy of every partition on each.
func (way *oneOfTwo) start(t *testing.T, w *leadingWeb) (left, stopped *node, l *lab) {
	allow := "127.0.0.0/8"
	var names string
	if way.lab {
		l = newLab(t)
		allow = "198.18.0.0/15"
		names = serveLab(t, l, w.port, w)
	} else {
		names = serveBig(t, w.port, w)
	}
	c := newCluster(t, append([]string{"--allow-net", allow, "--dns", names, "--delay",
		leadingDelay.String(), "--partitions", "512", "--scope", "host"}, way.flags...)...)
	for range 2 {
		n := c.place()
		if way.lab {
			i := l.add()
			host := l.addr(i)
			n.http, n.gossip, n.rpc = host+":27295", host+":27296", host+":27297"
			n.wrap, n.flags = []string{"ip", "netns", "exec", l.space(i)}, []string{"--insecure"}
		}
		n.start()
		n.ready()
	}
	c.converged(time.Minute)
	left, stopped = c.nodes[0], c.nodes[1]
	until(t, time.Minute, func() string {
		s, err := left.status()
		if err != nil || s.Ring.UnderReplicated != 0 {
			return fmt.Sprintf("%d partitions have too few copies, %v", s.Ring.UnderReplicated, err)
		}
		return ""
	})
	return left, stopped, l
}

// serveLab serves a web on the bridge of a lab, and the name server that leads all names
// there; it returns that one's address.
func serveLab(t *testing.T, l *lab, port int, web http.Handler) (names string) {
	t.Helper()
	at := net.JoinHostPort(l.net+"1", fmt.Sprint(port))
	listener, err := net.Listen("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	packets, err := net.ListenPacket("udp", at)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: web}
	resolver := &dns.Server{
		PacketConn: packets,
		Handler: dns.HandlerFunc(func(rw dns.ResponseWriter, q *dns.Msg) {
			m := new(dns.Msg).SetReply(q)
			if len(q.Question) == 1 && q.Question[0].Qtype == dns.TypeA {
				m.Answer = []dns.RR{&dns.A{Hdr: dns.RR_Header{
					Name:   q.Question[0].Name,
					Rrtype: dns.TypeA,
					Class:  dns.ClassINET,
					Ttl:    600,
				}, A: net.ParseIP(l.net + "1")}}
			}
			_ = rw.WriteMsg(m) // who gets none asks again
		}),
	}
	ready := make(chan struct{})
	resolver.NotifyStartedFunc = func() { close(ready) }
	var wg sync.WaitGroup
	wg.Go(func() { _ = server.Serve(listener) })      // ends with Close
	wg.Go(func() { _ = resolver.ActivateAndServe() }) // ends with Shutdown
	<-ready
	t.Cleanup(func() {
		_ = server.Close()
		_ = resolver.Shutdown()
		wg.Wait()
	})
	return at
}

// heldBy lists the hosts that a node holds, seeds and what they lead to, where it holds both.
func (w *leadingWeb) heldBy(t *testing.T, n *node) (hosts []int) {
	t.Helper()
	var r ring
	if err := n.decode("/api/v1/ring", &r); err != nil {
		t.Fatal(err)
	}
	var s status
	if err := n.decode("/status", &s); err != nil {
		t.Fatal(err)
	}
	id := ""
	for _, known := range s.Nodes {
		if known.Name == n.name {
			id = known.ID
		}
	}
	holds := func(host int) bool {
		u, err := urlnorm.Parse(w.url(host, 0))
		if err != nil {
			t.Fatal(err)
		}
		return r.Partitions[placement.PartitionOf(crawl.Host(u.Host()), len(r.Partitions))].Holder == id
	}
	for i := range leadingSeeds {
		if holds(2*i) && holds(2*i+1) {
			hosts = append(hosts, 2*i, 2*i+1)
		}
	}
	return hosts
}

// explained returns what the status of the remaining node does not report about the other one.
func (w *leadingWeb) explained(left, stopped *node) string {
	s, err := left.status()
	if err != nil {
		return err.Error()
	}
	for _, r := range s.Cluster.Health.Reasons {
		if strings.Contains(r.Message, stopped.name) {
			return ""
		}
	}
	return fmt.Sprintf("no reason of %s names %s: %+v", left.name, stopped.name, s.Cluster.Health)
}
