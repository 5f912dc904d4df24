package machine

import (
	"slices"

	"crawlnode/crawl"
)

// This file decides whether the members of a view can know the newest in-sync
// set of a partition that has no holder. More than half of a view record a set,
// and mostly more than half of a view stay in the next one. But a member may vote
// for the view that drops it, those that know may leave in several steps, and those
// that are here may have been away. Each set names the view in which it was recorded;
// holders and owners record it again in each view. If a set could have been recorded
// since by members of which none has answered, no copy may be promoted because an older
// set names it.

// PastView is a view that a node remembers.
type PastView struct {
	View    crawl.Epoch    `json:"view"`
	Members []crawl.NodeID `json:"members"`
}

// maxPast bounds what is remembered, in views.
const maxPast = 32

// remember adds views, the newest last.
func remember(past, more []PastView) []PastView {
	for _, v := range more {
		if !slices.ContainsFunc(past, func(o PastView) bool { return o.View == v.View }) {
			past = append(past, v)
		}
	}
	slices.SortFunc(past, func(a, b PastView) int { return int(a.View) - int(b.View) })
	return past[max(0, len(past)-maxPast):]
}

// recordedIn is the view in which a set was recorded, at the earliest: the upper
// half of its version.
func (s Set) recordedIn() crawl.Epoch {
	return max(s.Epoch, crawl.Epoch(s.Version>>32))
}

// versionIn is a version above one, for a set that is recorded in a view.
func versionIn(view crawl.Epoch, above uint64) uint64 {
	return max(above+1, uint64(view)<<32)
}

// newest judges the newest set that the members know. ok: there is no sign that a
// newer one was recorded without them. sure: that is impossible; it is not when
// no member remembers the views in between.
func (m *Machine) newest(set Set) (ok, sure bool) {
	from := set.recordedIn()
	missing := false
	for u := from; u < m.view; u++ {
		i := slices.IndexFunc(m.past, func(v PastView) bool { return v.View == u })
		if i < 0 {
			missing = true
			break // older ones are forgotten first, but a view may be skipped as well
		}
	}
	for _, v := range m.past {
		if v.View < from || v.View >= m.view {
			continue
		}
		away := 0
		for _, id := range v.Members {
			if !m.member(id) && !slices.Contains(m.barred, id) {
				away++
			}
		}
		if 2*away > len(v.Members) {
			return false, false
		}
	}
	return !missing || m.since == nil || m.anySince(from) || m.allHere(set), !missing
}

// allHere reports whether every member of a set has answered, or is forgotten.
// When no more than that is known, the partition can still return.
func (m *Machine) allHere(set Set) bool {
	return !slices.ContainsFunc(set.Members, func(id crawl.NodeID) bool {
		return !m.member(id) && !slices.Contains(m.barred, id)
	})
}

// anySince reports whether a member has been one ever since a view.
func (m *Machine) anySince(view crawl.Epoch) bool {
	return slices.ContainsFunc(m.members, func(id crawl.NodeID) bool { return m.since[id] <= view })
}
