package integration

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"

	"crawlnode/crawl"
)

// sharesNet has the addresses of the good and the dripping hosts of these tests.
const sharesNet = "127.76.0.0/14"

// siege is a web of good hosts, each with a registered domain of its own, beside the
// hosts of hostile domains: some have names that do not resolve, some answer a few
// bytes at a time from addresses of their own.
type siege struct {
	t     *testing.T
	port  int
	names string        // the name server's address
	over  chan struct{} // closed when the test ends

	mu    sync.Mutex
	asked map[string]int // requests but those for robots.txt, by host
	links map[string]string
	first map[string]time.Time

	hostile int   // links to hostile hosts
	memory  int64 // RssAnon of the node from the beginning of the attack, at most; the test's own
}

func newSiege(t *testing.T) *siege {
	t.Helper()
	s := &siege{
		t:     t,
		port:  freePort(t),
		over:  make(chan struct{}),
		asked: map[string]int{},
		links: map[string]string{},
		first: map[string]time.Time{},
	}
	s.listen("127.77.0.1", http.HandlerFunc(s.page))
	s.names = fmt.Sprint("127.0.0.1:", freePort(t))
	srv := &dns.Server{Addr: s.names, Net: "udp", Handler: dns.HandlerFunc(s.answer)}
	up := make(chan struct{})
	srv.NotifyStartedFunc = func() { close(up) }
	failed := make(chan error, 1)
	go func() { failed <- srv.ListenAndServe() }()
	select {
	case <-up:
		t.Cleanup(func() { _ = srv.Shutdown() }) // the process ends with it
	case err := <-failed:
		t.Fatal(err)
	}
	t.Cleanup(func() { close(s.over) })
	return s
}

func (s *siege) listen(ip string, h http.Handler) {
	s.t.Helper()
	ln, err := net.Listen("tcp", net.JoinHostPort(ip, fmt.Sprint(s.port)))
	if err != nil {
		s.t.Fatal(err)
	}
	srv := &http.Server{Handler: h}
	s.t.Cleanup(func() { _ = srv.Close() }) // nobody waits for its connections
	go func() { _ = srv.Serve(ln) }()       // until it is closed
}

// dripAddr is the address of the i-th dripping host.
func dripAddr(i int) string { return fmt.Sprintf("127.78.%d.%d", i/250, 1+i%250) }

// answer resolves NAME.DOMAIN.test by the first letters of the domain: names below
// "fail..." get SERVFAIL after 1.8 s, below "mute..." nothing, "drip..." an address of
// their own each, "heavy..." the server of heavy pages, and all others the good server.
func (s *siege) answer(rw dns.ResponseWriter, q *dns.Msg) {
	m := new(dns.Msg)
	m.SetReply(q)
	name := strings.TrimSuffix(strings.TrimSuffix(q.Question[0].Name, "."), ".test")
	host, domain, sub := strings.Cut(name, ".")
	ip := "127.77.0.1"
	switch {
	case sub && strings.HasPrefix(domain, "fail"):
		time.Sleep(1800 * time.Millisecond)
		m.Rcode = dns.RcodeServerFailure
	case sub && strings.HasPrefix(domain, "mute"):
		return
	case sub && strings.HasPrefix(domain, "heavy"):
		ip = heavyAddr
	case sub && strings.HasPrefix(domain, "drip"):
		var i int
		if _, err := fmt.Sscanf(host, "n%d", &i); err != nil {
			return
		}
		ip = dripAddr(i)
	}
	if m.Rcode == dns.RcodeSuccess && q.Question[0].Qtype == dns.TypeA {
		m.Answer = append(m.Answer, &dns.A{
			Hdr: dns.RR_Header{Name: q.Question[0].Name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: 1},
			A:   net.ParseIP(ip),
		})
	}
	_ = rw.WriteMsg(m) // who asked may have gone
}

// page is a good host's: a tree of pages without end, or the links set for it.
func (s *siege) page(rw http.ResponseWriter, r *http.Request) {
	host, _, _ := strings.Cut(r.Host, ":")
	if r.URL.Path == "/robots.txt" {
		http.NotFound(rw, r)
		return
	}
	s.mu.Lock()
	s.asked[host]++
	if _, known := s.first[host]; !known {
		s.first[host] = time.Now()
	}
	body, set := s.links[host]
	s.mu.Unlock()
	if !set {
		for i := range 3 {
			body += fmt.Sprintf("<a href=%sx%d>", strings.TrimSuffix(r.URL.Path, "/")+"/", i)
		}
		if len(r.URL.Path) > 40 {
			body = ""
		}
	}
	rw.Header().Set("Content-Type", "text/html")
	// the crawler may have gone
	_, _ = fmt.Fprintf(rw, "<title>%s%s</title>%s", host, r.URL.Path, body)
}

