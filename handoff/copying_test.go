package handoff

import (
	"testing"

	"crawlnode/crawl"
)

// Several loops make copies for one node, but never two of one partition, and
// none for a link that is over.
func TestNextJob(t *testing.T) {
	r := &replica{copies: make(chan struct{}, 1), making: map[crawl.Partition]bool{}}
	r.jobs = []copyJob{{p: 1}, {p: 1, f: &flow{}}, {p: 2, f: &flow{over: true}}, {p: 3}}
	want := func(p crawl.Partition, asked bool) copyJob {
		t.Helper()
		j, ok := r.nextJob()
		if !ok || j.p != p || (j.f == nil) != asked {
			t.Fatalf("the next job is %+v, %v; want partition %d", j, ok, p)
		}
		return j
	}
	first := want(1, true)
	select {
	case <-r.copies: // the other loops are told
	default:
		t.Error("nobody was told that more jobs wait")
	}
	third := want(3, true)
	if j, ok := r.nextJob(); ok {
		t.Fatalf("%+v was begun beside another copy of the partition", j)
	}
	r.jobOver(third)
	if j, ok := r.nextJob(); ok {
		t.Fatalf("%+v was begun beside another copy of the partition", j)
	}
	<-r.copies
	r.jobOver(first)
	select {
	case <-r.copies:
	default:
		t.Error("nobody was told that a job may begin now")
	}
	want(1, false)
	if len(r.jobs) != 0 {
		t.Errorf("%d jobs are left", len(r.jobs))
	}
}
