package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/node/crawldoc"
	"crawlnode/peer"
	"crawlnode/ring"
	"crawlnode/web/scope"
	"crawlnode/web/urlnorm"
)

// This file answers questions about one URL or one host, on any node: what the
// rules say is judged here, what is stored is asked of the partition's holder.
// Each costs a few reads of the store and one call at most.

// question is what the holder of a partition is asked: about a URL or, when that
// is empty, about a host. It travels as JSON, so fields are only ever added.
type question struct {
	Audit int        `json:"audit,omitempty"` // how many of the newest changes that were asked for
	URL   string     `json:"url,omitempty"`   // canonical
	Host  crawl.Host `json:"host,omitempty"`
	// Top, when it is not empty, asks about no single host, but for the first of all
	// that the member has in memory, in that order (crawl.SortQueued...).
	Top string `json:"top,omitempty"`
}

// explained is the holder's answer.
type explained struct {
	Audit  []crawl.AuditEntry  `json:"audit,omitempty"`
	Record *crawl.RecordReport `json:"record,omitempty"`
	Robots *crawl.RobotsReport `json:"robots,omitempty"`
	Host   *crawl.HostReport   `json:"host,omitempty"`
	// Spent says that the host has had its URLs that look like a trap.
	Spent bool `json:"spent,omitempty"`
	// Top is the answer to question.Top.
	Top *topHosts `json:"top,omitempty"`
}

// errNotHeld says that the asked node does not hold the partition.
var errNotHeld = errors.New("the node that was thought to hold the partition does not")

// ExplainURL tells what the cluster knows of a URL and what the rules say of it.
// depth, when it is not negative, is judged in place of the record's own (of a
// link from a seed, when there is no record). What is no URL to crawl gives a
// report, not an error.
func (n *Node) ExplainURL(ctx context.Context, raw string, depth int) (*crawl.URLReport, error) {
	if ok, _ := n.Ready(); !ok {
		return nil, ErrNotReady
	}
	r, u := startReport(raw)
	if r.URL == nil {
		return r, nil
	}
	p := ring.PartitionOf(*r.Host, n.partitions())
	owner := n.refOf(n.tableOwner(p))
	r.Partition, r.Owner = &p, &owner
	e, holder, err := n.askHolder(ctx, p, question{URL: u.String()})
	if holder != "" {
		ref := n.refOf(holder)
		r.Holder = &ref
	}
	if err != nil {
		why := err.Error()
		r.Unanswered = &why
	}
	if r.Record = e.Record; e.Robots != nil {
		r.Robots = *e.Robots
	}
	book := n.doc.Current()
	if depth < 0 {
		depth = depthOf(r.Record)
	}
	r.Scope = scopeReport(book.Rules.Judge(u, depth, n.doc.Seeds), depth)
	if r.Record == nil && r.Scope.Suspicious && e.Spent {
		r.Scope = crawl.ScopeReport{Reason: crawl.SkipHostBudget.String(), Depth: depth,
			Rule: "the host has had its budget of URLs that look like a trap; this one is " + r.Scope.Rule}
	}
	r.Summary = summaryOf(r)
	return r, nil
}

// startReport reads the URL. When it is none to crawl, the report is complete.
func startReport(raw string) (*crawl.URLReport, urlnorm.URL) {
	r := &crawl.URLReport{Input: raw, Robots: crawl.RobotsReport{Verdict: crawl.RobotsSaysUnknown}}
	u, err := urlnorm.Parse(raw)
	if err != nil {
		r.Scope = crawl.ScopeReport{Reason: skipReasonOf(err).String(), Rule: err.Error()}
		r.Summary = "it is no URL to crawl: " + err.Error()
		return r, u
	}
	text, host := u.String(), crawl.Host(u.Host())
	r.URL, r.Host, r.Robots.Origin = &text, &host, u.Origin()
	return r, u
}

// skipReasonOf classes what is no URL to crawl, as skipped_by_reason does.
func skipReasonOf(err error) crawl.SkipReason {
	switch {
	case errors.Is(err, urlnorm.ErrScheme):
		return crawl.SkipScheme
	case errors.Is(err, urlnorm.ErrTooLong):
		return crawl.SkipTooLong
	}
	return crawl.SkipInvalid
}

// depthOf is the depth that the rules judge a URL at: sitemap files have none,
// and what nobody has found yet is taken for a link on a seed's page.
func depthOf(rec *crawl.RecordReport) int {
	switch {
	case rec == nil:
		return 1
	case rec.Via == crawl.ViaSitemapFile.String():
		return 0
	}
	return rec.Depth
}

func scopeReport(v scope.Verdict, depth int) crawl.ScopeReport {
	return crawl.ScopeReport{Admit: v.Admit, Reason: v.Reason, Rule: v.Rule, Suspicious: v.Suspicious, Depth: depth}
}

