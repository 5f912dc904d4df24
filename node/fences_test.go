package node

import (
	"testing"

	"crawlnode/membership"
)

// A view that is shown before membership has told of it is not known yet, and one
// that removed somebody who may be alive is fenced once, however late it is taken.
func TestFencesOfViews(t *testing.T) {
	t.Parallel()
	f := newFences()
	if f.know(1) {
		t.Fatal("a view is known that nobody has told of")
	}
	proved := &membership.View{Number: 2, Removed: []membership.Removal{{ID: "a", Boot: 1, Proved: true}}}
	silent := &membership.View{Number: 3, Removed: []membership.Removal{{ID: "b", Boot: 1}}}
	f.installed(&membership.View{Number: 1}, false)
	f.installed(proved, false)
	if !f.know(2) || f.know(3) || f.take(2) {
		t.Fatal("a proved death needs no full fence")
	}
	f.installed(silent, false)
	f.installed(&membership.View{Number: 4}, false)
	if !f.take(4) || f.take(4) {
		t.Fatal("the fence of a view that was passed over is due, once")
	}
	f.installed(&membership.View{Number: 6}, true)
	if !f.take(6) {
		t.Fatal("a view after one that was missed is fenced")
	}
	select {
	case <-f.told:
	default:
		t.Fatal("who waits for a view is not woken")
	}
}

// A node that was taken back judges nothing before it has heard again what the
// others decided meanwhile.
func TestExcludedNodeHearsAgain(t *testing.T) {
	t.Parallel()
	c := testConfig(t, "back")
	n := startNode(t, c)
	converged(t, 1, n)
	n.synced.Store(false)
	if ok, _ := n.Ready(); ok || n.mayCrawl() {
		t.Fatal("a node that knows nothing is ready")
	}
	signal(n.excluded)
	until(t, patience, func() string {
		if ok, why := n.Ready(); !ok {
			return why
		}
		return ""
	})
}
