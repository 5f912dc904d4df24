package report

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"crawlnode/config"
	"crawlnode/crawl"
	"crawlnode/frontier/storage"
	"crawlnode/membership"
	"crawlnode/output"
	"crawlnode/output/upload"
	"crawlnode/security/egress"
)

// HealthReasons are what an operator should look at on this node.
func (r *Reporter) HealthReasons() []crawl.HealthReason {
	var rs []crawl.HealthReason
	if r.Config.Insecure && !r.Keyed {
		rs = append(rs, crawl.HealthReason{Code: crawl.ReasonInsecure, Since: r.Started.UTC(), Message: r.Name + " runs with --insecure: anybody who reaches its ports can join, command and read"})
	}
	for _, v := range r.Space.Short() {
		lack, until := v.Lacks()
		rs = append(rs, crawl.HealthReason{Code: crawl.ReasonLowDisk, Since: v.Since, Message: fmt.Sprintf("%s does not fetch, because %s: %s", r.Name, lack, until)})
		if v.Path == r.Dir && v.Files != nil && *v.Files < storage.ReserveFiles {
			rs = append(rs, crawl.HealthReason{Code: crawl.ReasonDiskFull, Since: v.Since, Message: fmt.Sprintf(
				"%s stores and acknowledges nothing new, seeds and links included, because fewer than %d more files can be made at %s (df -i): remove some, or drain it", r.Name, storage.ReserveFiles, v.Path)})
		} else if v.Path == r.Dir && v.Free < storage.ReserveBytes {
			rs = append(rs, crawl.HealthReason{Code: crawl.ReasonDiskFull, Since: v.Since, Message: fmt.Sprintf(
				"%s stores and acknowledges nothing new, seeds and links included, because less than %d MiB are free at %s; its partitions can still change hands: free some space, or drain it", r.Name, storage.ReserveBytes>>20, v.Path)})
		}
	}
	rs = append(rs, shortageReasons(r.Name, r.Outputs.Shortage(), r.Space.ArchiveFree(), rs)...)
	if s := r.Stalls.Stalled(); s != nil {
		rs = append(rs, crawl.HealthReason{Code: crawl.ReasonDiskStalled, Since: s.Since.UTC(), Message: r.Name + " " + s.Text() +
			": look at the disk of " + strings.Join(r.Space.Paths(), ", and at that of ") + "; the node goes on by itself when it answers"})
	}
	rs = append(rs, r.membershipReasons(time.Now())...)
	rs = append(rs, r.joinReasons()...)
	rs = append(rs, unansweredReasons(r.Name, r.Members.Snapshot().Unanswered)...)
	if since, down := r.DNS.Outage(); down {
		rs = append(rs, crawl.HealthReason{Code: crawl.ReasonDNSDown, Since: since.UTC(), Message: r.Name + " gets no answer from any name server: hosts whose addresses are not known wait, and nothing is given up for a day; look at --dns, or at the system's name servers"})
	}
	rs = append(rs, r.failingReasons()...)
	rs = append(rs, r.overdueReasons(time.Now())...)
	rs = append(rs, r.keeperReasons(time.Now())...)
	rs = append(rs, r.sinkReasons(time.Now())...)
	rs = append(rs, webhookReasons(r.Name, r.Webhooks, time.Now())...)
	if f, failing := r.Outputs.UploadFailing(); failing {
		rs = append(rs, uploadReason(r.Name, f, r.Outputs.Uploads(time.Now()).QueuedFiles, time.Now())...)
	}
	if r.Indexing != nil {
		since, err := r.Indexing()
		rs = append(rs, indexReason(r.Name, since, err, time.Now())...)
	}
	rs = append(rs, r.renderReasons()...)
	if since, why := r.BotDiffers(); why != "" {
		rs = append(rs, crawl.HealthReason{Code: crawl.ReasonBotKey, Since: since.UTC(), Message: why})
	}
	rs = append(rs, r.siteReasons(time.Now())...)
	if f, refusing := r.Refusing(time.Now()); refusing {
		rs = append(rs, refusalReason(r.Name, f))
	}
	if d := r.Front.Dead(); d.Err != nil && time.Since(d.Since) > deletePatience {
		rs = append(rs, crawl.HealthReason{Code: crawl.ReasonNotDeleted, Since: d.Since.UTC(), Message: fmt.Sprintf(
			"%s cannot delete %d copies that it does not use any more, about %d MiB, and goes on trying: %v; look at its disk", r.Name, d.Generations, d.Bytes>>20, d.Err)})
	}
	return rs
}

