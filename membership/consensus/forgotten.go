package consensus

import (
	"slices"

	"crawlnode/crawl"
)

// IsForgotten reports whether id was forgotten and no view says so yet.
func (c *Core) IsForgotten(id crawl.NodeID) bool {
	_, ok := slices.BinarySearch(c.state.Forgotten, id)
	return ok
}

// forget takes in a forget request, durably, and sends it to all other members.
func (c *Core) forget(id crawl.NodeID) []Action {
	out := c.addForgotten([]crawl.NodeID{id})
	if out == nil {
		return nil
	}
	c.delay, c.attempts = 0, 0
	for _, m := range c.state.View.Members {
		if m.ID != c.self && !c.IsForgotten(m.ID) {
			out = append(out, c.send(m.ID, Message{Kind: KindHello}))
		}
	}
	return out
}

// adoptForgotten takes over the forget requests of another member, except for nodes that
// were heard here lately: then the request is wrong, or too recent. Every message repeats
// the requests.
func (c *Core) adoptForgotten(m Message) []Action {
	if len(m.Forgotten) == 0 || !c.member(m.From) {
		return nil
	}
	return c.addForgotten(slices.DeleteFunc(slices.Clone(m.Forgotten), c.Reached))
}

// addForgotten adds the ids that can be forgotten, within the bound.
func (c *Core) addForgotten(ids []crawl.NodeID) []Action {
	v := c.state.View
	if v == nil || !c.member(c.self) {
		return nil
	}
	all := slices.Clone(c.state.Forgotten)
	for _, id := range ids {
		if i, ok := slices.BinarySearch(all, id); !ok && id != c.self && !v.Bars(id) &&
			len(all)+len(v.Barred) < MaxBarred {
			all = slices.Insert(all, i, id)
		}
	}
	if len(all) == len(c.state.Forgotten) {
		return nil
	}
	c.state.Forgotten = all
	return []Action{Persist{c.state}}
}

// withdrawForget cancels a forget request when the node is heard and no view bars it yet.
func (c *Core) withdrawForget(id crawl.NodeID) []Action {
	if !c.IsForgotten(id) {
		return nil
	}
	c.state.Forgotten = slices.DeleteFunc(slices.Clone(c.state.Forgotten), func(f crawl.NodeID) bool { return f == id })
	return []Action{Persist{c.state}}
}

// stillForgotten returns the ids that v does not bar, within the bound.
func stillForgotten(v *View, ids []crawl.NodeID) []crawl.NodeID {
	var out []crawl.NodeID
	for _, id := range ids {
		if !v.Bars(id) && len(out)+len(v.Barred) < MaxBarred {
			out = append(out, id)
		}
	}
	return out
}
