package crawldoc

import (
	"maps"
	"time"

	"crawlnode/clusterkey"
	"crawlnode/crawl"
)

// MaxRevoked bounds the tokens whose revocation is remembered, some 100 bytes each.
const MaxRevoked = 10_000

// Revocations are the ids of tokens that were ended before their time, and until when
// that has to be remembered. It is never changed in place. In the crawl document it only
// grows, whichever of two documents wins: see Store.Merge.
type Revocations map[string]time.Time

// With returns the Revocations with those of another set that have to be remembered now,
// and whether they were more. What one side has forgotten does not come back from another.
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

// Revoke returns the document with a token ended, one version on; nil when it is ended.
// What no token can live to see any more is forgotten.
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