// shortageReasons say that the archive finds no space, as far as the reasons so far, of volumes that are low, do not say it.
func shortageReasons(name string, s output.Shortage, free *int64, said []crawl.HealthReason) (rs []crawl.HealthReason) {
	has := func(code string) bool {
		return slices.ContainsFunc(said, func(r crawl.HealthReason) bool { return r.Code == code })
	}
	if s.Since.IsZero() {
		return nil
	}
	if !has(crawl.ReasonLowDisk) {
		but := ""
		if free != nil {
			but = fmt.Sprintf(", although the system says that %d MiB are free there", *free>>20)
		}
		rs = append(rs, crawl.HealthReason{Code: crawl.ReasonLowDisk, Since: s.Since.UTC(), Message: fmt.Sprintf(
			"%s does not store what it fetches, because its archive finds no space at %s%s: look for a quota, or for a file system without inodes (df -i), and free some or allow more; it goes on by itself", name, s.Path, but)})
	}
	if s.Commits && !has(crawl.ReasonDiskFull) {
		rs = append(rs, crawl.HealthReason{Code: crawl.ReasonDiskFull, Since: s.Since.UTC(), Message: fmt.Sprintf(
			"%s stores and acknowledges nothing new, seeds, links and copies included, because records of its archive wait for space at %s: free some space there, or allow more; it goes on by itself", name, s.Path)})
	}
	return rs
}

// keeperPatience is how long the turn of an address may be nobody's: longer than a member that has died is
// waited for.
const keeperPatience = 30 * time.Second

// keeperReasons say that addresses are not requested because nobody says whose turn it is. A node
// without a lease requests nothing, and says so.
func (r *Reporter) keeperReasons(now time.Time) []crawl.HealthReason {
	d, _ := r.Node.Engine()
	if d == nil || r.Members.Lease() <= 0 {
		return nil
	}
	n, longest := d.SilentKeepers(keeperPatience)
	if n == 0 {
		return nil
	}
	return []crawl.HealthReason{{Code: crawl.ReasonKeeperSilent, Since: now.Add(-longest).UTC().Truncate(time.Second), Message: fmt.Sprintf(
		"%s has hosts at %d addresses that wait, because the nodes that space the requests to them do not answer it (--ip-delay): repair the network between the nodes, or see which partitions nobody serves", r.Name, n)}}
}

// failingReasons name the domains that are held back.
func (r *Reporter) failingReasons() []crawl.HealthReason {
	d, _ := r.Node.Engine()
	if d == nil {
		return nil
	}
	var rs []crawl.HealthReason
	for _, f := range d.Failing() {
		rs = append(rs, crawl.HealthReason{Code: crawl.ReasonDomainFails, Since: f.Since.UTC(), Message: fmt.Sprintf(
			"%s holds hosts of %s back, because %d of the last %d tries there failed or were too slow: they have a small share of look-ups and fetchers and their URLs wait on disk; to leave them out: crawlnode crawl-config set 'exclude=%s'",
			r.Name, f.Domain, f.Bad, f.Tries, excludePattern(f.Domain))})
	}
	return rs
}

// excludePattern leaves out the hosts of a domain, or of the block of addresses that
// literals belong to.
func excludePattern(domain string) string {
	p, err := netip.ParsePrefix(domain)
	switch {
	case err != nil:
		return "host:*." + domain
	case p.Addr().Is4():
		return strings.TrimSuffix(domain, "0/24") + "*"
	}
	return "[" + strings.TrimSuffix(domain, ":/48") + "*"
}

// deletePatience is how long deleting may fail before the operator is told.
const deletePatience = 10 * time.Second

// joinReasons name the addresses of --join that cannot be used, one reason for each kind.
func (r *Reporter) joinReasons() []crawl.HealthReason {
	var rs []crawl.HealthReason
	for _, code := range [...]string{crawl.ReasonJoinSilent, crawl.ReasonJoinWrong} {
		more := 0
		for _, j := range r.Members.Snapshot().Join {
			switch last := len(rs) - 1; {
			case j.Code != code:
			case last >= 0 && rs[last].Code == code:
				more++
			default:
				rs = append(rs, crawl.HealthReason{Code: code, Since: j.Since.UTC(), Message: fmt.Sprintf("%s cannot use %s of its --join: %s", r.Name, j.Addr, j.Reason)})
			}
		}
		if more > 0 {
			rs[len(rs)-1].Message += fmt.Sprintf(" (and %d more of its addresses)", more)
		}
	}
	return rs
}

