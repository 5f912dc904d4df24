package machine

import (
	"slices"

	"crawlnode/crawl"
)

// asking is the running round of questions to all members.
type asking struct {
	attempt uint64
	running bool
	view    crawl.Epoch
	members []crawl.NodeID
	parts   []crawl.Partition
	answers map[crawl.NodeID]map[crawl.Partition]Answer
	wait    int // retries to wait before the next round
	rounds  int // without success
}

// MaxAsked bounds one round; 4,096 answers are below a message's bound.
const MaxAsked = 4096

// A take-over is in a hurry: the first eagerRounds follow each other at once; then
// askAgain retries lie between two, because a node has to return first.
const (
	eagerRounds = 20
	askAgain    = 10
)

func (a *asking) reset() { *a = asking{attempt: a.attempt} }

// startAsk asks about the partitions that are this node's by the table and that
// no node has passed to it (ownership rule 9).
func (m *Machine) startAsk() {
	if !m.listed || m.table == nil || m.ask.running || m.ask.wait > 0 {
		return
	}
	ps := m.toAsk()
	if len(ps) == 0 {
		m.ask.rounds = 0
		return
	}
	m.attempt++
	m.ask = asking{attempt: m.attempt, running: true, view: m.view, members: m.members, parts: ps,
		answers: map[crawl.NodeID]map[crawl.Partition]Answer{}, rounds: m.ask.rounds}
	m.do(Ask{Attempt: m.attempt, View: m.view, Members: m.members, Parts: ps})
}

// toAsk names the next partitions to ask about. When they are too many for one
// round the next one goes on behind them: those that cannot be had for long must
// not keep the others from being asked about.
func (m *Machine) toAsk() []crawl.Partition {
	var ps []crawl.Partition
	begin := m.askFrom
	for k := range m.parts {
		i := (begin + k) % len(m.parts)
		p, x := crawl.Partition(i), &m.parts[i]
		// A release to a node that is gone is asked about too: the question seals it.
		free := x.state == Absent || x.state == Released && !m.member(x.to)
		if !free || m.ownerOf(p) != m.self {
			continue
		}
		if len(ps) == MaxAsked {
			m.askFrom = i
			break
		}
		ps = append(ps, p)
	}
	return ps
}

func (m *Machine) onAnswered(e Answered) {
	if !m.ask.running || e.Attempt != m.ask.attempt || e.Answers == nil {
		return
	}
	byPart := make(map[crawl.Partition]Answer, len(e.Answers))
	for _, a := range e.Answers {
		byPart[a.P] = a
	}
	m.ask.answers[e.From] = byPart
	m.past = remember(m.past, e.Past)
}

// onAskOver judges the answers.
func (m *Machine) onAskOver(e AskOver) {
	if !m.ask.running || e.Attempt != m.ask.attempt {
		return
	}
	m.now = e.Now
	m.ask.running = false
	for _, p := range m.ask.parts {
		if m.parts[p].state == Absent && m.ownerOf(p) == m.self && m.ask.view == m.view {
			m.decidePromotion(p)
		}
	}
	m.ask.wait = 1
	if m.ask.rounds >= eagerRounds {
		m.ask.wait = askAgain
	}
	m.ask.rounds++
}

// decidePromotion decides what becomes of a partition that this node owns and does not
// hold, by the members' answers. Any doubt leaves it as it is for the next round.
func (m *Machine) decidePromotion(i crawl.Partition) {
	p := &m.parts[i]
	set := p.set
	maxEpoch := p.maxEpoch // it may have come and gone since this node's own answer
	for _, id := range m.ask.members {
		a, ok := m.ask.answers[id][i]
		if !ok {
			if !p.away { // a round in which all have answered has told who is away
				p.offline = "member " + string(id) + " has not answered"
			}
			return
		}
		if a.Holds {
			p.offline = ""
			return // it will pass it on
		}
		if a.Set.Newer(set) {
			set = a.Set
		}
		maxEpoch = max(maxEpoch, a.MaxEpoch)
	}
	p.set, p.away = set, false
	ok, sure := m.newest(set)
	if len(set.Members) > 0 && !ok {
		p.offline, p.away = "nodes that may know of a newer in-sync set are away", true
		return
	}
	switch {
	case maxEpoch >= m.view:
		p.offline = "it was held in this view already; the next view decides"
	case m.now < m.fenceEnd:
		p.offline = "the fence after a node that may still be alive is not over"
	case m.choose(i, p, set):
		return
	}
	m.spread(i, set, sure)
}

