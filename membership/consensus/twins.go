package consensus

import "crawlnode/crawl"

// twin is a listed boot that spoke after a higher boot of its id had spoken.
type twin struct {
	boot crawl.Boot
	tick int // when it last did
}

// noteTwin takes in that a boot sent a message itself. A late message of a process
// that was restarted looks the same: so the higher boot is unheard for
// silentTicks only, and costs a proof, never a member.
func (c *Core) noteTwin(id crawl.NodeID, boot crawl.Boot) {
	if c.newer[id] <= boot || c.state.View == nil || !c.state.View.Lists(id, boot) {
		return
	}
	c.twins[id] = twin{boot: boot, tick: c.ticks}
	if v, ok := c.heard[id]; ok {
		c.heard[id] = voice{tick: v.tick, boot: boot}
	}
}

// shadows reports whether a boot of a member is to be ignored, because the listed
// one lives beside it.
func (c *Core) shadows(m Member, boot crawl.Boot) bool {
	t, ok := c.twins[m.ID]
	return ok && t.boot == m.Boot && boot > m.Boot && c.ticks-t.tick < silentTicks
}

// outlasted reports whether a higher boot of a node has spoken, and this one not
// since.
func (c *Core) outlasted(id crawl.NodeID, boot crawl.Boot) bool {
	return c.newer[id] > boot && c.twins[id].boot != boot
}

// meet tells another process with this node's id that this one lives, or this one
// that it has called itself.
func (c *Core) meet(m Message) []Action {
	if m.Kind != KindHello {
		return nil
	}
	return []Action{c.send(c.self, Message{Kind: KindHere, Mark: c.mark})}
}
