package cli

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"crawlnode/api"
	"crawlnode/api/client"
	"crawlnode/cli/command"
	"crawlnode/crawl"
	"crawlnode/node"
)

// fullFor is how long the disk may be nearly full before an unattended crawl
// stops: other programs may free some space in that time.
const fullFor = time.Minute

// crawlWatch shows the progress of a crawl that ends by itself, and its result.
type crawlWatch struct {
	env     *Env
	line    *command.Progress // nil: nothing is drawn
	started time.Time
	info    node.Info
	batch   bool          // one node, which stops when the disk stays full
	full    atomic.Bool   // it was stopped for that
	last    *crawl.Status // the newest status; read only after run has ended
}

func (w *crawlWatch) open(info node.Info) {
	w.info = info
	fmt.Fprintf(w.env.Stderr, "crawlnode %s: %s, status at http://%s/status\n", api.Escape(w.env.Version), api.Escape(info.DataDir), client.Reachable(info.HTTP))
}

// run keeps the newest status and draws it, until the node has ended.
func (w *crawlWatch) run(ctx context.Context, n *node.Node) {
	if w.line != nil {
		defer w.line.End()
	}
	for running := true; running; {
		running = command.Pause(ctx, 250*time.Millisecond)
		st, err := n.Status(context.WithoutCancel(ctx), false)
		if err != nil {
			continue
		}
		w.last = st
		if w.line != nil {
			w.line.Draw("%s pages, %.1f/s, %s queued, %d in flight, %s", api.Count(st.Throughput.PagesTotal), st.Throughput.PagesPerSecond.Now,
				api.Count(st.Frontier.Queued), st.Frontier.InFlight, time.Since(w.started).Round(time.Second))
		}
		if w.batch && diskFull(st, time.Now()) && w.full.CompareAndSwap(false, true) {
			w.env.Fail(command.ExitSafety, "the disk is nearly full: the crawl stops; free some space and run the same command again")
			n.Drain()
		}
	}
}

// diskFull says whether a disk has been nearly full for long.
func diskFull(st *crawl.Status, now time.Time) bool {
	for _, r := range st.Cluster.Health.Reasons {
		if r.Code == crawl.ReasonLowDisk && now.Sub(r.Since) >= fullFor {
			return true
		}
	}
	return false
}

// summary says what was done and where the files are. The counts are the cluster's,
// those of archive files are this node's.
func (w *crawlWatch) summary(code int, reason string) {
	st := w.last
	if st == nil {
		return // the node did not come up; the error stands there already
	}
	took := time.Since(w.started)
	say := func(label, format string, args ...any) {
		fmt.Fprintf(w.env.Stdout, "%s: %s\n", label, api.Escape(fmt.Sprintf(format, args...)))
	}
	say("pages", "%s in %v (%.1f/s), %s received", api.Count(st.Throughput.PagesTotal), took.Round(100*time.Millisecond),
		float64(st.Throughput.PagesTotal)/max(took.Seconds(), 0.001), api.Bytes(st.Throughput.BytesInTotal))
	r, e, k := st.Fetch.Responses, st.Fetch.ErrorsByCategory, st.Fetch.SkippedByReason
	say("answers", "%d 2xx, %d 3xx, %d 4xx, %d 5xx", r.C2xx, r.C3xx, r.C4xx, r.C5xx)
	say("errors", "%s", amounts(st.Fetch.ErrorsTotal, []amount{{"dns", e.DNS}, {"connect", e.Connect}, {"tls", e.TLS}, {"timeout", e.Timeout},
		{"protocol", e.Protocol}, {"truncated", e.Truncated}, {"blocked address", e.BlockedAddress}, {"other", e.Other}}))
	skipped := []amount{{"out of scope", k.OutOfScope}, {"robots", k.Robots}, {"depth", k.Depth}, {"trap", k.Trap}, {"too long", k.TooLong},
		{"host budget", k.HostBudget}, {"scheme", k.Scheme}, {"invalid", k.Invalid}, {"nofollow", k.NoFollow}}
	total := int64(0)
	for _, s := range skipped {
		total += s.n
	}
	say("skipped", "%s", amounts(total, skipped))
	say("duplicates", "%s links to known URLs, %s pages with a known content, %s with nearly one", api.Count(st.Frontier.DuplicatesTotal),
		api.Count(st.Output.ContentDuplicatesTotal), api.Count(st.Output.NearDuplicatesTotal))
	if st.Output.RecordsTotal > 0 {
		say("archive", "%s records; %s files (%s) in %s%cwarc", api.Count(st.Output.RecordsTotal), api.Count(st.Output.WARCFiles),
			api.Bytes(st.Output.WARCBytesTotal), w.info.DataDir, os.PathSeparator)
	}
	switch {
	case reason != "":
		say("ended", "%s", reason)
	case code == command.ExitSafety:
		say("ended", "the disk is nearly full: with space there again the same command goes on from here")
	case code == command.ExitInterrupted:
		say("ended", "interrupted: the same command goes on from here")
	}
}

// amount is a part of a sum.
type amount struct {
	what string
	n    int64
}

// amounts writes a sum and the parts of it that are not zero.
func amounts(total int64, parts []amount) string {
	var some []string
	for _, p := range parts {
		if p.n > 0 {
			some = append(some, fmt.Sprintf("%s %s", p.what, api.Count(p.n)))
		}
	}
	if len(some) == 0 {
		return api.Count(total)
	}
	return api.Count(total) + " (" + strings.Join(some, ", ") + ")"
}
