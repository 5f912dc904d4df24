package machine

import (
	"maps"

	"crawlnode/crawl"
)

// This file decides when a copy may be continued from a log of mutations instead of a snapshot
// (ownership rule 16, decision 0356). The log itself is package hints; the simulation uses the same
// rule above a model of it.

// Series is the history of this node's own copy of one partition, as far as a log has it: every
// mutation after Base, up to Last, without a gap. It is bound to the copy, not to a tenure: it goes
// on while the copy is promoted, released, adopted by the next holder, or held again. It ends when
// the copy is replaced or deleted, because the next copy's history is another one.
type Series struct {
	// Generation of the copy on this node's disk. A copy that was replaced has another one.
	Generation uint32 `json:"generation"`
	// Epoch is that of the copy, at Last.
	Epoch crawl.Epoch `json:"epoch"`
	Base  crawl.Seq   `json:"base"`
	Last  crawl.Seq   `json:"last"`
	// Behind are the nodes that the series is kept for, and what is proved of their copies.
	Behind map[crawl.NodeID]Proof `json:"behind"`

	// Every copy of Epoch that is at own or later, and is not ahead of what this process has found
	// on the disk, was written by this process. If this node is not the holder, held is false.
	held bool
	own  crawl.Seq
}

// Proof says of a node's copy: if it is of Epoch, at a mutation from From to To, then it is a
// beginning of the series' copy. It holds because this node sent the copy all of that as the holder
// of Epoch, or because this node's copy was promoted in the place of one that was exactly there.
type Proof struct {
	Epoch crawl.Epoch `json:"epoch"`
	From  crawl.Seq   `json:"from"`
	To    crawl.Seq   `json:"to"`
}

// Found is what the disk has of a partition.
type Found struct {
	Generation uint32
	Epoch      crawl.Epoch
	Seq        crawl.Seq
	Held       bool // this node is the holder
}

// BeginSeries begins the history of a copy that this node holds. This process has written what
// copies of the tenure have from own on.
func BeginSeries(at Found, own crawl.Seq) Series {
	return Series{Generation: at.Generation, Epoch: at.Epoch, Base: at.Seq, Last: at.Seq,
		Behind: map[crawl.NodeID]Proof{}, held: true, own: max(own, at.Seq)}
}

// Follow takes the next mutation of the copy. False: there is a gap, and the series is over. A
// repeat changes nothing: next is false.
func (s *Series) Follow(epoch crawl.Epoch, seq crawl.Seq) (next, ok bool) {
	switch {
	case epoch != s.Epoch || seq > s.Last+1:
		return false, false
	case seq <= s.Last:
		return false, true
	}
	s.Last = seq
	return true, true
}

// Adopt goes on under another holder's tenure, which began with the copy at (from, seq). False: the
// copy is not there, and the series is over.
func (s *Series) Adopt(from crawl.Epoch, seq crawl.Seq, to crawl.Epoch) bool {
	if s.Last != seq || s.Epoch != from && s.Epoch != to {
		return false
	}
	s.Epoch, s.held = to, false
	return true
}

// Promote goes on under a tenure of this node, which began with the copy at (from, seq).
func (s *Series) Promote(from crawl.Epoch, seq crawl.Seq, to crawl.Epoch) bool {
	if s.Last != seq || s.Epoch != from {
		return false
	}
	s.Epoch, s.held, s.own = to, true, seq
	return true
}

// Resume goes on in a new process, or ends the series: false. A disk that has less than the series
// lost power: what it had beyond that was never here. A copy that has more of it than the disk is
// none of its beginnings, and neither is it later, when the disk has as many mutations again: they
// are others. So the proofs end where the disk does, for good.
func (s *Series) Resume(f Found) bool {
	if f.Generation != s.Generation || f.Epoch != s.Epoch || f.Seq > s.Last || f.Seq < s.Base {
		return false
	}
	s.Last, s.held, s.own = f.Seq, f.Held, f.Seq
	for id, p := range s.Behind {
		if p.To = min(p.To, f.Seq); p.To < p.From {
			delete(s.Behind, id)
		} else {
			s.Behind[id] = p
		}
	}
	return len(s.Behind) > 0
}

// Trim forgets the mutations up to base, and the nodes that need one of them.
func (s *Series) Trim(base crawl.Seq) {
	s.Base = max(s.Base, base)
	for id, p := range s.Behind {
		if p.To < s.Base {
			delete(s.Behind, id)
		}
	}
}

// InSync ends the proofs of nodes that a set counts, of the tenure that the copy follows or of a
// later one: their copies have everything. False: no node needs the series any more.
func (s *Series) InSync(set Set) bool {
	if set.Epoch >= s.Epoch {
		for _, id := range set.Members {
			delete(s.Behind, id)
		}
	}
	return len(s.Behind) > 0
}

// Continuation is how a link to a copy goes on.
type Continuation uint8

const (
	// Anew: nothing is proved, or the series does not reach so far back. A snapshot is sent.
	Anew Continuation = iota
	// ByTail: the copy is of the running tenure; what follows is sent.
	ByTail
	// ByTenure: the copy is of an earlier tenure, or of another node's. It goes on under the
	// running one first, where it is, and then what follows is sent.
	ByTenure
)

// Continues decides how a node's copy, at (c.Epoch, c.Seq), goes on under this node's tenure.
func (s *Series) Continues(id crawl.NodeID, tenure crawl.Epoch, c Found) Continuation {
	if !s.held || s.Epoch != tenure || c.Seq < s.Base || c.Seq > s.Last {
		return Anew
	}
	p, known := s.Behind[id]
	switch {
	case !known && c.Epoch == s.Epoch && c.Seq >= s.own:
		return ByTail
	case !known || p.Epoch != c.Epoch || c.Seq < p.From || c.Seq > p.To:
		return Anew
	case c.Epoch == s.Epoch:
		return ByTail
	}
	return ByTenure
}

// Doubts reports whether a node's copy of the running tenure may have other mutations than the one
// here, although it has as many: it has more than was sent to it, or than this disk did not lose.
func (s *Series) Doubts(id crawl.NodeID, c Found) bool {
	p, known := s.Behind[id]
	return known && p.Epoch == c.Epoch && c.Seq > p.To
}

// Clone is a copy that shares nothing.
func (s *Series) Clone() Series {
	c := *s
	c.Behind = maps.Clone(s.Behind)
	return c
}