// drip answers 40 bytes each 100 ms, without end.
func (s *siege) drip(rw http.ResponseWriter, _ *http.Request) {
	rw.Header().Set("Content-Type", "text/html")
	for {
		if _, err := fmt.Fprintf(rw, "%40s", "x"); err != nil {
			return
		}
		rw.(http.Flusher).Flush()
		select {
		case <-s.over:
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// url is the first page of a host.
func (s *siege) url(host string) string { return fmt.Sprintf("http://%s.test:%d/", host, s.port) }

// hub makes a good host whose page links to n hosts of some domains, and returns its URL.
func (s *siege) hub(name string, n int, domains ...string) string {
	var links strings.Builder
	for i := range n {
		fmt.Fprintf(&links, "<a href=http://n%d.%s.test:%d/>x</a>\n", i, domains[i%len(domains)], s.port)
	}
	s.mu.Lock()
	s.links[name+".test"], s.hostile = links.String(), n
	s.mu.Unlock()
	return s.url(name)
}

// requests counts those of the hosts good0 to good4.
func (s *siege) requests() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range siegeHosts {
		n += s.asked[fmt.Sprintf("good%d.test", i)]
	}
	return n
}

// rate is the requests of the good hosts in a second, over some time.
func (s *siege) rate(over time.Duration) float64 {
	from, begun := s.requests(), time.Now()
	time.Sleep(over) // the measure is a count over time
	return float64(s.requests()-from) / time.Since(begun).Seconds()
}

const (
	siegeHosts = 5
	// siegeMemory bounds a node's anonymous memory: the default of --memory.
	siegeMemory = 1 << 30
)

// besiege measures the established hosts before and during an attack, which begins with
// the hub's page, and how soon newHosts good hosts that are added meanwhile are asked.
func (s *siege) besiege(hub, named string, newHosts int) (before, during float64) {
	s.t.Helper()
	c := newCluster(s.t, "--dns", s.names, "--allow-net", sharesNet, "--delay", "500ms", "--scope",
		"any")
	c.addReady(1)
	n := c.nodes[0]
	var good []string
	for i := range siegeHosts {
		good = append(good, s.url(fmt.Sprint("good", i)))
	}
	n.seed(good...)
	until(s.t, 30*time.Second, func() string {
		if got := s.requests(); got < 4*siegeHosts {
			return fmt.Sprintf("the good hosts have had %d requests", got)
		}
		return ""
	})
	before = s.rate(8 * time.Second)
	weigh := func() { s.memory = max(s.memory, rssAnon(n.cmd.Process.Pid)) }
	n.seed(hub)
	begun := time.Now()
	if named != "" {
		until(s.t, 20*time.Second, func() string {
			st, err := n.status()
			for _, r := range st.Cluster.Health.Reasons {
				if strings.Contains(r.Message, named) {
					s.t.Logf("after %v health says: %s: %s", time.Since(begun).Round(100*time.Millisecond), r.Code,
						r.Message)
					return ""
				}
			}
			return fmt.Sprintf("health does not name %s: %+v, %v", named, st.Cluster.Health, err)
		})
		if took := time.Since(begun); took > 10*time.Second && *hostileRuns > 0 {
			s.t.Errorf("health names %s after %v, at most 10 s are promised", named, took)
		}
	} else {
		time.Sleep(5 * time.Second) // for the attack to take hold, before anything names it
	}
	weigh()
	var fresh []string
	for i := range newHosts {
		fresh = append(fresh, s.url(fmt.Sprint("new", i)))
	}
	added := time.Now()
	if newHosts > 0 {
		n.seed(fresh...)
	}
	during = s.rate(15 * time.Second)
	weigh()
	s.t.Logf("%.1f requests a second of the established hosts before, %.1f during: %.0f %%", before,
		during, 100*during/before)
	if newHosts > 0 {
		s.awaitNew(newHosts, added)
	}
	weigh()
	if named != "" {
		s.exclude(n, named)
		weigh()
	}
	return before, during
}

// exclude leaves the hostile domain out, as health says, and waits until its URLs are
// refused.
func (s *siege) exclude(n *node, domain string) {
	s.t.Helper()
	n.set("exclude=host:*." + domain)
	begun := time.Now()
	until(s.t, time.Minute, func() string {
		var st crawl.Status
		if err := n.decode("/status", &st); err != nil {
			return err.Error()
		}
		for _, r := range st.Cluster.Health.Reasons {
			if strings.Contains(r.Message, domain) {
				return "health still says " + r.Message
			}
		}
		// others were tried
		if refused := int(st.Fetch.SkippedByReason.OutOfScope); refused < s.hostile*95/100 {
			return fmt.Sprintf("%d of %d URLs were refused", refused, s.hostile)
		}
		return ""
	})
	took := time.Since(begun)
	s.t.Logf("%v after %s was excluded its URLs are refused", took.Round(100*time.Millisecond), domain)
	appendHostile(s.t, "F38 F39", "URLs of "+domain+" are refused after it was excluded, within",
		took.Round(100*time.Millisecond).String())
	if took > 15*time.Second && *hostileRuns > 0 {
		s.t.Errorf("%s held something up for %v after it was excluded", domain, took)
	}
}

// awaitNew waits for the hosts that were added during the attack.
func (s *siege) awaitNew(hosts int, added time.Time) {
	s.t.Helper()
	until(s.t, time.Minute, func() string {
		s.mu.Lock()
		defer s.mu.Unlock()
		missing := 0
		for i := range hosts {
			if s.asked[fmt.Sprintf("new%d.test", i)] == 0 {
				missing++
			}
		}
		if missing > 0 {
			return fmt.Sprintf("%d of %d new hosts were not asked", missing, hosts)
		}
		return ""
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	var last time.Duration
	for i := range hosts {
		last = max(last, s.first[fmt.Sprintf("new%d.test", i)].Sub(added))
	}
	s.t.Logf("%d new good hosts were asked within %v", hosts, last.Round(100*time.Millisecond))
	if last > 30*time.Second && *hostileRuns > 0 {
		s.t.Errorf("the last of %d new hosts was asked after %v, at most 30 s are promised", hosts, last)
	}
}

// besieged marks a test of an attack, which runs beside others; with -hostile it is judged, and
// nothing runs beside it.
func besieged(t *testing.T) {
	t.Helper()
	needsProcesses(t)
	beside(t, *hostileRuns)
}

// longBesieged marks a test of an attack that takes minutes.
func longBesieged(t *testing.T) {
	t.Helper()
	needsProcesses(t)
	onRequest(t, *hostileRuns != 0, "takes minutes: run it with -hostile 1, as make nightly does")
}

// TestSharesNames is F38: a page links to 20,000 names of one domain whose server answers
// SERVFAIL after 1.8 s, or never.
func TestSharesNames(t *testing.T) {
	needsProcesses(t)
	beside(t, *hostileRuns)
	kinds := []string{"fail"}
	if *hostileRuns > 0 {
		kinds = append(kinds, "mute")
	}
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			besieged(t)
			s := newSiege(t)
			domain := kind + "ing"
			before, during := s.besiege(s.hub("hub", 20_000, domain), domain+".test", 600)
			s.judge("F38", fmt.Sprintf("20,000 names of one domain, %s",
				map[string]string{"fail": "SERVFAIL after 1.8 s", "mute": "no answer"}[kind]), before, during,
				0.8)
		})
	}
}

// TestSharesDrip is F39: 3,000 names of one domain on 3,000 addresses, 400 bytes a second.
func TestSharesDrip(t *testing.T) {
	besieged(t)
	s := newSiege(t)
	const hosts = 3000
	for i := range hosts {
		s.listen(dripAddr(i), http.HandlerFunc(s.drip))
	}
	before, during := s.besiege(s.hub("hub", hosts, "dripping"), "dripping.test", 600)
	s.judge("F39", "3,000 names on 3,000 addresses that drip 400 bytes a second", before, during, 0.8)
}

// TestSharesManyDomains: a hundred hostile domains at once, half with names that fail and
// half that drip, whose pages link on to more of them, five deep.
func TestSharesManyDomains(t *testing.T) {
	longBesieged(t)
	s := newSiege(t)
	const hosts = 3000
	for i := range hosts {
		s.listen(dripAddr(i), http.HandlerFunc(s.drip))
	}
	var domains []string
	for i := range 50 {
		domains = append(domains, fmt.Sprint("failing", i), fmt.Sprint("dripping", i))
	}
	hub := s.hub("hub", hosts, domains...)
	s.mu.Lock()
	for i := range 4 { // the attackers' links stand at depth 5, and at each above
		s.links[fmt.Sprintf("hub%d.test",
			i)] = fmt.Sprintf("<a href=%s>x</a>", s.url(fmt.Sprint("hub", i+1))) + s.links["hub.test"]
	}
	s.links["hub4.test"] = s.links["hub.test"]
	s.links["hub.test"] += fmt.Sprintf("<a href=%s>x</a>", s.url("hub0"))
	s.mu.Unlock()
	before, during := s.besiege(hub, "", 100)
	s.judge("F38 F39", "100 hostile domains at once, linked to from depth 1 to 5", before, during, 0.6)
}

// judge compares the rates and keeps the figures of long runs.
func (s *siege) judge(row, what string, before, during, least float64) {
	s.t.Helper()
	appendHostile(s.t, row, "rate of five established hosts: "+what,
		fmt.Sprintf("%.1f a second before, %.1f during, %.0f %%", before, during, 100*during/before))
	appendHostile(s.t, row, "anonymous memory of the node, of 1,024 MiB: "+what,
		fmt.Sprintf("%d MiB", s.memory>>20))
	if s.memory > siegeMemory && !raceDetector {
		s.t.Errorf("the node took %d MiB of anonymous memory, want %d at the most", s.memory>>20,
			int64(siegeMemory)>>20)
	}
	if *hostileRuns == 0 {
		least /= 4 // a loaded machine says no more; without shares it is 0
	}
	if during < least*before && !raceDetector {
		s.t.Errorf("the established hosts keep %.0f %% of their rate, want %.0f %%", 100*during/before,
			100*least)
	}
}
