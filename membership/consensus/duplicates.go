package consensus

import "crawlnode/crawl"

// duplicate is a listed boot that sent a message after a higher boot of its id had sent
// one: two processes have this id.
type duplicate struct {
	boot crawl.Boot
	tick int // of its last message
}

// noteDuplicate takes in that a boot sent a message itself. A late message of a process
// that was restarted looks the same. So the higher boot is ignored for silentTicks only:
// that delays a proof, and never costs a member.
func (c *Core) noteDuplicate(id crawl.NodeID, boot crawl.Boot) {
	if c.newer[id] <= boot || c.state.View == nil || !c.state.View.Lists(id, boot) {
		return
	}
	c.duplicates[id] = duplicate{boot: boot, tick: c.ticks}
	if v, ok := c.heard[id]; ok {
		c.heard[id] = lastHeard{tick: v.tick, boot: boot}
	}
}

// shadowed reports whether a boot of a member is ignored, because the listed one runs
// beside it.
func (c *Core) shadowed(m Member, boot crawl.Boot) bool {
	d, ok := c.duplicates[m.ID]
	return ok && d.boot == m.Boot && boot > m.Boot && c.ticks-d.tick < silentTicks
}

// superseded reports whether a higher boot of a node was heard, and this one not since.
func (c *Core) superseded(id crawl.NodeID, boot crawl.Boot) bool {
	return c.newer[id] > boot && c.duplicates[id].boot != boot
}

// answerSelf answers a hello of this node's own id: either another process with this id
// learns that this one runs, or this process learns from the mark that it called itself.
func (c *Core) answerSelf(m Message) []Action {
	if m.Kind != KindHello {
		return nil
	}
	return []Action{c.send(c.self, Message{Kind: KindHere, Mark: c.mark})}
}
