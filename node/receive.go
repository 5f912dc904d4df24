package node

import (
	"context"
	"fmt"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/peer"
	"crawlnode/pipeline"
	"crawlnode/web/scope"
)

// ackPatience bounds how long a batch of links waits for the replicas; it is
// below the time after which the sender gives the stream up.
const ackPatience = 3500 * time.Millisecond

// StoreLinks stores a batch of links in the partitions held here. The scope is
// judged again, so that a sender with other rules cannot widen the crawl. But a
// refusal is final only when both judge by the same rules: a seed's scope entry
// may be known to the sender a moment earlier, or to others and not yet to both, and its
// links must not be lost. A URL
// that opens its own scope is stored with its entry, if that is not known yet.
func (h handler) StoreLinks(ctx context.Context, from string, links []*peer.Link, stamp *peer.RulesStamp) ([]peer.Verdict, error) {
	n := h.node
	verdicts := make([]peer.Verdict, len(links))
	p := n.partitions()
	if p == 0 || !n.synced.Load() {
		for i := range verdicts {
			verdicts[i] = peer.Verdict_VERDICT_NOT_HOLDER
		}
		return verdicts, nil
	}
	rules := n.doc.Current().Rules
	outOfScope := peer.Verdict_VERDICT_REFUSED
	if !agree(n.doc, stamp) {
		n.compareRules(crawl.NodeID(from), stamp)
		outOfScope = peer.Verdict_VERDICT_NOT_HOLDER // ask again, when both know the same
	} else if !n.spread.complete(time.Now()) {
		outOfScope = peer.Verdict_VERDICT_NOT_HOLDER // and know all
	}
	var accepted []crawl.Routed
	var places []int
	var opened []string
	skipped := map[crawl.Partition]crawl.SkipCounts{}
	for i, l := range links {
		r, err := fromWire(l, p)
		switch {
		case err != nil: // no correct node sends it; the others of the batch are not to blame
			verdicts[i] = peer.Verdict_VERDICT_REFUSED
			n.warnOnce(from, err)
		case !n.holds(r.Partition):
			verdicts[i] = peer.Verdict_VERDICT_NOT_HOLDER
		default:
			v, entry := n.judge(rules, &r.Target)
			if entry != "" {
				opened = append(opened, entry)
			}
			if v.Admit {
				accepted, places = append(accepted, r), append(places, i)
				continue
			}
			if verdicts[i] = outOfScope; outOfScope == peer.Verdict_VERDICT_REFUSED {
				counts := skipped[r.Partition]
				counts[pipeline.ReasonOf(v)]++
				skipped[r.Partition] = counts
			}
		}
	}
	if err := n.front.Skip(ctx, skipped); err != nil {
		return nil, fmt.Errorf("count refused links: %w", err)
	}
	if len(accepted) == 0 {
		return verdicts, nil
	}
	if err := n.joinScope(opened...); err != nil {
		return nil, err
	}
	g := n.pledge(accepted)
	admissions, err := n.front.Add(ctx, accepted)
	if err != nil {
		return nil, fmt.Errorf("store links: %w", err)
	}
	bounded, cancel := context.WithTimeout(ctx, ackPatience)
	defer cancel()
	safe := g.acknowledged(bounded)
	for i, a := range admissions {
		verdicts[places[i]] = promiseOf(a, safe(accepted[i].Partition))
	}
	return verdicts, nil
}

// promiseOf is what the sender of a link is told. One that is stored here and not yet safe
// on the replicas stays with the sender, who asks again.
func promiseOf(a frontier.Admission, safe bool) peer.Verdict {
	if !safe {
		return peer.Verdict_VERDICT_NOT_HOLDER
	}
	return verdictOf(a)
}

// judge holds a peer's link against the scope. entry, unless it is "", is one that
// the link brings with it.
func (n *Node) judge(rules *scope.Rules, t *crawl.Target) (v scope.Verdict, entry string) {
	v = rules.Judge(t.URL, pipeline.JudgedDepth(t), n.doc.Seeds)
	if v.Admit || !pipeline.OpensScope(t.Via, t.Depth) || rules.Covers(t.URL, n.doc.Seeds) {
		return v, ""
	}
	entry = rules.EntryOf(t.URL)
	if v = rules.Judge(t.URL, pipeline.JudgedDepth(t), scope.NewSeeds([]string{entry})); !v.Admit {
		return v, ""
	}
	return v, entry
}

// warnOnce logs one line for each peer that sends what no correct node sends.
func (n *Node) warnOnce(from string, err error) {
	if _, known := n.warned.LoadOrStore(from, true); !known {
		n.log.Warn("refused a peer's link; further ones of this peer are not logged", "peer", from, "error", err)
	}
}

func verdictOf(a frontier.Admission) peer.Verdict {
	switch a {
	case frontier.Added:
		return peer.Verdict_VERDICT_ADDED
	case frontier.Known:
		return peer.Verdict_VERDICT_KNOWN
	case frontier.NotHolder:
		return peer.Verdict_VERDICT_NOT_HOLDER
	default:
		return peer.Verdict_VERDICT_REFUSED
	}
}
