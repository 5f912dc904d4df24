package spread

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/crawl"
)

// TestMajorityWithASilentMember: an entry is acknowledged when two of three members have it, and
// the third fetches it when it is back.
func TestMajorityWithASilentMember(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		defer c.run(t)()
		c.setSilent("c", true)
		if err := c.nodes["a"].Add("host:one.test"); err != nil {
			t.Fatal(err)
		}
		if err := c.nodes["a"].AwaitMajority(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !c.nodes["b"].doc.Seeds.Has("host:one.test") || c.nodes["c"].doc.Seeds.Has("host:one.test") {
			t.Error("b must have the entry, and c must not")
		}
		c.setSilent("b", true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := c.nodes["c"].Add("host:two.test"); err != nil {
			t.Fatal(err)
		}
		if err := c.nodes["c"].AwaitMajority(ctx); err == nil ||
			!strings.Contains(err.Error(), "1 of 3") || !strings.Contains(err.Error(), "more than half") {
			t.Errorf("a member without any other: %v", err)
		}
		c.setSilent("b", false)
		c.setSilent("c", false)
		if !c.nodes["c"].CatchUp(t.Context()) || !c.nodes["c"].doc.Seeds.Has("host:one.test") {
			t.Error("c has not fetched the entry")
		}
		if err := c.nodes["c"].AwaitMajority(t.Context()); err != nil {
			t.Fatal(err)
		}
		// either of them makes the majority
		if !c.nodes["a"].doc.Seeds.Has("host:two.test") && !c.nodes["b"].doc.Seeds.Has("host:two.test") {
			t.Error("no other member has the entry of c")
		}
	})
}

// TestCompleteOnlyWithWhatOthersHave: a node that has seen another stamp may lack an entry until it
// has fetched it, and reports a member that does not send it.
func TestCompleteOnlyWithWhatOthersHave(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		defer c.run(t)()
		a, b := c.nodes["a"], c.nodes["b"]
		synctest.Wait() // nothing else has them call each other
		if !a.CatchUp(t.Context()) {
			t.Fatal("the test has ended")
		}
		synctest.Wait()
		if !a.Complete(time.Now()) {
			t.Fatal("all have the same, and a is not complete")
		}
		c.setSilent("b", true)
		if err := b.doc.AddScope([]string{"host:late.test"}); err != nil {
			t.Fatal(err)
		}
		if a.Compare("b", b.Stamp()) {
			t.Fatal("the stamps do not differ")
		}
		if a.Complete(time.Now()) || a.AwaitComplete(t.Context()) {
			t.Error("a is complete without the entry of b")
		}
		if names, _ := a.Behind(time.Now()); len(names) != 0 {
			t.Errorf("%v are reported at once", names)
		}
		began := time.Now()
		time.Sleep(behindPatience)
		if names, since := a.Behind(time.Now()); len(names) != 1 || names[0] != "n-b" ||
			since.After(began) {
			t.Errorf("reported: %v since %v", names, since)
		}
		c.setSilent("b", false)
		for !a.AwaitComplete(t.Context()) {
			time.Sleep(rest) // b rests after a call that failed
		}
		if !a.doc.Seeds.Has("host:late.test") || !a.Complete(time.Now()) {
			t.Error("a has not fetched the entry")
		}
		if a.Compare("stranger", b.Stamp()); !a.Complete(time.Now()) {
			t.Error("a node that is no member keeps a from judging")
		}
		// A node that hears too few members may lack an entry that the others have.
		c.setSilent("b", true)
		c.setSilent("c", true)
		if a.Complete(time.Now()) {
			t.Error("a is complete although it hears no other member")
		}
	})
}

// TestOrdersReachEveryMember: an order is on every member that answers, and names the others.
func TestOrdersReachEveryMember(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		defer c.run(t)()
		if err := c.nodes["a"].StartEverywhere(t.Context()); err != nil {
			t.Fatal(err)
		}
		r, err := c.nodes["b"].Control(t.Context(), crawl.ActionPause)
		if err != nil || r.State != crawl.CrawlPaused || len(r.Untold) != 0 {
			t.Errorf("pause: %+v, %v", r, err)
		}
		for id, n := range c.nodes {
			if d := n.o.document(); d.State != crawl.CrawlPaused {
				t.Errorf("on %s the crawl is %s", id, d.State)
			}
		}
		c.setSilent("c", true)
		began := time.Now()
		r, err = c.nodes["a"].Control(t.Context(), crawl.ActionResume)
		if err != nil || len(r.Untold) != 1 || r.Untold[0] != "n-c" ||
			time.Since(began) != orderPatience {
			t.Errorf("resume: %+v, %v after %v", r, err, time.Since(began))
		}
		c.setSilent("c", false)
		time.Sleep(2 * rest)
		synctest.Wait()
		if d := c.nodes["c"].o.document(); d.State != crawl.CrawlRunning ||
			c.nodes["c"].changed.Load() == 0 {
			t.Errorf("on c, which is back, the crawl is %s", d.State)
		}
	})
}

// TestFounderFirst: a founder answers no question before its settings are the cluster's, and then
// they win over those of a joiner that was changed first.
func TestFounderFirst(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	c.nodes["a"].unfounded = true
	ask := func() error {
		_, err := c.nodes["a"].Serve(fetchOf(2))
		return err
	}
	if err := ask(); err == nil {
		t.Error("a founder's document was sent before it is the cluster's")
	}
	for _, id := range []crawl.NodeID{"a", "b"} {
		if err := c.nodes[id].Found(); err != nil {
			t.Fatal(err)
		}
	}
	if a, b := c.nodes["a"].o.document(), c.nodes["b"].o.document(); a.Version != 1 || b.Version != 0 {
		t.Errorf("versions %d of the founder, %d of the joiner", a.Version, b.Version)
	}
	if err := ask(); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	// A start after the founding changes nothing.
	c.nodes["a"].unfounded = false
	before := c.nodes["a"].o.document()
	if err := c.nodes["a"].Found(); err != nil || c.nodes["a"].o.document() != before {
		t.Errorf("founded again: %v", err)
	}
}
