package integration

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
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
	func(a netip.Addr) string {
		b := a.As4()
		return fmt.Sprintf("%d.%d.%d", b[0], b[1], number(a)&0xffff)
	},
	func(a netip.Addr) string {
		b := a.As4()
		return fmt.Sprintf("0x%x.0%o.%d.0x%x", b[0], b[1], b[2], b[3])
	},
	func(a netip.Addr) string { return "[::ffff:" + a.String() + "]" },
	func(a netip.Addr) string {
		return fmt.Sprintf("[::ffff:%x:%x]", number(a)>>16, number(a)&0xffff)
	},
	func(a netip.Addr) string { return "[64:ff9b::" + a.String() + "]" },
	func(a netip.Addr) string {
		return fmt.Sprintf("[2002:%x:%x::1]", number(a)>>16, number(a)&0xffff)
	},
	func(a netip.Addr) string { return "[::" + a.String() + "]" },
	func(a netip.Addr) string {
		return fmt.Sprintf("[64:ff9b::%x:%x]", number(a)>>16, number(a)&0xffff)
	},
	func(a netip.Addr) string {
		return fmt.Sprintf("[0:0:0:0:0:FFFF:%X:%X]", number(a)>>16, number(a)&0xffff)
	},
	func(a netip.Addr) string {
		b := a.As4()
		return fmt.Sprintf("%%%x%s", '0'+b[0]/100, a.String()[1:])
	},
	func(a netip.Addr) string { return strings.ReplaceAll(a.String(), ".", "\u3002") },
	func(a netip.Addr) string { return "\uff11" + a.String()[1:] }, // 1, full width
	func(a netip.Addr) string { return "someone@" + a.String() },
	func(a netip.Addr) string {
		b := a.As4()
		return fmt.Sprintf("0000%o.0X%X", b[0], number(a)&0xffffff)
	},
}

func number(a netip.Addr) uint32 {
	b := a.As4()
	return uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
}

// fixedForms are places of this machine, of clouds and of private networks.
var fixedForms = []string{"localhost", "LOCALHOST.", "127.0.0.1", "127.1", "0.0.0.0", "0", "[::1]",
	"[::]", "[::ffff:127.0.0.1]", "169.254.169.254", "2852039166", "0xa9fea9fe",
	"[::ffff:169.254.169.254]", "[64:ff9b::a9fe:a9fe]", "[2002:a9fe:a9fe::]", "168.63.129.16",
	"100.100.100.200", "[fd00:ec2::254]", "[fe80::1]", "169.254.0.1",
	"10.1.2.3", "172.16.0.1", "192.168.0.1", "[fd12::1]"}

// pointsAt are addresses that names have: the same places as an answer of DNS.
var pointsAt = []string{"127.99.200.1", "127.0.0.1", "0.0.0.0", "169.254.169.254", "168.63.129.16",
	"100.100.100.200", "169.254.0.1", "10.1.2.3", "172.16.0.1", "192.168.0.1",
	"::ffff:127.99.200.1", "64:ff9b::7f63:c801", "2002:7f63:c801::1", "::127.99.200.1", "::1", "::",
	"::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::", "fd00:ec2::254", "fe80::1",
	"fd12::1"}

// privateNets is what the tests' nodes deny by their own flag; what is denied without a
// flag is not in it.
const privateNets = "127.88.0.0/16,127.99.0.0/16,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,fd12::/16"