// JudgeScope is the scope's verdict on a URL under settings and seeds that no
// cluster has: only what can be told of those is in the report. A negative depth
// means that of a seed, when the URL is one, and else that of a link on its page.
func JudgeScope(s crawl.Settings, seeds []string, raw string, depth int) (*crawl.URLReport, error) {
	rules, err := crawldoc.CompileScope(&s)
	if err != nil {
		return nil, usageError(err)
	}
	r, u := startReport(raw)
	if r.URL == nil {
		return r, nil
	}
	var opened []string
	given := depth
	if depth < 0 {
		depth = 1
	}
	for _, seed := range seeds {
		su, err := urlnorm.Parse(seed)
		if err != nil {
			return nil, usageError(fmt.Errorf("seed %q: %w", seed, err))
		}
		opened = append(opened, rules.EntryOf(su))
		if su == u && given < 0 {
			depth = 0
		}
	}
	r.Scope = scopeReport(rules.Judge(u, depth, scope.NewSeeds(opened)), depth)
	r.Summary = summaryOf(r)
	return r, nil
}

// DescribeHost tells what politeness knows of a host, and what waits for it. The
// name may be written as in a URL. crawl.ErrUnknownHost: no URL of it was ever
// admitted.
func (n *Node) DescribeHost(ctx context.Context, name string) (*crawl.HostReport, error) {
	if ok, _ := n.Ready(); !ok {
		return nil, ErrNotReady
	}
	u, err := urlnorm.Parse("http://" + name + "/")
	// Only an IPv6 address has colons, and it stands in brackets.
	if err != nil || strings.ContainsAny(name, "/\\?#@") || strings.Contains(name, ":") && !strings.HasSuffix(name, "]") {
		return nil, fmt.Errorf("%w: %q is no host name: give it without scheme, port and path", crawl.ErrUnknownHost, name)
	}
	host := crawl.Host(u.Host())
	p := ring.PartitionOf(host, n.partitions())
	e, holder, err := n.askHolder(ctx, p, question{Host: host})
	if err != nil {
		return nil, err
	}
	if e.Host == nil {
		return nil, fmt.Errorf("%w: no URL of %s was ever admitted; crawlnode scope test says whether one would be", crawl.ErrUnknownHost, host)
	}
	e.Host.Owner, e.Host.Holder = n.refOf(n.tableOwner(p)), n.refOf(holder)
	return e.Host, nil
}

// askHolder puts a question to the holder of a partition, which may be this node.
func (n *Node) askHolder(ctx context.Context, p crawl.Partition, q question) (explained, crawl.NodeID, error) {
	if m, _ := n.front.Meta(p); m.State == frontier.Holder {
		e, err := n.explain(ctx, q)
		return e, n.id, err
	}
	holder := n.peers.holder(p)
	to := n.target(holder)
	if to.ID == "" {
		return explained{}, "", fmt.Errorf("no member says that it holds partition %d: it may be on its way to a new holder", p)
	}
	payload, err := json.Marshal(q)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	reply, err := peer.Call(ctx, n.pool, to, &peer.Envelope{Payload: payload}, peer.PeerClient.Explain)
	if err != nil {
		return explained{}, holder, fmt.Errorf("%s, the holder of partition %d, did not answer: %w", n.nameOf(holder), p, err)
	}
	var e explained
	if err := json.Unmarshal(reply.Payload, &e); err != nil {
		return explained{}, holder, fmt.Errorf("%s, the holder of partition %d, gave an answer that cannot be read: %w", n.nameOf(holder), p, err)
	}
	return e, holder, nil
}

// Explain answers a question for another member.
func (h handler) Explain(ctx context.Context, _ string, req *peer.Envelope) (*peer.Envelope, error) {
	var q question
	if err := json.Unmarshal(req.Payload, &q); err != nil {
		return nil, status.Error(codes.InvalidArgument, fmt.Sprintf("the question: %v", err))
	}
	if h.node.partitions() == 0 {
		return nil, errNotJoined
	}
	e, err := h.node.explain(ctx, q)
	switch {
	case errors.Is(err, errNotHeld):
		return nil, status.Error(codes.FailedPrecondition, err.Error())
	case errors.Is(err, errBadQuestion):
		return nil, status.Error(codes.InvalidArgument, err.Error())
	case err != nil:
		return nil, err
	}
	payload, err := json.Marshal(e)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return &peer.Envelope{Payload: payload}, nil
}

var errBadQuestion = errors.New("a question about neither a canonical URL nor a host")

// explain answers from this node's own store and dispatcher.
func (n *Node) explain(ctx context.Context, q question) (explained, error) {
	if q.Audit > 0 {
		return n.auditReply(q.Audit)
	}
	if q.Top != "" {
		top, err := n.ownTop(ctx, q.Top)
		return explained{Top: top}, err
	}
	host := q.Host
	if q.URL != "" {
		u, err := urlnorm.Parse(q.URL)
		if err != nil || u.String() != q.URL {
			return explained{}, fmt.Errorf("%w: %.200q", errBadQuestion, q.URL)
		}
		host = crawl.Host(u.Host())
	}
	if u, err := urlnorm.Parse("http://" + string(host) + "/"); err != nil || u.Host() != string(host) {
		return explained{}, fmt.Errorf("%w: %.200q", errBadQuestion, host)
	}
	p := ring.PartitionOf(host, n.partitions())
	if m, _ := n.front.Meta(p); m.State != frontier.Holder {
		return explained{}, errNotHeld
	}
	info, known, err := n.front.HostInfo(p, host)
	if err != nil {
		return explained{}, err
	}
	if q.URL == "" {
		return n.explainHost(ctx, p, host, info, known)
	}
	return n.explainURL(p, q.URL, info)
}
