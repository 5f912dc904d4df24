package node

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"crawlnode/crawl"
)

// A node that was restarted holds nothing until the members of its last view have listed
// its new boot (ownership rule 6). When too few of them answer it waits, and one of two
// that was restarted alone waits for the other: that may have gone on without it.

// waitPatience is how long a restarted node waits before it tells people: the others list
// it within seconds when they are there.
const waitPatience = 5 * time.Second

// waitingReason says for whom a node waits that no view lists. silent are the members of
// its last view that nobody hears, of so many; since is when it began to wait.
func waitingReason(name string, silent []string, members int, since, now time.Time) (crawl.HealthReason, bool) {
	if len(silent) == 0 || now.Sub(since) < waitPatience {
		return crawl.HealthReason{}, false
	}
	whom := fmt.Sprintf("a majority of its members: %d of %d say nothing (%s)", len(silent), members, strings.Join(silent, ", "))
	if members == 2 {
		whom = silent[0] + ", the other of two nodes, which may have gone on without it"
	}
	return crawl.HealthReason{Code: crawl.ReasonWaitsForMembers, Since: since.UTC(), Message: fmt.Sprintf(
		"%s holds and fetches nothing since it was started again, and waits for %s; start %s again, or when it will not come back: crawlnode nodes forget %s",
		name, whom, silent[0], silent[0])}, true
}

// waiting are the members of the last view that this node waits for; none once a view
// lists this boot.
func (n *Node) waiting() (silent []string, members int) {
	v := n.members.Snapshot().View
	if v == nil || n.listed() {
		return nil, 0
	}
	for _, m := range v.Members {
		if m.ID != n.id && !n.reachable(m.ID) {
			silent = append(silent, m.Name)
		}
	}
	slices.Sort(silent)
	return silent, len(v.Members)
}

// standingReasons are what keeps this node from its part in the cluster: it is not
// listed, or it is and does not know all that the others do.
func (n *Node) standingReasons(now time.Time) []crawl.HealthReason {
	if !n.listed() {
		silent, members := n.waiting()
		if r, ok := waitingReason(n.name, silent, members, n.started, now); ok {
			return []crawl.HealthReason{r}
		}
		return nil
	}
	ms, since := n.spread.behind(now)
	if len(ms) == 0 {
		return nil
	}
	return []crawl.HealthReason{{Code: crawl.ReasonScopeBehind, Since: since.UTC(), Message: fmt.Sprintf(
		"%s lacks scope entries or settings that %s may have, and gets no answer: links out of the scope that it knows wait in its outboxes (%d wait there) and the crawl does not end; start that node again, or when it will not come back: crawlnode nodes forget %s",
		n.name, namesOf(ms), n.front.Totals().Outbox, ms[0].Name)}}
}
