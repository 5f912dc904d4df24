package cli

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"crawlnode/api/client"
	"crawlnode/api/plaintext"
	"crawlnode/cli/command"
	"crawlnode/cli/seedlist"
	"crawlnode/cli/seedwatch"
	"crawlnode/config"
	"crawlnode/crawl"
	"crawlnode/node"
)

// fullFor is how long the disk may be nearly full before an unattended crawl
// stops: other programs may free some space in that time.
const fullFor = time.Minute

// progressEvery is how often progress is written where there is no terminal to redraw a
// line on.
const progressEvery = 10 * time.Second

// crawlWatch shows the progress of a crawl that ends by itself, and its result.
type crawlWatch struct {
	env     *Env
	line    *command.Progress // nil: nothing is shown
	started time.Time
	info    node.Info
	batch   bool          // one node, which stops when the disk stays full
	full    atomic.Bool   // it was stopped for that
	last    *crawl.Status // the newest status; read only after run has ended
	fetched int64         // pages of this run; written by run

	seeds   *seedwatch.Watch // nil: they are not looked at
	leaving func() bool      // an end was asked for, which is no reason to give up; nil: never
	gaveUp  atomic.Bool      // no seed could be fetched
	told    time.Time        // when progress was written last, without a terminal
	lost    *givenUpTally    // what was given up; nil: nothing
	traps   map[string]bool  // the patterns that were told
	broken  *brokenList      // the broken links; nil: none
}

func (w *crawlWatch) open(info node.Info) {
	w.info = info
	fmt.Fprintf(w.env.Stderr, "crawlnode %s: %s, status at http://%s/status\n",
		plaintext.Escape(w.env.Version), plaintext.Escape(info.DataDir), client.Reachable(info.HTTP))
}

// run keeps the newest status and shows it, until the node has ended.
func (w *crawlWatch) run(ctx context.Context, n *node.Node) {
	if w.line != nil {
		defer w.line.End()
	}
	for running := true; running; {
		running = command.Pause(ctx, 250*time.Millisecond)
		now := time.Now()
		w.fetched = n.PagesFetched()
		st, err := n.Status(context.WithoutCancel(ctx), false)
		if err != nil {
			continue
		}
		w.last = st
		if fruitless := w.fruitless(); running && w.seeds != nil && (fruitless || !w.seeds.Decided()) {
			w.lookAtSeeds(ctx, n, now, fruitless)
		}
		w.tellTraps(st)
		w.show(st, now)
		if w.batch && diskFull(st, now) && w.full.CompareAndSwap(false, true) {
			w.env.Fail(command.ExitSafety,
				"the disk is nearly full: the crawl stops; free some space and run the same command again")
			n.Drain()
		}
	}
}

// tellTraps says once of each trap which pages it has and how to leave them out.
func (w *crawlWatch) tellTraps(st *crawl.Status) {
	for i := range st.Fetch.Traps {
		t := &st.Fetch.Traps[i]
		if w.traps[t.Exclude] {
			continue
		}
		if w.traps == nil {
			w.traps = map[string]bool{}
		}
		w.traps[t.Exclude] = true
		w.env.Fail(0, "%s makes pages without end: %s of %s so far, which say hardly anything new; "+
			"to leave them out now: %s; in another crawl: --exclude %s", t.Host,
			plaintext.CountOf(t.Pages, "page"),
			t.Exclude, t.Command, config.InShell(t.Exclude))
	}
}

// fruitless reports whether this run has fetched nothing.
func (w *crawlWatch) fruitless() bool { return w.fetched == 0 }

// seedNode is what lookAtSeeds needs of a node.
type seedNode interface {
	seedwatch.Explainer
	Stop()
}

// lookAtSeeds ends a crawl that has fetched nothing so far and cannot fetch any of its seeds.
func (w *crawlWatch) lookAtSeeds(ctx context.Context, n seedNode, now time.Time, fruitless bool) {
	for _, line := range w.seeds.Look(ctx, n, now) {
		w.env.Fail(0, "%s", line)
	}
	if fruitless && w.seeds.Hopeless(now) && !w.leaving() && w.gaveUp.CompareAndSwap(false, true) {
		n.Stop() // nothing is under way that could be lost
	}
}

