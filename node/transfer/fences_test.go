package transfer

import (
	"testing"

	"crawlnode/membership"
)

// A view that is shown before membership has reported it is not known yet. A view that removed a
// node that may be running is fenced once, however late it is taken.
func TestFences(t *testing.T) {
	t.Parallel()
	f := NewFences()
	if f.Knows(1) {
		t.Fatal("a view is known that nobody has told of")
	}
	proved := &membership.View{Number: 2, Removed: []membership.Removal{{ID: "a", Boot: 1, Proved: true}}}
	silent := &membership.View{Number: 3, Removed: []membership.Removal{{ID: "b", Boot: 1}}}
	f.Installed(&membership.View{Number: 1}, false)
	f.Installed(proved, false)
	if !f.Knows(2) || f.Knows(3) || f.Take(2) {
		t.Fatal("a proved death needs no full fence")
	}
	f.Installed(silent, false)
	f.Installed(&membership.View{Number: 4}, false)
	if !f.Take(4) || f.Take(4) {
		t.Fatal("the fence of a view that was passed over is due, once")
	}
	f.Installed(&membership.View{Number: 6}, true)
	if !f.Take(6) {
		t.Fatal("a view after one that was missed is fenced")
	}
	select {
	case <-f.Told():
	default:
		t.Fatal("who waits for a view is not woken")
	}
}
