package integration

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// duplicateWithin is how long a second process with a node's name or identity may run.
const duplicateWithin = 10 * time.Second

// sameName starts, during the crawl, a new node with a name that is taken, and a copy of a running
// node's data at another address. Both must end, and no view may follow. Then that node is killed
// and its data move to another address: there it becomes a member again, with its old identity.
func sameName(f *trial) {
	f.crawlTo(0.05, 0.15)
	n := f.pick()
	before := f.members(n)

	fresh := f.namesake(n)
	fresh.start()
	f.refused(fresh, 4, "name is taken")

	double := f.namesake(n)
	f.copyData(n, double)
	double.start()
	f.refused(double, 4, n.rpc)
	if after := f.members(n); !slices.Equal(before, after) {
		f.Errorf("the members are %v, they were %v", after, before)
	}
	for _, other := range f.c.living() {
		if lines := f.linesOf(other, "its id is in use"); other != n && lines > 0 {
			f.Errorf("%s has %d lines in its log about an id that is in use twice: "+
				"the copy has gossiped before it asked", other.name, lines)
		}
	}

	f.kill(n)
	moved := f.namesake(n)
	if err := os.Rename(n.dir, moved.dir); err != nil {
		f.Fatal(err)
	}
	f.restart(moved)
	f.c.converged(30 * time.Second)
	if after := f.members(moved); !slices.Equal(before, after) {
		f.Errorf("after the move the members are %v, they were %v", after, before)
	}
}

// namesake makes a place with the name of another node, at an address and a door of
// its own.
func (f *trial) namesake(n *node) *node {
	f.Helper()
	door := f.srv.Doors[len(f.c.nodes)%len(f.srv.Doors)].String()
	flags := []string{"--name", n.name, "--dns", door}
	for _, other := range f.c.living() {
		flags = append(flags, "--join", other.gossip)
	}
	return f.c.place(flags...)
}

// copyData copies the data of a running node, as it is at one moment.
func (f *trial) copyData(from, to *node) {
	f.Helper()
	from.signal(syscall.SIGSTOP)
	out, err := exec.Command("cp", "-r", "--sparse=always", from.dir, to.dir).CombinedOutput()
	from.signal(syscall.SIGCONT)
	if err != nil {
		f.Fatalf("copying %s: %v\n%s", from.dir, err, out)
	}
}

// refused waits for the end of a process that may not stay; it must give an exit code and a reason.
func (f *trial) refused(n *node, code int, word string) {
	f.Helper()
	started := time.Now()
	if got := n.exit(f.T, duplicateWithin); got != code || !strings.Contains(tail(n.log, 5), word) {
		f.Errorf("exit code %d, want %d and a message that names %q:\n%s", got, code, word,
			tail(n.log, 20))
	}
	f.Logf("%s ended after %v", n.name, time.Since(started).Round(10*time.Millisecond))
	for _, r := range f.trail.requests() {
		if r.Door == f.door(n) {
			f.Errorf("%s, which may not stay, asked for %s", n.name, r.URL)
			break
		}
	}
}

// members lists the ids that hold partitions, as a node sees them.
func (f *trial) members(n *node) []string {
	f.Helper()
	var r ring
	if err := n.decode("/api/v1/ring", &r); err != nil {
		f.Fatal(err)
	}
	ids := map[string]bool{}
	for _, p := range r.Partitions {
		ids[p.Owner] = true
	}
	return slices.Sorted(maps.Keys(ids))
}

// linesOf counts the lines of a node's log that contain a text.
func (f *trial) linesOf(n *node, word string) int {
	f.Helper()
	text, err := os.ReadFile(n.log)
	if err != nil {
		f.Fatal(fmt.Errorf("%s: %w", filepath.Base(n.log), err))
	}
	return strings.Count(string(text), word)
}