// exitCode is that of the whole crawl. code is the node's own, and finished why the crawl has
// ended, or "".
func (w *crawlWatch) exitCode(code int, finished string) int {
	fruitless := finished != "" && w.last != nil && w.fruitless() && w.seeds != nil && w.seeds.Failed()
	switch {
	case w.gaveUp.Load() || fruitless && code == command.ExitOK:
		w.gaveUp.Store(true)
		for _, line := range w.seeds.Complaints() {
			w.env.Fail(command.ExitError, "%s", line)
		}
		return command.ExitError
	case code == command.ExitOK && finished != "" && w.seeds != nil && w.last != nil &&
		w.last.Fetch.Responses.C2xx == 0:
		for _, line := range w.seeds.Refusals() {
			code = w.env.Fail(command.ExitError, "%s", line)
		}
		return code
	case w.full.Load() && finished == "" && code == command.ExitInterrupted:
		return command.ExitSafety
	}
	return code
}

// show draws the progress on a terminal, and writes a line now and then elsewhere.
func (w *crawlWatch) show(st *crawl.Status, now time.Time) {
	if w.line == nil {
		return
	}
	doing := ""
	if w.seeds != nil && w.fruitless() {
		doing = w.seeds.Doing()
	}
	text := progressText(st, doing, now.Sub(w.started))
	if command.IsTerminal(w.line) {
		w.line.Draw("%s", text)
		return
	}
	if wait := progressEvery; w.told.IsZero() && now.Sub(w.started) >= time.Second ||
		!w.told.IsZero() && now.Sub(w.told) >= wait {
		w.told = now
		fmt.Fprintln(w.line, plaintext.Escape(text))
	}
}

// progressText is the progress in one line. doing is what a run without a page does.
func progressText(st *crawl.Status, doing string, took time.Duration) string {
	took = took.Round(time.Second)
	switch {
	case doing != "" && st.Throughput.PagesTotal == 0:
		return fmt.Sprintf("no page yet: %s (%v)", doing, took)
	case doing != "":
		return fmt.Sprintf("%s pages of earlier runs, no new one yet: %s (%v)",
			plaintext.Count(st.Throughput.PagesTotal), doing, took)
	}
	text := fmt.Sprintf("%s, %.1f/s, %s queued, %d in flight, %v",
		plaintext.CountOf(st.Throughput.PagesTotal, "page"), st.Throughput.PagesPerSecond.Now,
		plaintext.Count(st.Frontier.Queued), st.Frontier.InFlight, took)
	if st.Crawl.State == crawl.CrawlWaiting {
		text += ", " + st.Crawl.Message
	}
	if traps := st.Fetch.Traps; len(traps) > 0 {
		text += fmt.Sprintf(", in a trap: %s of %s", plaintext.CountOf(traps[0].Pages, "page"),
			traps[0].Exclude)
		if more := len(traps) - 1; more > 0 {
			text += fmt.Sprintf(" and of %d more", more)
		}
	}
	if left, ok := timeLeft(st); ok {
		text += fmt.Sprintf(", about %v to the limit", left)
	}
	if h := &st.Frontier.Hosts; st.Frontier.InFlight == 0 && h.Ready+h.Waiting == 0 &&
		h.Backoff+h.Frozen > 0 {
		text += fmt.Sprintf(
			", waits for hosts that are held back: %d; crawlnode hosts show HOST says why",
			h.Backoff+h.Frozen)
	}
	return text
}

// longestGuess bounds a time that is computed from the speed of a minute: beyond, it says nothing.
const longestGuess = 365 * 24 * time.Hour