// TestLiveSettingsOpenNoDenied: a node's own flags deny networks, and the cluster's settings are
// widened to everything. Seeds, links, redirects, redirects of robots.txt, sitemaps and DNS answers
// lead to the denied networks, in each spelling. The settings are widened with an admin's token
// over a network that is not loopback, which only a node with --allow-remote-unsafe accepts.
//
// The canaries listen at a different address for each pair of a form and a way, so that the failure
// of one host does not stop the node from trying another. They also listen at the node's own
// addresses.
func TestLiveSettingsOpenNoDenied(t *testing.T) {
	needsProcesses(t)
	l := newLab(t)
	l.add()
	w := newHostileWeb(t)
	begin := func(flags ...string) (*cluster, *node) {
		c := newCluster(t, "--dns", w.dns, "--allow-net", hostileNet, "--deny-net", privateNets,
			"--delay", "20ms", "--scope", "any", "--log-level", "debug", "--log-format", "json").keyed()
		n := c.place(flags...)
		_, port, err := net.SplitHostPort(n.http)
		if err != nil {
			t.Fatal(err)
		}
		n.http = net.JoinHostPort(l.net+"1", port)
		n.start()
		n.ready()
		return c, n
	}
	widen := []string{"allow-net=0.0.0.0/0,::/0," + hostileNet, "contact=me@example.org"}
	strict, refusing := begin()
	if code, says := l.setAsAdmin(strict, refusing, widen...); code != 4 ||
		!strings.Contains(says, "--allow-remote-unsafe") {
		t.Fatalf("the node without --allow-remote-unsafe answers the admin's token: exit code %d, %s",
			code, says)
	}
	strict.stop()
	c, n := begin("--allow-remote-unsafe")
	if code, says := l.setAsAdmin(c, n, widen...); code != 0 {
		t.Fatalf("the admin's token widens nothing: exit code %d, %s", code, says)
	}

	var canaries atomic.Int64
	seeds, wanted := w.leadEverywhere(&canaries)
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
		for _, u := range seeds { // each way was gone to its end
			if _, ok := visits[u]; !ok && !slices.Contains(wanted, u) {
				return u + " was not visited yet"
			}
		}
		if blocked < len(innerForms)*4 {
			return fmt.Sprintf("%d visits were blocked yet", blocked)
		}
		return ""
	})
	if got := canaries.Load() + w.canary.Load(); got != 0 {
		t.Errorf("%d connections at the canaries", got)
	}
	t.Logf("%d forms by %d ways, %d DNS answers: %d URLs, %d visits blocked, 0 connections",
		len(innerForms)+len(fixedForms), len(leads), len(pointsAt), len(seeds), blocked)
}

// leads are the ways of lead.
var leads = []string{"seed", "link", "redirect", "robots", "sitemap"}

// leadEverywhere makes each form's way by each of the leads, and names for pointsAt.
func (w *hostileWeb) leadEverywhere(canaries *atomic.Int64) (seeds, wanted []string) {
	count := func(conn net.Conn) { canaries.Add(1); _ = conn.Close() }
	w.listen("127.99.200.1", count)
	for i, form := range innerForms {
		for j, way := range leads {
			at := netip.AddrFrom4([4]byte{127, 99, byte(j), byte(i + 1)})
			w.listen(at.String(), count)
			seeds, wanted = w.lead(seeds, wanted, way, fmt.Sprint("f", i), form(at))
		}
	}
	for i, host := range fixedForms {
		for _, way := range leads {
			seeds, wanted = w.lead(seeds, wanted, way, fmt.Sprint("x", i), host)
		}
	}
	names := []string{"inside", "six", "mapped"}
	w.mu.Lock()
	for i, at := range pointsAt {
		name := fmt.Sprint("points", i)
		w.points[name] = at
		names = append(names, name)
	}
	w.mu.Unlock()
	for _, name := range names {
		seeds, wanted = append(seeds, w.url(name, "/")), append(wanted, w.url(name, "/"))
	}
	return seeds, wanted
}

// setAsAdmin changes settings from a network of its own, with a token of the role admin.
func (l *lab) setAsAdmin(c *cluster, n *node, changes ...string) (code int, says string) {
	l.t.Helper()
	code, token, stderr := run(l.t, "", "keygen", "--role", "admin", c.key.file)
	file := filepath.Join(l.t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(token), 0o600); code != 0 || err != nil {
		l.t.Fatal(stderr, err)
	}
	args := append([]string{"netns", "exec", l.space(0), binary(l.t), "crawl-config", "set", "--addr",
		n.http, "--token-file", file}, changes...)
	cmd := exec.Command("ip", args...)
	out, err := cmd.CombinedOutput()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		l.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// lead adds what leads to a host in one way. wanted are URLs that the node tries at once.
func (w *hostileWeb) lead(
	seeds, wanted []string,
	way, name, host string,
) (moreSeeds, moreWanted []string) {
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
