package resources

import (
	"slices"
	"testing"
)

// Timers are loose after some looks without work, exact with the first piece of work, and made
// exact twice more.
func TestLatitudeFollowsWork(t *testing.T) {
	t.Parallel()
	var sets []bool
	l := latitude{set: func(loose bool) bool {
		sets = append(sets, loose)
		return true
	}}
	looks := func(n int) {
		for range n {
			l.look(false)
		}
	}
	step := func(name string, want ...bool) {
		t.Helper()
		if !slices.Equal(sets, want) {
			t.Fatalf("%s: %v was set, want %v", name, sets, want)
		}
		sets = nil
	}
	l.work() // the start
	looks(quietLooks)
	l.work()
	step("quiet for less than three seconds")
	looks(quietLooks)
	step("quiet since the last look only")
	looks(5)
	step("quiet for longer", true)
	l.work()
	l.work()
	step("work", false)
	for range 10 {
		looks(1)
		l.work()
	}
	step("more work", false, false)
	looks(quietLooks + 1)
	step("quiet again", true)
	l.work()
	looks(quietLooks + 3)
	step("work once", false, false, false, true)
}

// Where the system cannot, nothing is loose.
func TestLatitudeRefused(t *testing.T) {
	t.Parallel()
	l := latitude{set: func(bool) bool { return false }}
	for range quietLooks + 2 {
		l.look(false)
	}
	if l.loose.Load() {
		t.Error("timers count as loose although the system has refused")
	}
}

// A fetch that takes long is work as well: when the lease ends, it must end in time.
func TestLatitudeOfLongFetch(t *testing.T) {
	t.Parallel()
	l := latitude{set: func(bool) bool { return true }}
	for _, step := range []struct{ busy, loose bool }{{true, false}, {false, true}, {true, false}} {
		for range quietLooks + 2 {
			l.look(step.busy)
		}
		if l.loose.Load() != step.loose {
			t.Errorf("fetching is %v, and that timers are loose %v", step.busy, l.loose.Load())
		}
	}
}
