package status

import (
	"slices"
	"time"

	"crawlnode/crawl"
)

// BotMember is a member and the keys that it has for signing requests (--bot-key).
type BotMember struct {
	ID    crawl.NodeID
	Name  string
	Keys  []string  // ids; none: its requests are not signed
	Agent string    // the address that publishes them (--bot-agent)
	Since time.Time // its start, of a member with keys
}

// agrees reports whether a site's owner would take both for the same crawler: they name the same
// address, which is what identifies a crawler (draft-ietf-webbotauth-httpsig-protocol, "The
// Signature-Agent URL is the identifier"), and have a key in common, as during a rotation. Or
// neither has a key.
func (m *BotMember) agrees(with *BotMember) bool {
	if len(m.Keys) == 0 || len(with.Keys) == 0 {
		return len(m.Keys) == len(with.Keys)
	}
	return m.Agent == with.Agent && slices.ContainsFunc(m.Keys, func(k string) bool { return slices.Contains(with.Keys, k) })
}

// BotKeyMismatch reports whether the member self differs from the cluster, and returns the member that it
// differs from. That is the one with which most agree; of equals one that signs, then the one that
// started first. It decides by what the members say alone, so all come to the same result.
func BotKeyMismatch(self crawl.NodeID, members []BotMember) (from BotMember, differs bool) {
	var own, model *BotMember
	most := 0
	for i := range members {
		m, agree := &members[i], 0
		for j := range members {
			if m.agrees(&members[j]) {
				agree++
			}
		}
		if m.ID == self {
			own = m
		}
		if model == nil || agree > most || agree == most && m.before(model) {
			model, most = m, agree
		}
	}
	if own == nil || own.agrees(model) {
		return BotMember{}, false
	}
	return *model, true
}

// before orders members that are agreed with equally.
func (m *BotMember) before(other *BotMember) bool {
	switch {
	case (len(m.Keys) > 0) != (len(other.Keys) > 0):
		return len(m.Keys) > 0
	case !m.Since.Equal(other.Since):
		return m.Since.Before(other.Since)
	}
	return m.ID < other.ID
}
