package replication

import (
	"slices"
	"testing"
	"testing/synctest"

	"crawlnode/crawl"
)

// Several copiers make copies for one node, but never two of one partition, and
// none for a link that is over; a large one waits for its own.
func TestNextJob(t *testing.T) {
	rs, _ := underTest(t)
	r := idle(rs).of("b") // no copiers but this test
	r.copiers[smallCopy] = 10
	l := &link{}
	r.jobs = []copyJob{{p: 1}, {p: 1, link: l}, {p: 2, link: &link{over: true}}, {p: 4, class: largeCopy}, {p: 3}}
	want := func(class copyClass, p crawl.Partition, asked bool) copyJob {
		t.Helper()
		j, ok := r.nextJob(class)
		if !ok || j.p != p || (j.link == nil) != asked {
			t.Fatalf("the next job is %+v, %v; want partition %d", j, ok, p)
		}
		return j
	}
	first := want(smallCopy, 1, true)
	third := want(smallCopy, 3, true)
	if j, ok := r.nextJob(smallCopy); ok {
		t.Fatalf("%+v was begun beside another copy of the partition", j)
	}
	if r.copiers[smallCopy] != 9 {
		t.Errorf("%d copiers run after one has ended, want 9", r.copiers[smallCopy])
	}
	r.jobOver(third)
	if j, ok := r.nextJob(smallCopy); ok {
		t.Fatalf("%+v was begun beside another copy of the partition", j)
	}
	r.jobOver(first)
	if want(smallCopy, 1, false); l.room != maxPendingSmall {
		t.Errorf("%d bytes may wait for a small copy, want %d", l.room, maxPendingSmall)
	}
	want(largeCopy, 4, true)
	if len(r.jobs) != 0 {
		t.Errorf("%d jobs are left", len(r.jobs))
	}
}

// TestSmallCopiesSideBySide: many small copies are under way at once, and few large
// ones, which take no place of theirs.
func TestSmallCopiesSideBySide(t *testing.T) {
	rs, _ := underTest(t)
	for class, n := range copySlots {
		for range n {
			rs.slots[class] <- struct{}{} // other nodes have them all: the copiers wait
		}
	}
	r := rs.of("b")
	for p := range crawl.Partition(60) {
		r.jobs = append(r.jobs, copyJob{p: p, class: copyClass(p % 2)})
	}
	rs.startCopiers(r)
	rs.startCopiers(r)
	r.mu.Lock()
	if r.copiers != copySlots {
		t.Errorf("%v copiers work for 30 small and 30 large copies, want %v", r.copiers, copySlots)
	}
	r.mu.Unlock()
	rs.KeepMembers(nil) // the node is no member any more
	rs.wg.Wait()
	rs.startCopiers(r)
	if r.copiers != copySlots {
		t.Errorf("copiers were started for a node that is gone")
	}
}

// TestCopiersEnd: none is left when the work is done.
func TestCopiersEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rs, _ := underTest(t)
		var ps []crawl.Partition
		for p := range crawl.Partition(partitions) {
			ps = append(ps, p)
		}
		rs.Send("b", ps)
		synctest.Wait()
		r := rs.of("b")
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.copiers != [copyClasses]int{} || len(r.jobs) > 0 || len(r.making) > 0 || rs.Copied() != partitions {
			t.Errorf("copiers %v, jobs %v, under way %v after %d copies were made", r.copiers, r.jobs, r.making, rs.Copied())
		}
	})
}

// TestAskedOnce: a copy that waits or is on its way is not sent once more.
func TestAskedOnce(t *testing.T) {
	rs, _ := underTest(t)
	r := idle(rs).of("b")
	rs.Send("b", []crawl.Partition{1, 2, 1})
	if j, ok := r.nextJob(smallCopy); !ok || j.p != 1 {
		t.Fatalf("the first job is %+v, %v", j, ok)
	}
	r.jobs = append(r.jobs, copyJob{p: 3, link: &link{}})
	rs.Send("b", []crawl.Partition{1, 2, 3})
	var ps []crawl.Partition
	for _, j := range r.jobs {
		ps = append(ps, j.p)
	}
	if want := []crawl.Partition{2, 3, 3}; !slices.Equal(ps, want) {
		t.Errorf("copies of %v wait, want %v", ps, want)
	}
}