// PausedReason says why this node fetches nothing although there may be work; "" is none.
func (r *Reporter) PausedReason(noLease bool) string {
	switch d := r.Documents.Current().Doc; {
	case !r.joined() && r.Node.Draining():
		return "the node is leaving"
	case !r.joined():
		return "the node has not joined yet"
	case r.Stalls.Stalled() != nil:
		return r.Stalls.Stalled().Text()
	case noLease && r.Members.Snapshot().Minority:
		return "no lease: this side cannot reach a majority of the members"
	case r.Space.Low():
		return "the disk is nearly full" + r.Space.Where()
	case !r.Outputs.Shortage().Since.IsZero():
		return "the archive finds no space at " + r.Outputs.Shortage().Path
	case r.botDiffers():
		return "its bot key is not that of the other nodes"
	case d.State == crawl.CrawlPaused:
		return "the crawl was paused"
	case noLease:
		return "no lease: too few members have confirmed it in the last seconds"
	}
	return ""
}

// botDiffers reports whether this node fetches nothing because of its bot key.
func (r *Reporter) botDiffers() bool {
	_, why := r.BotDiffers()
	return why != ""
}

// waitPatience is how long a restarted node waits before it tells the operator: the others list
// it within seconds when they answer.
const waitPatience = 5 * time.Second

// waitingReason says which members a node that no view lists waits for. silent are those of
// its last view that do not answer, of so many; since is when it began to wait.
//
// A restarted node holds nothing until the members of its last view have listed its new boot
// (ownership rule 6). While too few of them answer it waits. One of two that was restarted alone
// waits for the other, which may have gone on without it.
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

// admitPatience is how long a node waits to be admitted before it tells the operator.
const admitPatience = 15 * time.Second

// notAdmitted says that the members answer this node, and do not list it.
func notAdmitted(name string, self membership.Member, since time.Time) crawl.HealthReason {
	return crawl.HealthReason{Code: crawl.ReasonNotAdmitted, Since: since.UTC(), Message: fmt.Sprintf(
		"%s is not admitted, although the members of its cluster answer it: they may get no answer from it at %s; look at its --advertise, at firewalls, and at the health of a member", name, self.RPC)}
}

// unansweredReasons name the nodes that call this one and answer none of its calls.
func unansweredReasons(name string, nodes []membership.Unanswered) (rs []crawl.HealthReason) {
	for _, n := range nodes {
		rs = append(rs, crawl.HealthReason{Code: crawl.ReasonUnanswered, Since: n.Since.UTC(), Message: fmt.Sprintf(
			"%s gets calls from %s and no answer from it at %s: start %s with an --advertise that leads to it, or open that port; or stop it", name, n.Name, n.RPC, n.Name)})
	}
	return rs
}

// waiting are the members of the last view that this node waits for; none when a view
// lists this boot.
func (r *Reporter) waiting() (silent []string, members int) {
	v := r.Members.Snapshot().View
	if v == nil || r.Node.Listed() {
		return nil, 0
	}
	for _, m := range v.Members {
		if m.ID != r.ID && !r.Node.Reachable(m.ID) {
			silent = append(silent, m.Name)
		}
	}
	slices.Sort(silent)
	return silent, len(v.Members)
}

// membershipReasons say what keeps this node from its part in the cluster: it is not
// listed, or it is and lacks entries or settings that others have.
func (r *Reporter) membershipReasons(now time.Time) []crawl.HealthReason {
	if !r.Node.Listed() {
		silent, members := r.waiting()
		if r, ok := waitingReason(r.Name, silent, members, r.Started, now); ok {
			return []crawl.HealthReason{r}
		}
		if s := r.Members.Snapshot(); s.View != nil && len(silent) == 0 && s.Joining() && now.Sub(r.Started) > admitPatience {
			return []crawl.HealthReason{notAdmitted(r.Name, r.Members.Self(), r.Started)}
		}
		return nil
	}
	names, since := r.Node.Behind(now)
	if len(names) == 0 {
		return nil
	}
	return []crawl.HealthReason{{Code: crawl.ReasonScopeBehind, Since: since.UTC(), Message: fmt.Sprintf(
		"%s lacks scope entries or settings that %s may have, and gets no answer: links out of the scope that it knows wait in its outboxes (%d wait there) and the crawl does not end; start that node again, or when it will not come back: crawlnode nodes forget %s",
		r.Name, strings.Join(names, ", "), r.Front.Totals().Outbox, names[0])}}
}

// sinkPatience is how long a sink may take nothing: a restart of its server is no news.
const sinkPatience = time.Minute

