package integration

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// foundedWithin is how long the first start of a cluster may take once the name of its
// first node has an address.
const foundedWithin = 15 * time.Second

// TestNameResolvesLate starts two nodes while the first name of --join, which is the first node's,
// has no address; the list also has two wrong ports. Both nodes become members in time, and each
// wrong address is reported once and shown until a node answers there.
func TestNameResolvesLate(t *testing.T) {
	needsProcesses(t)
	needsRoot(t)
	t.Parallel()
	c := newCluster(t, "--allow-net", "127.0.0.0/8")
	hosts := filepath.Join(c.dir, "hosts")
	if err := os.WriteFile(hosts, []byte("127.0.0.1 localhost\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	n1, n2 := c.place(), c.place()
	_, port, err := net.SplitHostPort(n1.gossip)
	if err != nil {
		t.Fatal(err)
	}
	late := fmt.Sprint("127.0.0.1:", freePort(t))
	join := strings.Join([]string{"first.test:" + port, n2.gossip, n1.http, late}, ",")
	for _, n := range c.nodes {
		// A mount over /etc/hosts in a namespace of its own; the name servers of the machine are
		// not queried.
		n.wrap = []string{"unshare", "-m", "sh", "-c",
			`mount --bind "$0" /etc/hosts && exec env GODEBUG=netdns=go "$@"`, hosts}
		n.flags = []string{"--join", join}
	}
	n1.start()
	time.Sleep(2500 * time.Millisecond) // the delay of the name, not a wait for something
	if code, _, err := n1.get("/readyz"); err == nil && code == 200 {
		t.Error("n1 is a member before its name has an address")
	}
	if err := os.WriteFile(hosts, []byte("127.0.0.1 localhost first.test\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	resolved := time.Now()
	n2.start()
	n1.ready()
	took := time.Since(resolved)
	t.Logf("founded %v after the name had an address", took.Round(100*time.Millisecond))
	if took > foundedWithin && *faultRuns > 0 {
		t.Errorf("more than %v", foundedWithin)
	}
	n2.ready()
	shows := func(wrong, silent bool) func() string {
		return func() string {
			for _, n := range c.nodes {
				s, err := n.status()
				if err != nil || s.explains("join_address_wrong") != wrong ||
					s.explains("join_address_silent") != silent {
					return fmt.Sprintf("%s: health %+v, %v; want wrong %v, silent %v", n.name, s.Cluster.Health,
						err, wrong, silent)
				}
			}
			return ""
		}
	}
	until(t, 30*time.Second, shows(true, true))
	n3 := c.place() // where nobody was
	n3.gossip = late
	n3.start()
	n3.ready()
	until(t, 30*time.Second, shows(true, false))
	for _, n := range []*node{n1, n2} {
		text, err := os.ReadFile(n.log)
		if err != nil {
			t.Fatal(err)
		}
		for _, addr := range []string{n1.http, late} {
			// n2 may have had less than the ten seconds
			if told := strings.Count(string(text), "addr="+addr) +
				strings.Count(string(text), `"addr":"`+addr); told > 1 || told == 0 && n == n1 {
				t.Errorf("%s has %d lines about %s, want one:\n%s", n.name, told, addr, tail(n.log, 20))
			}
		}
	}
	c.stop()
}