// spread records the newest set of a partition that has no holder once more in
// each view: those that know it may leave one by one before it has a holder.
func (m *Machine) spread(i crawl.Partition, set Set, sure bool) {
	if len(set.Members) == 0 {
		return
	}
	if sure && set.recordedIn() < m.view {
		set.Version = versionIn(m.view, set.Version)
	}
	for _, id := range m.ask.members {
		if set.Newer(m.ask.answers[id][i].Set) {
			m.parts[i].set = set
			m.do(Record{P: i, Set: set})
			return
		}
	}
}

// choose promotes the best copy of the recorded set. False: not yet.
func (m *Machine) choose(i crawl.Partition, p *part, set Set) bool {
	best, from, away, unsure := m.best(i, set)
	lost := false
	if from == "" {
		if len(away) > 0 || len(set.Members) == 0 {
			p.offline, p.away = whyAway(unsure)+names(away), true
			return false
		}
		lost = true // a person has forgotten the last ones, or they are damaged
		best, from = m.remains(i)
	}
	p.offline = ""
	if from != "" && from != m.self && !m.hasSame(i, best) {
		own := m.ask.answers[m.self][i]
		m.do(RequestCopy{P: i, From: from, Epoch: best.Epoch,
			Here: Kept{Copy: own.Copy, Suspect: own.Suspect, Unsure: own.Unsure, Epoch: own.Epoch,
				MaxEpoch: own.MaxEpoch, Seq: own.Seq}})
		return false
	}
	a := Promote{P: i, Epoch: m.view, Set: set, Lost: lost, Empty: from == ""}
	if !a.Empty {
		a.FromEpoch, a.Seq = best.Epoch, best.Seq
		a.Same = m.same(i, set, best)
	}
	m.do(a)
	return true
}

// hasSame reports whether this node's own copy is the best one, although its
// answer does not count: it is outside the set, and its copy was sent here.
func (m *Machine) hasSame(i crawl.Partition, best Answer) bool {
	a := m.ask.answers[m.self][i]
	return a.Copy && !a.Suspect && a.Epoch == best.Epoch && a.Seq == best.Seq
}

// whyAway is the reason why the copies that are here are not promoted.
func whyAway(unsure bool) string {
	if unsure {
		return "the copies here are of machines that lost power, and nodes that may have more are away: "
	}
	return "every copy is away: "
}

// best is the highest copy of the recorded set, this node's own before an equal
// one of another, and the nodes of the set that are away and may return. Copies of machines that
// have lost power since may lack what was acknowledged last: unsure: there are
// only such, and that none of them is taken before all of the set have come.
func (m *Machine) best(
	i crawl.Partition,
	set Set,
) (best Answer, from crawl.NodeID, away []crawl.NodeID, unsure bool) {
	sure := false
	for _, id := range set.Members {
		a, ok := m.ask.answers[id][i]
		switch {
		case !ok && !slices.Contains(m.barred, id):
			away = append(away, id)
		case !ok || !a.Copy || a.Suspect:
		default:
			sure = sure || !a.Unsure
			if from == "" || better(a, best) || id == m.self && !better(best, a) {
				best, from = a, id
			}
		}
	}
	if from != "" && !sure && len(away) > 0 {
		return Answer{}, "", away, true
	}
	return best, from, away, false
}

// better orders copies by tenure, then by mutation.
func better(a, b Answer) bool {
	return a.Epoch > b.Epoch || a.Epoch == b.Epoch && a.Seq > b.Seq
}

// remains is the best of all copies, whatever it is worth.
func (m *Machine) remains(i crawl.Partition) (best Answer, from crawl.NodeID) {
	for _, id := range m.ask.members {
		a := m.ask.answers[id][i]
		if a.Copy && (from == "" || better(a, best) || id == m.self && !better(best, a)) {
			best, from = a, id
		}
	}
	return best, from
}