// sinkReasons say that results are not taken.
func (r *Reporter) sinkReasons(now time.Time) (rs []crawl.HealthReason) {
	for _, s := range r.Sinks.State(now) {
		if s.FailsSince != nil && now.Sub(*s.FailsSince) > sinkPatience {
			rs = append(rs, crawl.HealthReason{Code: crawl.ReasonSinkFails, Since: s.FailsSince.UTC(), Message: fmt.Sprintf(
				"%s cannot send results to %s, and goes on trying: %s; they wait on its disk", r.Name, s.Sink, *s.Error)})
		}
	}
	return rs
}

// webhookLoss is how long a loss of events stays in the health.
const webhookLoss = time.Hour

// webhookReasons say that events are not taken, cannot be stored, or were lost.
func webhookReasons(name string, w webhookStates, now time.Time) (rs []crawl.HealthReason) {
	add := func(code string, since time.Time, format string, args ...any) {
		rs = append(rs, crawl.HealthReason{Code: code, Since: since.UTC(), Message: name + fmt.Sprintf(format, args...)})
	}
	if since, why := w.Trouble(); why != nil && now.Sub(since) > sinkPatience {
		add(crawl.ReasonWebhookFails, since, " cannot store events for its webhooks, and goes on trying: %s; they wait in memory", *why)
	}
	for _, s := range w.State(now) {
		if s.FailsSince != nil && now.Sub(*s.FailsSince) > sinkPatience {
			add(crawl.ReasonWebhookFails, *s.FailsSince, " cannot send events to %s, and goes on trying: %s; %d wait on its disk", s.Webhook, *s.Error, s.Queued)
		}
		if s.LostAt != nil && now.Sub(*s.LostAt) < webhookLoss {
			add(crawl.ReasonWebhookFull, *s.LostAt, " could not keep all events for %s: %d were lost so far, the oldest; %d wait on its disk", s.Webhook, s.LostTotal, s.Queued)
		}
	}
	return rs
}

// webhookStates is what webhooks.Set tells.
type webhookStates interface {
	State(now time.Time) []crawl.WebhookStatus
	Trouble() (since time.Time, why *string)
}

// uploadReason says that the object store does not take a file. A restart of the store is no news.
func uploadReason(name string, f upload.Failure, waiting int64, now time.Time) []crawl.HealthReason {
	if now.Sub(f.Since) <= sinkPatience {
		return nil
	}
	return []crawl.HealthReason{{Code: crawl.ReasonUploadFails, Since: f.Since.UTC(), Message: fmt.Sprintf(
		"%s cannot copy %s to the object store, and goes on trying: %v; files that wait on its disk: %d, none is removed before the store has it", name, f.File, f.Err, waiting)}}
}

// indexPatience is how long the index may fail before it is news: it is tried again every five seconds.
const indexPatience = 12 * time.Second

// indexReason says that what was fetched is not found.
func indexReason(name string, since time.Time, err error, now time.Time) []crawl.HealthReason {
	if err == nil || now.Sub(since) <= indexPatience {
		return nil
	}
	return []crawl.HealthReason{{Code: crawl.ReasonIndexFails, Since: since.UTC(), Message: fmt.Sprintf(
		"%s cannot bring its index up to date, and goes on trying: %v; a search does not find the pages since then, the crawl goes on, and the texts wait on its disk", name, err)}}
}

// refusalReason says that this node alone refuses what the crawl allows.
func refusalReason(name string, f egress.Refusal) crawl.HealthReason {
	return crawl.HealthReason{Code: crawl.ReasonRefused, Since: f.Since.UTC().Truncate(time.Second), Message: fmt.Sprintf(
		"%s fetches nothing from %s and the like, although the crawl's allow-net has it: it is an address of this node or of a peer, and the node was started without an --allow-net of its own; if it is meant to be crawled, start %s with --allow-net %s",
		name, f.Addr, name, f.Network)}
}

// trapReasons tell which sites make pages without end.
func trapReasons(name string, traps []crawl.TrapStatus) (rs []crawl.HealthReason) {
	for i := range traps {
		t := &traps[i]
		rs = append(rs, crawl.HealthReason{Code: crawl.ReasonTrap, Since: t.Since, Message: fmt.Sprintf(
			"%s has fetched %d pages of %s from %s, which say hardly anything new, as the months of a "+
				"calendar do: to leave them out: %s; in another crawl: --exclude %s",
			name, t.Pages, t.Exclude, t.Host, t.Command, config.InShell(t.Exclude))})
	}
	return rs
}
