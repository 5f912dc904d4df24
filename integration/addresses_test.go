package integration

import (
	"fmt"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"
)

// innerForms are ways of writing an IPv4 address as a host.
var innerForms = []func(netip.Addr) string{
	netip.Addr.String,
	func(a netip.Addr) string { return a.String() + "." },
	func(a netip.Addr) string { return fmt.Sprint(number(a)) },
	func(a netip.Addr) string { return fmt.Sprintf("0x%x", number(a)) },
	func(a netip.Addr) string { return fmt.Sprintf("0%o", number(a)) },
	func(a netip.Addr) string { b := a.As4(); return fmt.Sprintf("%d.%d", b[0], number(a)&0xffffff) },
	func(a netip.Addr) string { b := a.As4(); return fmt.Sprintf("%d.%d.%d", b[0], b[1], number(a)&0xffff) },
	func(a netip.Addr) string {
		b := a.As4()
		return fmt.Sprintf("0x%x.0%o.%d.0x%x", b[0], b[1], b[2], b[3])
	},
	func(a netip.Addr) string { return "[::ffff:" + a.String() + "]" },
	func(a netip.Addr) string { return fmt.Sprintf("[::ffff:%x:%x]", number(a)>>16, number(a)&0xffff) },
	func(a netip.Addr) string { return "[64:ff9b::" + a.String() + "]" },
	func(a netip.Addr) string { return fmt.Sprintf("[2002:%x:%x::1]", number(a)>>16, number(a)&0xffff) },
	func(a netip.Addr) string { return "[::" + a.String() + "]" },
}

func number(a netip.Addr) uint32 {
	b := a.As4()
	return uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
}

// fixedForms are places of this machine and of clouds that are not of innerForms.
var fixedForms = []string{"localhost", "127.0.0.1", "127.1", "0.0.0.0", "0", "[::1]", "[::]", "[::ffff:127.0.0.1]", "169.254.169.254", "2852039166", "0xa9fea9fe",
	"[::ffff:169.254.169.254]", "[64:ff9b::a9fe:a9fe]", "168.63.129.16", "100.100.100.200", "[fd00:ec2::254]", "[fe80::1]", "169.254.0.1"}

// TestLiveSettingsOpenNoDenied has a node whose own flags deny a network, while the cluster's
// settings were widened to everything, led there in each spelling: by seeds, links,
// redirects, robots.txt that redirects, sitemaps and DNS answers. The canaries listen at
// another address for each pair of a form and a way, so that no host's failure keeps
// another one from being tried; also at the node's own addresses.
func TestLiveSettingsOpenNoDenied(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	w := newHostileWeb(t)
	c := newCluster(t, "--dns", w.dns, "--allow-net", hostileNet, "--deny-net", "127.88.0.0/16,127.99.0.0/16", "--delay", "20ms", "--scope", "any", "--log-level", "debug", "--log-format", "json")
	c.addReady(1)
	n := c.nodes[0]
	n.set("allow-net=0.0.0.0/0,::/0,"+hostileNet, "contact=me@example.org")

	var canaries atomic.Int64
	ways := []string{"seed", "link", "redirect", "robots", "sitemap"}
	var seeds, wanted []string
	for i, form := range innerForms {
		for j, way := range ways {
			at := netip.AddrFrom4([4]byte{127, 99, byte(j), byte(i + 1)})
			w.listen(at.String(), func(conn net.Conn) { canaries.Add(1); _ = conn.Close() })
			seeds, wanted = w.lead(seeds, wanted, way, fmt.Sprint("f", i), form(at))
		}
	}
	for i, host := range fixedForms {
		seeds, wanted = w.lead(seeds, wanted, ways[i%len(ways)], fmt.Sprint("x", i), host)
	}
	for _, name := range []string{"inside", "six", "mapped"} { // DNS answers
		seeds, wanted = append(seeds, w.url(name, "/")), append(wanted, w.url(name, "/"))
	}
	n.seed(seeds...)
	var blocked int
	until(t, 60*time.Second, func() string {
		visits := n.visits()
		blocked = 0
		for _, v := range visits {
			if v.Category == "blocked_address" {
				blocked++
			}
		}
		for _, u := range wanted {
			if v, ok := visits[u]; ok && v.Category != "blocked_address" {
				return fmt.Sprintf("%s ended as %+v", u, v)
			}
		}
		if blocked < len(innerForms)*2 {
			return fmt.Sprintf("%d visits were blocked yet", blocked)
		}
		return ""
	})
	if got := canaries.Load() + w.canary.Load(); got != 0 {
		t.Errorf("%d connections at the canaries", got)
	}
	t.Logf("%d forms, %d ways: %d URLs, %d visits blocked, 0 connections", len(innerForms)+len(fixedForms), len(ways)+2, len(seeds), blocked)
}

// lead adds what leads to a host in one way. wanted are URLs that the node tries at once.
func (w *hostileWeb) lead(seeds, wanted []string, way, name, host string) (moreSeeds, moreWanted []string) {
	target := fmt.Sprintf("http://%s:%d/%s", host, w.port, name)
	from := way + name
	w.mu.Lock()
	switch way {
	case "seed":
		w.mu.Unlock()
		return append(seeds, target), append(wanted, target)
	case "link":
		w.talks[from] = says("200 OK", "Content-Type: text/html", `<a href="`+target+`">x</a>`)
	case "redirect":
		w.talks[from] = w.to(target)
	case "robots":
		w.talks[from+"/robots.txt"] = w.to(target)
	case "sitemap":
		w.talks[from+"/robots.txt"] = says("200 OK", "", "Sitemap: "+target+"\n")
	}
	w.mu.Unlock()
	return append(seeds, w.url(from, "/")), wanted
}
