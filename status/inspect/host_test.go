package inspect

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/scheduler/core"
)

// A host in every state that a person may meet.
func TestHostReport(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	later := now.Add(time.Minute)
	queued := [crawl.Bands]int64{0, 2, 0, 1}
	inMemory := func(s core.Status) *core.HostSnapshot {
		return &core.HostSnapshot{Status: s, Gap: time.Second, Addr: netip.MustParseAddr("127.0.0.1")}
	}
	for name, tc := range map[string]struct {
		info    frontier.HostInfo
		seen    *core.HostSnapshot
		state   string
		says    string
		waits   bool
		backoff bool
	}{
		"nothing queued": {frontier.HostInfo{}, nil, crawl.HostIdle, "nothing is queued", false, false},
		"on disk":        {frontier.HostInfo{Queued: queued}, nil, crawl.HostParked, "on disk", false, false},
		"in flight":      {frontier.HostInfo{}, inMemory(core.InFlight), crawl.HostInFlight, "open", false, false},
		"ready":          {frontier.HostInfo{Queued: queued}, inMemory(core.Ready), crawl.HostReady, "fetcher", false, false},
		"its delay":      {frontier.HostInfo{Queued: queued, State: crawl.HostState{NotBefore: later}}, inMemory(core.Waiting), crawl.HostWaiting, "may start in 1m0s", true, false},
		"no name server": {frontier.HostInfo{Queued: queued, State: crawl.HostState{NotBefore: later}},
			&core.HostSnapshot{Status: core.Waiting, Gap: time.Second}, crawl.HostWaiting,
			"no name server has answered for its name yet; it is looked up again in 1m0s", true, false},
		"resolving":         {frontier.HostInfo{Queued: queued}, inMemory(core.Resolving), crawl.HostLoading, "looked up", false, false},
		"over share":        {frontier.HostInfo{Queued: queued}, inMemory(core.OverShare), crawl.HostOverShare, "share", false, false},
		"moving":            {frontier.HostInfo{Queued: queued}, inMemory(core.PartitionFrozen), crawl.HostHeld, "about to move", false, false},
		"retry-after":       {frontier.HostInfo{Queued: queued, State: crawl.HostState{HoldUntil: later}}, nil, crawl.HostBackoff, "Retry-After", true, true},
		"429":               {frontier.HostInfo{Queued: queued, State: crawl.HostState{NotBefore: later, Backoff: time.Minute}}, inMemory(core.Waiting), crawl.HostBackoff, "429 or 503", true, true},
		"a failure":         {frontier.HostInfo{Queued: queued, State: crawl.HostState{NotBefore: later, Failures: 2}}, nil, crawl.HostBackoff, "2 times in a row", true, true},
		"frozen":            {frontier.HostInfo{Queued: queued, State: crawl.HostState{FrozenUntil: later, Failures: 9}}, nil, crawl.HostFrozen, "frozen: it failed 9 times", true, true},
		"thawed":            {frontier.HostInfo{Queued: queued, State: crawl.HostState{FrozenUntil: now.Add(-time.Second)}}, nil, crawl.HostParked, "on disk", false, false},
		"frozen, and empty": {frontier.HostInfo{State: crawl.HostState{FrozenUntil: later}}, nil, crawl.HostIdle, "nothing is queued, and it is frozen: it failed 0 times", true, true},
		"failed, and empty": {frontier.HostInfo{State: crawl.HostState{NotBefore: later, Failures: 2}}, nil, crawl.HostIdle, "nothing is queued, and it is held back: it failed 2 times", true, true},
	} {
		r := hostReport("a.test", &tc.info, tc.seen, crawl.DefaultAgent, now)
		if r.State != tc.state || !strings.Contains(r.Summary, tc.says) || (r.NextAllowedAt != nil) != tc.waits || (r.Politeness.BackoffReason != nil) != tc.backoff {
			t.Errorf("%s: %s, %q, next %v, %+v", name, r.State, r.Summary, r.NextAllowedAt, r.Politeness)
		}
		if tc.info.Queued == queued && r.Queued != 3 {
			t.Errorf("%s: %d queued", name, r.Queued)
		}
	}
}