// same lists the others of the set with exactly this copy.
func (m *Machine) same(i crawl.Partition, set Set, best Answer) []crawl.NodeID {
	var ids []crawl.NodeID
	for _, id := range set.Members {
		a, ok := m.ask.answers[id][i]
		if ok && id != m.self && a.Copy && !a.Suspect && a.Epoch == best.Epoch && a.Seq == best.Seq {
			ids = append(ids, id)
		}
	}
	return ids
}

func names(ids []crawl.NodeID) string {
	if len(ids) == 0 {
		return "no member knows where they are"
	}
	s := string(ids[0])
	for _, id := range ids[1:] {
		s += ", " + string(id)
	}
	return s
}

// onToken answers a holder that has let go for this node. The decision and its
// storing run on the goroutine that installs views, so "still at view n" is true
// until the store has answered.
func (m *Machine) onToken(e TokenArrived) {
	p := &m.parts[e.P]
	reply := func(k ReplyKind, reason string) {
		m.do(Respond{To: e.Reply, Reply: Reply{Kind: k, View: m.view, Reason: reason}})
	}
	switch {
	case p.maxEpoch >= e.View:
		// This node took it, whatever became of it since. Any other answer would
		// let the sender hold it again beside the node that has it now.
		reply(ReplyTook, "")
	case e.View < m.view:
		reply(ReplyRefused, "the token is of an older view")
	case e.View > m.view || !m.listed:
		reply(ReplyLater, "the receiver has not installed that view yet")
	case m.ownerOf(e.P) != m.self:
		reply(ReplyLater, "the receiver is not the owner by its table")
	case p.state != Absent:
		reply(ReplyLater, "the receiver has the partition as "+p.state.String())
	default:
		var same []crawl.NodeID
		for _, id := range e.Set.Members {
			if id != m.self {
				same = append(same, id)
			}
		}
		m.do(Promote{P: e.P, FromEpoch: e.Epoch, Seq: e.Seq, Epoch: m.view, Set: e.Set, Same: same,
			Reply: e.Reply})
	}
}

// onPromoted begins the tenure. The others' copies are looked at before anything
// can change here, so that they need no snapshot.
func (m *Machine) onPromoted(e Promoted) {
	p := &m.parts[e.P]
	if !e.OK {
		if e.Reply != nil {
			m.do(Respond{To: e.Reply, Reply: Reply{
				Kind:   ReplyNoCopy,
				View:   m.view,
				Reason: "the receiver does not have that copy",
			}})
		}
		return
	}
	if p.state != Absent {
		panic("BUG: a partition was promoted that is " + p.state.String())
	}
	*p = part{epoch: e.Epoch, maxEpoch: e.Epoch, attempt: p.attempt, set: e.Set,
		links: map[crawl.NodeID]*link{}}
	p.become(Holding)
	if e.Lost {
		m.lost++
	}
	for _, id := range e.Same {
		if m.member(id) {
			m.openLink(p, OpenLink{P: e.P, Node: id, Based: true, BaseEpoch: e.FromEpoch, BaseSeq: e.Seq})
		}
	}
	m.tend(e.P, p)
	m.do(Acquired{P: e.P, Epoch: e.Epoch})
	if e.Reply != nil {
		m.do(Respond{To: e.Reply, Reply: Reply{Kind: ReplyTook, View: m.view}})
	}
	m.fill()
}

// onAsked answers the owner of partitions. A release to a node that is gone is
// sealed before the answer: this node will never hold it again on its own.
func (m *Machine) onAsked(e Asked) {
	if e.View != m.view || !m.listed {
		m.do(Tell{Past: m.past, Reply: e.Reply})
		return
	}
	t := Tell{Parts: e.Parts, Holds: make([]bool, len(e.Parts)), Past: m.past, Reply: e.Reply}
	for k, i := range e.Parts {
		p := &m.parts[i]
		switch {
		case p.state == Released && !m.member(p.to):
			m.endTenure(i, p)
			m.do(StoreCopy{P: i})
		case p.held():
			t.Holds[k] = true
		}
	}
	m.do(t)
}
