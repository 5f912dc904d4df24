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

// singleCopyWithin is how long a partition may be on one disk only when a replica stalls: three
// seconds of silence are not counted, what follows is, a view without it and the copies that take
// its place included.
const singleCopyWithin = 20 * time.Second

// replicaStatus is what a node reports about the copies of the cluster.
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

// stalled is what the others have reported while a node stalled.
type stalled struct {
	single           time.Duration // longest time with one copy
	shown            bool
	copied, caughtUp int64         // whole copies made, and copies that went on, until all was whole
	whole            time.Duration // from the end of the stall
	excluded         bool          // a view without the node was decided
}

// stall stops a node for a while, and watches the others until all copies are there.
func (f *trial) stall(n *node, d time.Duration) (r stalled) {
	f.Helper()
	other := f.c.nodes[(f.door(n)+1)%len(f.c.nodes)]
	before, err := other.replicas()
	if err != nil {
		f.Fatal(err)
	}
	seen, err := other.status()
	if err != nil {
		f.Fatal(err)
	}
	stopped := time.Now()
	n.signal(syscall.SIGSTOP)
	// By itself: a look at the others may take long on a machine that is busy with other things.
	continued := make(chan time.Time, 1)
	time.AfterFunc(d, func() {
		n.signal(syscall.SIGCONT)
		continued <- time.Now()
	})
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
	since, view := <-continued, 0
	until(f.T, 30*time.Second, func() string {
		look()
		s, err := n.status()
		if err != nil || s.Ring.UnderReplicated != 0 || !s.Ring.Converged ||
			last.Ring.UnderReplicated != 0 || last.Ring.SingleCopy.Partitions != 0 {
			return fmt.Sprintf("after a stall of %v of %s: %+v, %v", d, n.name, last.Ring, err)
		}
		o, err := other.status()
		if view = o.Ring.View; err != nil || view != s.Ring.View || !o.Ring.Converged ||
			o.Cluster.Members.Alive != len(f.c.living()) {
			return fmt.Sprintf("after a stall of %v %s is at view %d, %s at %d", d, n.name, s.Ring.View,
				other.name, view)
		}
		return ""
	})
	r.whole, r.excluded = time.Since(since), view != seen.Ring.View
	r.copied = last.Ring.Repair.CopiedTotal - before.Ring.Repair.CopiedTotal
	r.caughtUp = last.Ring.Repair.CaughtUpTotal - before.Ring.Repair.CaughtUpTotal
	f.Logf("%s stalled for %v: one copy for %.1f s at the most, whole %.1f s after it; "+
		"%d whole copies, %d caught up; view %d",
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
			// After three seconds of silence the others write down what it misses, after five they
			// exclude it. On a machine that is busy with other things a stall may last longer in
			// their ears, or shorter: then another one shows what one of this length costs.
			for more := 3; *faultRuns == 0 && d < 5*time.Second && more > 0 &&
				(r.excluded || r.caughtUp == 0); more-- {
				f.Logf("a stall of %v: excluded %v, %d caught up: once more", d, r.excluded, r.caughtUp)
				r = f.stall(f.pick(), d)
			}
			if r.single > slack(singleCopyWithin) {
				f.Errorf("after a stall of %v there was one copy for %v, %v are promised", d, r.single,
					singleCopyWithin)
			}
			if d > 5*time.Second && !r.shown {
				f.Errorf("the status did not tell of one copy in a stall of %v", d)
			}
			if d < 5*time.Second && (r.excluded && *faultRuns > 0 ||
				!r.excluded && (r.copied > 0 || r.caughtUp == 0 && d > 3500*time.Millisecond)) {
				f.Errorf("a stall of %v cost %d whole copies; %d were caught up; excluded %v", d, r.copied,
					r.caughtUp, r.excluded)
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
	c.PagesPerHost = 180
}

// TestCopiesComeAndGo stops one of three nodes again and again, for so long that the
// others make copies in the place of its own, and give them up when it is back. Each
// disk comes back to its size.
func TestCopiesComeAndGo(t *testing.T) {
	needsProcesses(t)
	onRequest(t, *faultRuns != 0 || os.Getenv("CRAWLNODE_TEST_SEED") != "",
		"takes minutes: run it with CRAWLNODE_TEST_SEED set, or with make soak")
	r := newMoveRun(t, "come-and-go", 300_000, 50)
	r.c.nodes[0].start()
	r.c.nodes[0].ready()
	for range 2 {
		n := r.place()
		n.start()
		n.ready()
	}
	rest := func(s *moveStatus) bool { return s.Cluster.Members.Alive == 3 && s.whole() }
	r.await("three whole nodes", rest)
	r.noneDead()
	before := r.usedBytes()
	most, dead := before, int64(0)
	for range 4 {
		r.c.nodes[2].signal(syscall.SIGSTOP)
		stopped := time.Now()
		look := func() {
			for i, b := range r.usedBytes() {
				most[i] = max(most[i], b)
			}
			s, _ := r.c.nodes[0].replicas()
			for _, n := range s.Nodes {
				if n.DeletingBytes != nil {
					dead = max(dead, *n.DeletingBytes)
				}
			}
		}
		for time.Since(stopped) < 14*time.Second { // five to be excluded, some to be replaced
			look()
			time.Sleep(100 * time.Millisecond)
		}
		r.c.nodes[2].signal(syscall.SIGCONT)
		until(t, 2*time.Minute, func() string {
			look()
			if s, err := r.c.nodes[2].status(); err != nil || s.Cluster.Members.Alive != 3 ||
				!s.Ring.Converged || s.Ring.UnderReplicated > 0 {
				return fmt.Sprintf("the stopped node is not back: %+v, %v", s.Ring, err)
			}
			return ""
		})
	}
	if dead < 4<<20 {
		t.Errorf("no more than %d bytes had to be deleted: nothing was tried", dead)
	}
	r.await("three whole nodes", rest)
	var left [3]int64
	until(t, 2*time.Minute, func() string {
		left = r.usedBytes()
		for i := range left {
			if left[i] > before[i]*5/4+32<<20 {
				return fmt.Sprintf("the disks of %v MB have %v MB now", megabytes(before), megabytes(left))
			}
		}
		return ""
	})
	r.noneDead()
	t.Logf(
		"disks of %v MB had %v MB at most, and %v MB in the end; %d MB waited to be deleted at most",
		megabytes(before), megabytes(most), megabytes(left), dead>>20)
	r.c.stop()
}

// noneDead waits until no node has copies to delete.
func (r *moveRun) noneDead() {
	r.Helper()
	until(r.T, 2*time.Minute, func() string {
		s, err := r.c.nodes[0].replicas()
		if err != nil {
			return err.Error()
		}
		for _, n := range s.Nodes {
			if n.DeletingBytes == nil || *n.DeletingBytes > 0 {
				return n.Name + " deletes copies"
			}
		}
		return ""
	})
}

// usedBytes is what the stores of the nodes take.
func (r *moveRun) usedBytes() (b [3]int64) {
	for i, n := range r.c.nodes {
		b[i] = usedBytes(r.T, filepath.Join(n.dir, "frontier"))
	}
	return b
}

func megabytes(b [3]int64) [3]int64 { return [3]int64{b[0] >> 20, b[1] >> 20, b[2] >> 20} }

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
