package integration

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The disk of one node is full or frozen while another is lost (F33).
const (
	// troubledDisk is large enough for a node's store, and to fetch on it.
	troubledDisk = 512 << 20
	// servedElsewhere is how long the others may take for what the lost node held.
	servedElsewhere = 20 * time.Second
	// troubledDrain is the drain time-out of these nodes, and drainSlack what a stop may
	// take beyond it.
	troubledDrain, drainSlack = 8 * time.Second, 2 * time.Second
)

// findsOut is how long a node may go on when its disk does not answer: it says so when a write
// has waited for 3 s, and looks four times a second.
const findsOut = 3500 * time.Millisecond

var briefDrain = []string{"--drain-timeout", troubledDrain.String()}

// loopDisk mounts an ext4 file system of its own in a file, for the time of the test.
func loopDisk(t *testing.T, path, image string, bytes int64) {
	t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(image, bytes); err != nil {
		t.Fatal(err)
	}
	system(t, "mkfs.ext4", "-q", "-F", "-m", "0", "-E", "lazy_itable_init=0,lazy_journal_init=0", "-e",
		"remount-ro", image)
	system(t, "mount", "-o", "loop", image, path)
	t.Cleanup(func() { system(t, "umount", path) })
}

// system runs a program of the system that must succeed.
func system(t *testing.T, argv ...string) {
	t.Helper()
	if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", strings.Join(argv, " "), err, out)
	}
}

// own gives a node's data a file system of their own, and returns where that is.
func (f *trial) own(n *node) {
	f.Helper()
	needsRoot(f.T)
	f.disk, f.image = filepath.Join(f.c.dir, "disk"), filepath.Join(f.c.dir, "disk.img")
	if f.weakDisk {
		// What the disk can really store.
		below := filepath.Join(f.c.dir, "below")
		smallDisk(f.T, below, f.ownDisk/2)
		f.image = filepath.Join(below, "disk.img")
	}
	loopDisk(f.T, f.disk, f.image, f.ownDisk)
	n.dir = filepath.Join(f.disk, n.name)
}

// freeze stops all writing to a file system until the answer is called; at the latest
// the end of the test does, since a process that waits for it cannot be killed.
func freeze(t *testing.T, path string) (thaw func()) {
	t.Helper()
	system(t, "fsfreeze", "-f", path)
	frozen := true
	thaw = func() {
		if frozen {
			frozen = false
			system(t, "fsfreeze", "-u", path)
		}
	}
	t.Cleanup(thaw)
	return thaw
}

// give hands seeds to a node, one by one, and returns those that it did not acknowledge as new or
// as known. It may have stored one without answering in time.
func (f *trial) give(n *node, seeds []string) (refused []string) {
	for _, url := range seeds {
		ctx, cancel := context.WithTimeout(f.Context(), 2*time.Second)
		if r, err := n.report(ctx, []string{url}); err != nil || r.Accepted+r.Duplicates != 1 {
			refused = append(refused, url)
		}
		cancel()
	}
	return refused
}

// fullDiskElsewhere: the disk of one of three is full when another is lost. The third
// serves what that one held; the full one says why it fetches nothing, lets its
// partitions go when it is asked to leave, and acknowledges nothing that it cannot store.
func fullDiskElsewhere(f *trial) {
	seeds := f.web.Seeds()
	ill := f.c.nodes[len(f.c.nodes)-1]
	f.c.nodes[0].seed(seeds[:len(seeds)/2]...)
	f.began = time.Now()
	f.crawlTo(0.1, 0.2)
	filled := time.Now()
	ballast, full := fillDisk(f.T, f.disk, 0), time.Now()
	refused := f.give(ill, seeds[len(seeds)/2:len(seeds)/2+3])
	f.lossElsewhere(ill, false)
	left := f.living(ill)
	refused = append(refused, f.give(left, seeds[len(seeds)/2+3:])...)
	f.saysOfDisk(ill, "disk_full", "low_disk")
	f.Logf("%d seeds were not acknowledged", len(refused))
	if hosts, after, _ := f.begunAfter(ill, filled, full); after > hosts && *faultRuns > 0 {
		f.Errorf("%s began %d requests at %d hosts when its disk stored no more, promised: one each",
			ill.name, after, hosts)
	}

	asked := time.Now()
	ill.signal(syscall.SIGTERM)
	code := ill.exit(f.T, troubledDrain+drainSlack+time.Second)
	f.stopped(ill, time.Since(asked), code, 0)
	f.healed(filled, "full disk", ill, refused, func() {
		if err := os.Remove(ballast); err != nil {
			f.Fatal(err)
		}
	})
}

// frozenDiskElsewhere: the disk of one of five does not answer when another is lost.
// The other three exclude both and go on.
func frozenDiskElsewhere(f *trial) {
	seeds := f.web.Seeds()
	ill := f.c.nodes[len(f.c.nodes)-1]
	f.c.nodes[0].seed(seeds[:len(seeds)/2]...)
	f.began = time.Now()
	f.crawlTo(0.1, 0.2)
	frozen := time.Now()
	thaw := freeze(f.T, f.disk)
	f.lossElsewhere(ill, true)
	refused := f.give(f.living(ill), seeds[len(seeds)/2:])
	if _, _, last := f.begunAfter(ill, frozen, frozen); last > findsOut && *faultRuns > 0 {
		f.Errorf("%s began a request %v after its disk was frozen, promised: %v", ill.name, last,
			findsOut)
	}

	asked := time.Now()
	ill.signal(syscall.SIGTERM)
	// The kernel keeps what is left of the process until its disk answers. From outside only the
	// closed ports can be seen.
	until(f.T, troubledDrain+drainSlack+time.Second, func() string {
		for _, addr := range []string{ill.http, ill.rpc} {
			if conn, err := net.DialTimeout("tcp", addr, time.Second); err == nil {
				_ = conn.Close() // it was to be refused
				return ill.name + " still listens at " + addr
			}
		}
		return ""
	})
	took := time.Since(asked)
	thaw()
	code := ill.exit(f.T, 10*time.Second)
	f.stopped(ill, took, code, 3)
	f.healed(frozen, "frozen disk", ill, refused, func() {})
}

