package transfer

import (
	"testing"

	"crawlnode/membership"
)

// A view that is shown before membership has reported it is not known yet. A view that removed a
// node that may be running needs the fence once, however late it is taken.
func TestFences(t *testing.T) {
	t.Parallel()
	f := NewFences()
	if f.Knows(1) {
		t.Fatal("a view is known that nobody has told of")
	}
	proved := &membership.View{Number: 2, Removed: []membership.Removal{{ID: "a", Boot: 1, Proved: true}}}
	silent := &membership.View{Number: 3, Removed: []membership.Removal{{ID: "b", Boot: 1}}}
	f.Installed(&membership.View{Number: 1}, false)
	if f.Take(1) != membership.Fence {
		t.Fatal("a process that begins does not know what was removed before it")
	}
	f.Installed(proved, false)
	if !f.Knows(2) || f.Knows(3) || f.Take(2) != 0 {
		t.Fatal("a proved death needs no fence")
	}
	f.Installed(silent, false)
	f.Installed(&membership.View{Number: 4}, false)
	if f.Take(4) != membership.Fence || f.Take(4) != 0 {
		t.Fatal("the fence of a view that was passed over is due, once")
	}
	f.Installed(&membership.View{Number: 6}, true)
	if f.Take(6) != membership.Fence {
		t.Fatal("a view after one that was missed needs the fence")
	}
	select {
	case <-f.Told():
	default:
		t.Fatal("who waits for a view is not woken")
	}
}
