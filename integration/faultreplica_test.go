package integration

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"crawlnode/simweb"
)

// singleCopyWithin is how long a partition may live on one disk only when a replica
// stalls: three seconds of silence are not counted, what follows is, a view without it
// and the copies that take its place included.
const singleCopyWithin = 20 * time.Second

// replicaStatus is what a node says of the copies of the cluster.
type replicaStatus struct {
	Ring struct {
		UnderReplicated int `json:"under_replicated"`
		SingleCopy      struct {
			Partitions int
			Seconds    float64
		} `json:"single_copy"`
		Repair struct {
			CopiedTotal   int64 `json:"copied_total"`
			CaughtUpTotal int64 `json:"caught_up_total"`
		}
	}
	Nodes []struct {
		Name          string
		DeletingBytes *int64 `json:"deleting_bytes"`
	}
}

func (n *node) replicas() (s replicaStatus, err error) {
	return s, n.decode("/status", &s)
}

// stalled is what the others have said while a node stalled.
type stalled struct {
	single           time.Duration // longest time with one copy
	shown            bool
	copied, caughtUp int64         // whole copies made, and copies that went on, until all was whole
	whole            time.Duration // from the end of the stall
}

// stall stops a node for a while, and watches the others until all copies are there.
func (f *trial) stall(n *node, d time.Duration) (r stalled) {
	f.Helper()
	other := f.c.nodes[(f.door(n)+1)%len(f.c.nodes)]
	before, err := other.replicas()
	if err != nil {
		f.Fatal(err)
	}
	stopped := time.Now()
	n.signal(syscall.SIGSTOP)
	f.excuses = append(f.excuses, at("stop of "+n.name, stopped))
	var last replicaStatus
	look := func() {
		s, err := other.replicas()
		if err != nil {
			return
		}
		c := s.Ring.SingleCopy
		r.shown = r.shown || c.Partitions > 0 && c.Seconds > 0
		r.single = max(r.single, time.Duration(c.Seconds*float64(time.Second)))
		last = s
	}
	for time.Since(stopped) < d {
		look()
		time.Sleep(min(50*time.Millisecond, max(0, d-time.Since(stopped))))
	}
	n.signal(syscall.SIGCONT)
	continued := time.Now()
	view := 0
	until(f.T, f.patience(30*time.Second), func() string {
		look()
		s, err := n.status()
		if err != nil || s.Ring.UnderReplicated != 0 || !s.Ring.Converged || last.Ring.UnderReplicated != 0 || last.Ring.SingleCopy.Partitions != 0 {
			return fmt.Sprintf("after a stall of %v of %s: %+v, %v", d, n.name, last.Ring, err)
		}
		o, err := other.status()
		if view = o.Ring.View; err != nil || view != s.Ring.View || !o.Ring.Converged || o.Cluster.Members.Alive != len(f.c.living()) {
			return fmt.Sprintf("after a stall of %v %s is at view %d, %s at %d", d, n.name, s.Ring.View, other.name, view)
		}
		return ""
	})
	r.whole = time.Since(continued)
	r.copied = last.Ring.Repair.CopiedTotal - before.Ring.Repair.CopiedTotal
	r.caughtUp = last.Ring.Repair.CaughtUpTotal - before.Ring.Repair.CaughtUpTotal
	f.Logf("%s stalled for %v: one copy for %.1f s at the most, whole %.1f s after it; %d whole copies, %d caught up; view %d",
		n.name, d, r.single.Seconds(), r.whole.Seconds(), r.copied, r.caughtUp, view)
	return r
}

// replicaSleeps stops a node for some seconds, again and again. A stall that leaves it
// a member costs no copy; a longer one is shown, and soon over.
func replicaSleeps(stalls ...time.Duration) func(*trial) {
	return func(f *trial) {
		f.crawlTo(0.05, 0.1)
		for _, d := range stalls {
			r := f.stall(f.pick(), d)
			if r.single > f.patience(singleCopyWithin) {
				f.Errorf("after a stall of %v there was one copy for %v, %v are promised", d, r.single, singleCopyWithin)
			}
			if d > 5*time.Second && !r.shown {
				f.Errorf("the status did not tell of one copy in a stall of %v", d)
			}
			if d < 5*time.Second && (r.copied > 0 || r.caughtUp == 0 && d > 3500*time.Millisecond) {
				f.Errorf("a stall of %v cost %d whole copies; %d were caught up", d, r.copied, r.caughtUp)
			}
		}
		for _, n := range f.c.living() {
			if files, err := os.ReadDir(filepath.Join(n.dir, "tail")); err != nil || len(files) > 0 {
				f.Errorf("%s keeps %v of what replicas missed, %v", n.name, files, err)
			}
		}
	}
}

// forSeconds makes a web that takes half a minute.
func forSeconds(c *simweb.Config) {
	c.Hosts = min(c.Hosts, 60)
	c.PagesPerHost = 50
}

// forMinutes makes a web that takes some minutes.
func forMinutes(c *simweb.Config) {
	long(c)
	c.PagesPerHost = 240
}

// TestCopiesGivenUp stalls a node that takes copies in, again and again, so that
// they are given up; the disk comes back to its size.
func TestCopiesGivenUp(t *testing.T) {
	needsProcesses(t)
	if testing.Short() || *faultRuns == 0 && os.Getenv("CRAWLNODE_TEST_SEED") == "" {
		t.Skip("takes two minutes: run it with CRAWLNODE_TEST_SEED set, or with make soak")
	}
	r := newMoveRun(t, "given-up", 300_000, 50)
	first := r.c.nodes[0]
	first.start()
	first.ready()
	joiner := r.place()
	joiner.start()
	joiner.ready()
	store := filepath.Join(joiner.dir, "frontier")
	most := int64(0)
	watch := func(d time.Duration) {
		for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			most = max(most, usedBytes(t, store))
		}
	}
	const stalls = 4
	for range stalls {
		watch(1500 * time.Millisecond)
		joiner.signal(syscall.SIGSTOP)
		watch(12 * time.Second) // longer than the sender waits for any step of a copy
		joiner.signal(syscall.SIGCONT)
	}
	r.await("all copies", (*moveStatus).whole)
	most = max(most, usedBytes(t, store))
	var left, full int64
	until(t, 2*time.Minute, func() string {
		s, err := first.replicas()
		if err != nil {
			return err.Error()
		}
		left, full = usedBytes(t, store), usedBytes(t, filepath.Join(first.dir, "frontier"))
		for _, n := range s.Nodes {
			if n.DeletingBytes == nil || *n.DeletingBytes > 0 {
				return fmt.Sprintf("%s deletes %v", n.Name, n.DeletingBytes)
			}
		}
		if left > full*5/4+32<<20 {
			return fmt.Sprintf("%d MB are left on the disk of the node that stalled, the other has %d MB", left>>20, full>>20)
		}
		return ""
	})
	t.Logf("%d stalls in the middle of copies: %d MB at most, %d MB in the end; the other node has %d MB", stalls, most>>20, left>>20, full>>20)
	r.c.stop()
}

// usedBytes is what the files of a folder take on disk.
func usedBytes(t *testing.T, dir string) (bytes int64) {
	t.Helper()
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // it went meanwhile
		}
		if info, err := d.Info(); err == nil {
			if st, ok := info.Sys().(*syscall.Stat_t); ok {
				bytes += st.Blocks * 512
			}
		}
		return nil
	})
	return bytes
}