// begunAfter counts the hosts that a node was at when its disk failed, and the requests that it
// began when the disk stored nothing more. It returns how late the last one was. These, and one in
// flight for each of the hosts, may be fetched again.
func (f *trial) begunAfter(n *node, ill, dead time.Time) (hosts, after int, last time.Duration) {
	at := map[string]bool{}
	for _, r := range f.trail.requests() {
		switch {
		case r.Door != f.door(n):
		case r.Start.After(dead):
			after++
			last = r.Start.Sub(dead)
		case r.Start.After(ill.Add(-2 * commitWindow)):
			at[r.Host] = true
		}
	}
	f.Logf("%s was at %d hosts when its disk fell ill, "+
		"and began %d requests when that stored nothing more, the last %v after that",
		n.name, len(at), after, last.Round(time.Millisecond))
	f.unstored = len(at) + after
	return len(at), after, last
}

// living is a running node other than the one with the bad disk.
func (f *trial) living(ill *node) *node {
	for _, n := range f.c.living() {
		if n != ill {
			return n
		}
	}
	f.Fatal("nobody is left")
	return nil
}

// lossElsewhere kills another node, and waits until all partitions with a remaining copy are
// served.
func (f *trial) lossElsewhere(ill *node, frozen bool) {
	f.Helper()
	victim := f.c.nodes[f.random.IntN(len(f.c.nodes)-1)]
	f.kill(victim)
	killed, other := time.Now(), f.living(ill)
	until(f.T, servedElsewhere, func() string {
		s, err := other.status()
		if err != nil || s.Cluster.Members.Alive > len(f.c.nodes)-1 {
			return fmt.Sprintf("%s still counts on %s: %+v, %v", other.name, victim.name, s.Cluster, err)
		}
		if away := f.bothAway(other, victim, ill, frozen); s.Ring.Served+away != s.Ring.Partitions {
			return fmt.Sprintf("%s says that %d of %d partitions are served, and %d cannot be: %+v",
				other.name, s.Ring.Served, s.Ring.Partitions, away, s.Cluster)
		}
		return ""
	})
	took := time.Since(killed)
	f.Logf("all partitions were served %.1f s after %s was killed", took.Seconds(), victim.name)
	if *faultRuns > 0 && took > servedElsewhere {
		f.Errorf("all partitions were served after %v, promised: %v", took, servedElsewhere)
	}
}

// bothAway counts the partitions whose only copies are with two nodes that are away: one
// that is dead, and one whose disk does not answer.
func (f *trial) bothAway(other, dead, ill *node, frozen bool) (count int) {
	f.Helper()
	if !frozen {
		return 0
	}
	s, err := other.status()
	var r ring
	if err = errors.Join(err, other.decode("/api/v1/ring", &r)); err != nil {
		return 0 // the caller asks again
	}
	away := map[string]bool{}
	for _, known := range s.Nodes {
		away[known.ID] = known.Name == dead.name || known.Name == ill.name
	}
	for _, p := range r.Partitions {
		if p.State == "offline" && len(p.InSync) > 0 &&
			!slices.ContainsFunc(p.InSync, func(id string) bool { return !away[id] }) {
			count++
		}
	}
	return count
}

// saysOfDisk waits until the status of a node has a reason about its disk.
func (f *trial) saysOfDisk(n *node, codes ...string) {
	f.Helper()
	until(f.T, 10*time.Second, func() string {
		if s, err := n.status(); err != nil || !s.explains(codes...) {
			return fmt.Sprintf("%s says none of %v: %+v, %v", n.name, codes, s.Cluster.Health, err)
		}
		return ""
	})
}

// stopped judges how a node ended.
func (f *trial) stopped(n *node, took time.Duration, code, want int) {
	f.Helper()
	f.Logf("%s ended %.1f s after SIGTERM, with exit code %d", n.name, took.Seconds(), code)
	if promised := troubledDrain + drainSlack; took > promised && *faultRuns > 0 {
		f.Errorf("%s ended %v after SIGTERM, promised: %v", n.name, took, promised)
	}
	if code != want {
		f.Errorf("%s: exit code %d, want %d:\n%s", n.name, code, want, tail(n.log, 10))
	}
}

// healed repairs the disk, starts the nodes that are down, and submits the seeds that were not
// acknowledged.
func (f *trial) healed(since time.Time, what string, ill *node, refused []string, heal func()) {
	f.Helper()
	heal()
	// What was answered while the disk stored nothing may be fetched again.
	f.excuses = append(f.excuses,
		disturbance{what + " of " + ill.name, since.Add(-commitWindow), time.Now()})
	for _, n := range f.c.nodes {
		select {
		case <-n.done:
			n.start()
		default:
		}
	}
	for _, n := range f.c.nodes {
		n.ready()
	}
	f.whole(time.Minute)
	if again := f.give(f.c.nodes[0], refused); len(again) > 0 {
		f.Errorf("%d seeds are refused by a cluster that is whole: %v", len(again), again)
	}
}
