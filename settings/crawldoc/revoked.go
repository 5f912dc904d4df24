package crawldoc

import (
	"maps"
	"time"

	"crawlnode/crawl"
	"crawlnode/security/clusterkey"
)

// MaxRevoked bounds the remembered revocations, of about 100 bytes each.
const MaxRevoked = 10_000

// Revocations are the ids of revoked tokens, and the time until which each must be remembered. It
// is immutable. In the crawl document it only grows, whichever of two documents wins: see
// Store.Merge.
type Revocations map[string]time.Time

// with returns the Revocations together with those of another set that must still be remembered,
// and whether there are more. An expired revocation does not come back from another node.
func (r Revocations) with(other Revocations, now time.Time) (all Revocations, grew bool) {
	all = r
	for id, until := range other {
		if !r[id].Before(until) || !now.Before(until) {
			continue
		}
		if !grew {
			if all, grew = maps.Clone(r), true; all == nil {
				all = Revocations{}
			}
		}
		all[id] = until
	}
	return all, grew
}

// Revoke returns the document with a token revoked and the next version; nil when it already is.
// Revocations older than any valid token are dropped.
func (d *Document) Revoke(id string, by crawl.NodeID, now time.Time) *Document {
	if _, revoked := d.Revoked[id]; revoked {
		return nil
	}
	c := *d
	c.Version++
	c.By = by
	c.Revoked = Revocations{id: now.Add(clusterkey.MaxTokenLife + 24*time.Hour).UTC()} // clocks differ
	for old, until := range d.Revoked {
		if now.Before(until) {
			c.Revoked[old] = until
		}
	}
	return &c
}