// timeLeft is the time until the crawl reaches one of its limits, at the rate of the last
// minute; false when it has none.
func timeLeft(st *crawl.Status) (left time.Duration, ok bool) {
	l := &st.Crawl.Limits
	if rate := st.Throughput.PagesPerSecond.Avg1m; l.MaxPages != nil && rate > 0 {
		pages := max(*l.MaxPages-st.Throughput.PagesTotal, 0)
		if sec := float64(pages) / rate; sec < longestGuess.Seconds() {
			left, ok = time.Duration(sec*float64(time.Second)), true
		}
	}
	if l.MaxDurationSeconds != nil {
		byTime := time.Duration(
			max(*l.MaxDurationSeconds-st.Crawl.RunningSeconds, 0) * float64(time.Second))
		if !ok || byTime < left {
			left, ok = byTime, true
		}
	}
	return left.Round(time.Second), ok
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
		fmt.Fprintf(w.env.Stdout, "%s: %s\n", label, plaintext.Escape(fmt.Sprintf(format, args...)))
	}
	fresh, inRun := st.Throughput.PagesTotal, ""
	if own := w.fetched; w.batch && own < fresh {
		fresh, inRun = own, plaintext.CountOf(own, "new page")+", "
	}
	say("pages", "%s in %v (%s%.1f/s), %s received", plaintext.Count(st.Throughput.PagesTotal),
		took.Round(100*time.Millisecond), inRun,
		float64(fresh)/max(took.Seconds(), 0.001), plaintext.Bytes(st.Throughput.BytesInTotal))
	r, e, k := st.Fetch.Responses, st.Fetch.ErrorsByCategory, st.Fetch.SkippedByReason
	say("answers", "%d 2xx, %d 3xx, %d 4xx, %d 5xx", r.C2xx, r.C3xx, r.C4xx, r.C5xx)
	if st.Fetch.ErrorsTotal > 0 || w.lost == nil { // errors: 0 would say that all is well
		say("errors", "%s", amounts(st.Fetch.ErrorsTotal, []amount{{"dns", e.DNS}, {"connect", e.Connect},
			{"tls", e.TLS}, {"timeout", e.Timeout},
			{"protocol", e.Protocol}, {"truncated", e.Truncated}, {"blocked address", e.BlockedAddress},
			{"other", e.Other}, {"proxy", e.Proxy}}))
	}
	if w.lost != nil {
		say("given up", "%s", w.lost.Summary())
		for _, line := range w.lost.HostLines() {
			say("given up", "%s", line)
		}
	}
	if w.broken != nil {
		for _, line := range w.broken.Lines() {
			say("broken link", "%s", line)
		}
	}
	skipped := []amount{{"out of scope", k.OutOfScope}, {"robots", k.Robots}, {"depth", k.Depth},
		{"trap", k.Trap}, {"too long", k.TooLong},
		{"host budget", k.HostBudget}, {"scheme", k.Scheme}, {"invalid", k.Invalid}, {"nofollow", k.NoFollow}, {"focus", k.Focus}}
	total := int64(0)
	for _, s := range skipped {
		total += s.n
	}
	say("skipped", "%s", amounts(total, skipped))
	if n := st.Fetch.BlockedTotal; n > 0 {
		var kinds []amount
		for _, kind := range slices.Sorted(maps.Keys(st.Fetch.BlockedByKind)) {
			kinds = append(kinds, amount{kind, st.Fetch.BlockedByKind[kind]})
		}
		say("blocked", "%s answers were bot walls: crawlnode explain hosts_block_us says what to do",
			amounts(n, kinds))
	}
	out := st.Preferences.LeftOutTotal
	if n := out.Search + out.Archive + out.AIInput + out.AITrain; n > 0 {
		say("left out", "%s: owners said no, so exports, sinks, replay or the index pass these pages "+
			"over (--preferences obey)",
			amounts(n, []amount{{"search", out.Search}, {"archive", out.Archive}, {"ai-input", out.AIInput},
				{"ai-train", out.AITrain}}))
	}
	for i := range st.Fetch.Traps {
		t := &st.Fetch.Traps[i]
		say("trap", "%s of %s say hardly anything new; to leave them out: --exclude %s",
			plaintext.CountOf(t.Pages, "page"), t.Host, config.InShell(t.Exclude))
	}
	if len(st.Fetch.Traps) >= crawl.MaxTraps {
		say("traps", "at most %d are named here, those with the most pages; the log names all",
			crawl.MaxTraps)
	}
	say("duplicates", "%s links to known URLs, %s pages with a known content, %s with nearly one",
		plaintext.Count(st.Frontier.DuplicatesTotal),
		plaintext.Count(st.Output.ContentDuplicatesTotal), plaintext.Count(st.Output.NearDuplicatesTotal))
	if st.Output.RecordsTotal > 0 {
		say("archive", "%s; %s (%s) in %s%cwarc", plaintext.CountOf(st.Output.RecordsTotal, "record"),
			plaintext.CountOf(st.Output.WARCFiles, "file"),
			plaintext.Bytes(st.Output.WARCBytesTotal), w.info.DataDir, os.PathSeparator)
	}
	switch {
	case w.gaveUp.Load():
		say("ended", "no seed could be fetched; the same command tries again")
	case reason != "":
		say("ended", "%s", reason)
	case code == command.ExitSafety:
		say("ended", "the disk is nearly full: with space there again the same command goes on from here")
	case code == command.ExitInterrupted:
		say("ended", "interrupted: the same command goes on from here")
	}
	if w.batch && !w.gaveUp.Load() {
		defer w.sayLost()
		defer w.sayBroken()
		for _, next := range w.nextSteps(reason) {
			fmt.Fprintln(w.env.Stdout, "next: "+plaintext.Escape(next))
		}
	}
}

