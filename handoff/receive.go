package handoff

import "crawlnode/crawl"

// onOffered answers a holder that offers a partition.
func (m *Machine) onOffered(e Offered) {
	p := &m.parts[e.P]
	reply := func(k ReplyKind, reason string) {
		m.do(Answer{To: e.Reply, Reply: Reply{Kind: k, View: m.view, Reason: reason}})
	}
	switch {
	case e.Released && p.maxEpoch >= e.View:
		// This node took it, whatever became of it since. Any other word would
		// let the sender hold it again beside whoever has it now.
		reply(ReplyTook, "")
	case e.View < m.view:
		reply(ReplyRefused, "the offer is of an older view")
	case e.View > m.view:
		reply(ReplyLater, "the receiver has not installed that view yet")
	case m.ownerOf(e.P) != m.self:
		reply(ReplyLater, "the receiver is not the owner by its table")
	case p.state != Absent && p.state != Importing:
		reply(ReplyLater, "the receiver has the partition as "+p.state.String())
	case p.maxEpoch >= e.View:
		reply(ReplyLater, "the receiver held it in this view already")
	case p.state == Absent && m.in >= m.limits.In:
		reply(ReplyLater, "too many partitions arrive at once")
	default:
		if p.state == Importing { // the sender starts again: the old stream is dead
			m.do(AbortImport{P: e.P, Attempt: p.attempt})
		} else {
			m.in++
		}
		m.attempt++
		p.state, p.view, p.attempt = Importing, e.View, m.attempt
		m.do(BeginImport{P: e.P, Attempt: p.attempt})
		m.do(Answer{To: e.Reply, Reply: Reply{Kind: ReplyGoOn, View: m.view}, Attempt: p.attempt})
	}
}

// onToken decides whether the copy that has arrived becomes the partition. The
// decision and its storing run on the goroutine that installs views, so "still
// at view n" is true until the store has answered.
func (m *Machine) onToken(e TokenArrived) {
	p := m.current(e.P, e.Attempt, Importing)
	if p == nil {
		m.do(Answer{To: e.Reply, Reply: Reply{Kind: ReplyLater, View: m.view, Reason: "the copy was given up"}})
		return
	}
	if p.view != m.view || m.ownerOf(e.P) != m.self || p.maxEpoch >= m.view {
		m.endImport(p)
		m.do(AbortImport{P: e.P, Attempt: e.Attempt})
		m.do(Answer{To: e.Reply, Reply: Reply{Kind: ReplyRefused, View: m.view, Reason: "the receiver has installed a newer view"}})
		return
	}
	m.do(CommitImport{P: e.P, Attempt: e.Attempt, Epoch: m.view, Reply: e.Reply})
}

func (m *Machine) onImportDone(e ImportDone) {
	p := m.current(e.P, e.Attempt, Importing)
	if p == nil {
		panic("BUG: an import was committed that the machine did not order")
	}
	m.endImport(p)
	p.state, p.maxEpoch = Holding, e.Epoch
	m.do(Acquired{P: e.P, Epoch: e.Epoch})
	m.do(Answer{To: e.Reply, Reply: Reply{Kind: ReplyTook, View: m.view}})
	m.fill()
}

func (m *Machine) onImportBroken(e ImportBroken) {
	if p := m.current(e.P, e.Attempt, Importing); p != nil {
		m.endImport(p)
		m.do(AbortImport(e))
	}
}

func (m *Machine) endImport(p *part) {
	p.state = Absent
	m.in--
}

// ReplyKind is a receiver's answer to an offer or a token.
type ReplyKind uint8

// The answers; see peer.proto's MoveReply.
const (
	ReplyGoOn ReplyKind = iota + 1
	ReplyTook
	ReplyRefused
	ReplyLater
)

// Reply is the receiver's answer with its installed view.
type Reply struct {
	Kind   ReplyKind
	View   crawl.Epoch
	Reason string
}
