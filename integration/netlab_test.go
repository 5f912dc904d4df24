package integration

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// lab is a small network: a bridge on which the web listens, and a network
// namespace for each node, joined to the bridge by a pair of virtual interfaces.
// What passes between two nodes is dropped by iptables in the receiver's
// namespace; the web and the test reach every node always.
type lab struct {
	t      *testing.T
	prefix string // of the names of interfaces and namespaces: labName, the process id, and a letter
	net    string // the first three numbers of all addresses
	nodes  int    // namespaces made so far
}

const (
	labName = "cnl"
	// The web is at .1 and node i (from 0 on) at .(labFirst+i).
	labFirst = 10
)

// newLab makes the bridge. It needs root, ip and iptables.
func newLab(t *testing.T) *lab {
	t.Helper()
	needsRoot(t)
	needsPrograms(t, "ip", "iptables")
	sweepLabs(t)
	place := takeLabPlace(t)
	l := &lab{
		t:      t,
		prefix: fmt.Sprintf("%s%d%c", labName, os.Getpid(), place.letter),
		net:    fmt.Sprintf("198.%d.%d.", 18+place.net/250, place.net%250),
	}
	bridge := l.prefix + "b"
	t.Cleanup(func() {
		removeLab(t, l.prefix)
		freeLabPlace(place)
	})
	l.run("ip", "link", "add", bridge, "type", "bridge")
	l.run("ip", "addr", "add", l.net+"1/24", "dev", bridge)
	l.run("ip", "link", "set", bridge, "up")
	return l
}

// labPlace is what a lab needs for itself: a letter that no other lab of this test
// binary has, and a network of 500 in 198.18.0.0/15 that no other binary has.
type labPlace struct {
	letter byte
	net    int
}

// labPlaces are those that this test binary has claimed.
var labPlaces struct {
	sync.Mutex
	claimed int
	unused  []labPlace
}

// maxLabs bounds the labs at one time: a letter each, of those that name no part of a lab.
const maxLabs = 10

func takeLabPlace(t *testing.T) (p labPlace) {
	t.Helper()
	labPlaces.Lock()
	defer labPlaces.Unlock()
	if n := len(labPlaces.unused); n > 0 {
		p, labPlaces.unused = labPlaces.unused[n-1], labPlaces.unused[:n-1]
		return p
	}
	if labPlaces.claimed == maxLabs {
		t.Fatalf("BUG: more than %d labs at one time", maxLabs)
	}
	p = labPlace{
		letter: 'c' + byte(labPlaces.claimed),
		net:    claimOne(t, "networks", (os.Getpid()+50*labPlaces.claimed)%500, 500),
	}
	labPlaces.claimed++
	return p
}

func freeLabPlace(p labPlace) {
	labPlaces.Lock()
	defer labPlaces.Unlock()
	labPlaces.unused = append(labPlaces.unused, p)
}

// run runs a tool, which must work.
func (l *lab) run(argv ...string) {
	l.t.Helper()
	if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
		l.t.Fatalf("%s: %v\n%s", strings.Join(argv, " "), err, out)
	}
}

func (l *lab) space(i int) string { return fmt.Sprint(l.prefix, "n", i) }

func (l *lab) addr(i int) string { return fmt.Sprint(l.net, labFirst+i) }

// add makes one more namespace and returns its number.
func (l *lab) add() int {
	l.t.Helper()
	i := l.nodes
	l.nodes++
	space, link := l.space(i), fmt.Sprint(l.prefix, "v", i)
	l.run("ip", "netns", "add", space)
	l.run("ip", "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", space)
	l.run("ip", "link", "set", link, "master", l.prefix+"b", "up")
	l.run("ip", "-n", space, "addr", "add", l.addr(i)+"/24", "dev", "eth0")
	l.run("ip", "-n", space, "link", "set", "eth0", "up")
	l.run("ip", "-n", space, "link", "set", "lo", "up")
	return i
}

// deafen makes one node drop what another sends to it. match narrows it down.
func (l *lab) deafen(to, from int, match ...string) {
	l.t.Helper()
	l.run(append(append([]string{"ip", "netns", "exec", l.space(to), "iptables", "-w", "-A", "INPUT",
		"-s", l.addr(from)}, match...), "-j", "DROP")...)
}

// cut drops everything between two sides, both ways.
func (l *lab) cut(a, b []int) {
	l.t.Helper()
	for _, i := range a {
		for _, j := range b {
			l.deafen(i, j)
			l.deafen(j, i)
		}
	}
}

// heal lets everything pass again.
func (l *lab) heal() {
	l.t.Helper()
	for i := range l.nodes {
		l.run("ip", "netns", "exec", l.space(i), "iptables", "-w", "-F", "INPUT")
	}
}

// labParts finds what belongs to labs in the output of ip.
var labParts = regexp.MustCompile(`\b` + labName + `(\d+)[a-z]?[bvn]\d*\b`)

// sweepLabs removes what test processes that were killed have left behind.
func sweepLabs(t *testing.T) {
	t.Helper()
	seen := map[string]bool{}
	for _, list := range [][]string{{"ip", "netns", "list"}, {"ip", "-o", "link", "show"}} {
		out, err := exec.Command(list[0], list[1:]...).Output()
		if err != nil {
			t.Fatalf("%s: %v", strings.Join(list, " "), err)
		}
		for _, part := range labParts.FindAllStringSubmatch(string(out), -1) {
			if _, err := os.Stat("/proc/" + part[1]); err != nil && !seen[part[1]] {
				seen[part[1]] = true
				removeLab(t, labName+part[1]+"[a-z]?")
			}
		}
	}
}

// removeLab removes everything with a prefix, a regular expression; a namespace takes its
// interfaces along.
func removeLab(t *testing.T, prefix string) {
	t.Helper()
	for _, kind := range []struct {
		list, remove []string
		pattern      string
	}{
		{[]string{"ip", "netns", "list"}, []string{"ip", "netns", "del"}, `\b` + prefix + `n\d+\b`},
		{[]string{"ip", "-o", "link", "show"}, []string{"ip", "link", "del"}, `\b` + prefix + `[bv]\d*\b`},
	} {
		out, err := exec.Command(kind.list[0], kind.list[1:]...).Output()
		if err != nil {
			t.Errorf("%s: %v", strings.Join(kind.list, " "), err)
		}
		for _, name := range regexp.MustCompile(kind.pattern).FindAllString(string(out), -1) {
			// Removing one end of a pair removes the other, which may be listed too.
			_ = exec.Command(kind.remove[0], append(kind.remove[1:], name)...).Run()
		}
	}
}