// countLost counts what was given up, when the node has ended, and returns the exit code: a crawl
// that has got nothing of a seed's host has failed.
func (w *crawlWatch) countLost(
	ctx context.Context,
	code int,
	finished string,
	seeds []seedlist.Entry,
) int {
	if w.last == nil || w.last.Fetch.GivenUpTotal == 0 {
		return code
	}
	var hosts []string
	for i := range seeds {
		if u, err := hostOfSeed(seeds[i].URL); err == nil {
			hosts = append(hosts, u)
		}
	}
	t, err := readGivenUp(context.WithoutCancel(ctx), w.info.DataDir, hosts)
	switch {
	case err != nil:
		w.env.Fail(0, "what was given up cannot be listed: %v", err)
		return code
	case t.URLs == 0: // they were fetched since
		return code
	}
	w.lost = &t
	if code != command.ExitOK || finished == "" {
		return code
	}
	for _, h := range t.Barren[:min(len(t.Barren), maxLostHosts)] {
		code = w.env.Fail(command.ExitError, "nothing of the seed's host %s was fetched: %s", h.Host,
			h.Reason)
	}
	return code
}

// findBroken finds the broken links, when the node has ended.
func (w *crawlWatch) findBroken(ctx context.Context) {
	if w.last == nil {
		return
	}
	if f := &w.last.Fetch; f.GivenUpTotal+f.Responses.C4xx+f.Responses.C5xx == 0 {
		return
	}
	b, err := readBroken(context.WithoutCancel(ctx), w.info.DataDir)
	switch {
	case err != nil:
		w.env.Fail(0, "broken links cannot be listed: %v", err)
	case b.Links > 0:
		w.broken = &b
	}
}

// sayBroken is the last line but one of a crawl that has found broken links.
func (w *crawlWatch) sayBroken() {
	if w.broken != nil {
		list := commandLine(ownCommand(w.env.Executable), "urls", "list", "--state", "broken",
			"--referrer",
			"--data-dir", w.info.DataDir)
		text := w.broken.Total() + "; " + list +
			" lists them, each with the page on which it was found first"
		if len(w.broken.First[0].Pages) == 0 {
			text += "; a crawl with --derive links names the other pages here"
		}
		fmt.Fprintln(w.env.Stdout, plaintext.Escape(text))
	}
}

// hostOfSeed is the host of a URL, as records have it.
func hostOfSeed(seed string) (string, error) {
	u, err := url.Parse(seed)
	if err != nil {
		return "", err
	}
	return strings.ToLower(u.Hostname()), nil
}

// sayLost is the last line of a crawl that has given up URLs.
func (w *crawlWatch) sayLost() {
	if w.lost != nil {
		fmt.Fprintln(w.env.Stdout,
			plaintext.Escape(fmt.Sprintf("%s given up; %s lists them, with the reasons", w.lost.Total(),
				commandLine(ownCommand(w.env.Executable), "urls", "list", "--state", "failed", "--data-dir",
					w.info.DataDir))))
	}
}

// nextSteps are what a person may want to do when a crawl has ended, for a reason or, with "",
// before its end.
func (w *crawlWatch) nextSteps(reason string) []string {
	var steps []string
	if w.last.Output.RecordsTotal > 0 && w.last.Throughput.PagesTotal > 0 && w.seeds != nil {
		steps = append(steps, commandLine(ownCommand(w.env.Executable), "cat", w.seeds.First(),
			"--data-dir", w.info.DataDir)+" shows the page")
	}
	switch reason {
	case crawl.FinishExhausted:
		steps = append(steps,
			"the same command with --again fetches the seeds once more and follows what is new there")
	case crawl.FinishMaxPages, crawl.FinishMaxDuration:
		steps = append(steps, "the same command with a higher limit goes on from here")
	}
	return steps
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
			some = append(some, fmt.Sprintf("%s %s", p.what, plaintext.Count(p.n)))
		}
	}
	if len(some) == 0 {
		return plaintext.Count(total)
	}
	return plaintext.Count(total) + " (" + strings.Join(some, ", ") + ")"
}
