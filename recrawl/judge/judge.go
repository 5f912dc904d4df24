package judge

import (
	"fmt"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/frontier/layout"
	"crawlnode/recrawl/policy"
	"crawlnode/recrawl/policy/estimate"
	"crawlnode/recrawl/visits"
)

// Terms are what a page's next visit depends on beside itself and its host. They are read by the
// frontier's writer, so whoever makes them changes them no more.
type Terms struct {
	// Rules are those of the settings; visits.Off: no page is visited again.
	Rules visits.Rules
	// Price is of a visit. Until it is known it is 0, and pages are planned at the usual interval.
	Price float64
	// Plain is the cluster's price, for which freshness is expected. Price is higher on a node whose
	// pages want more than it can fetch.
	Plain float64
	// Usual is the mean interval between two visits of a page; 0: not known, no page is looked at
	// before its visit.
	Usual time.Duration
	// Pools are of all pages of the cluster, by kind.
	Pools [visits.NumKinds]estimate.Pool
	// Delay is the shortest time between two requests to a host.
	Delay time.Duration
	// Of returns what stands in place of Rules for a page, and in place of Delay for its host, by
	// the rules for sites. The mode is the same. Nil: there are none.
	Of func(*crawl.Item) (visits.Rules, time.Duration)
	// Weighted: pages weigh what frontier.Page.Weight says, or what they weighed before. Else all
	// weigh 1.
	Weighted bool
}

// Keeper keeps the plan of known pages: *recrawl.Keeper. The frontier's writer calls it: no method
// may block.
type Keeper interface {
	// JudgeTerms are those of the moment, never nil. They are not changed.
	JudgeTerms() *Terms
	// Replanned is told what a page counted for before and counts for now, as in frontier.Planner.
	Replanned(p crawl.Partition, before, after *frontier.Estimate, at time.Time)
	// Revisited is told of each visit of a page that was due, as in frontier.Planner.
	Revisited(r frontier.Revisit)
}

// Rules are the crawl's. The frontier's writer calls them, so they may not block.
type Rules interface {
	// Excluded reports whether the crawl's scope, as it is now, excludes an item that was admitted
	// before.
	Excluded(it *crawl.Item) bool
}

// Judge is the frontier's judge. Its methods are called by the frontier's writer.
type Judge struct {
	keeper Keeper
	rules  Rules
}

// New makes a Judge.
func New(k Keeper, r Rules) *Judge { return &Judge{k, r} }

// Revisited passes on what a revisit has brought.
func (j *Judge) Revisited(r frontier.Revisit) { j.keeper.Revisited(r) }

// On reports whether pages are visited again.
func (j *Judge) On() bool { return j.keeper.JudgeTerms().Rules.Mode != visits.Off }

// Replanned passes on what a page counts for.
func (j *Judge) Replanned(p crawl.Partition, before, after *frontier.Estimate, at time.Time) {
	j.keeper.Replanned(p, before, after, at)
}

// matter is a page that is being judged.
type matter struct {
	*frontier.Page
	terms *Terms
	rules visits.Rules
	delay time.Duration
	site  visits.Site
	// old is the page's record; had is false when there is none that can be read.
	old visits.Record
	had bool
}

// open reads what the store has, and takes the page out of its site's sums.
func (j *Judge) open(k *frontier.Page) matter {
	m := matter{Page: k, terms: j.keeper.JudgeTerms()}
	m.rules, m.delay = m.terms.Rules, m.terms.Delay
	if m.terms.Of != nil {
		m.rules, m.delay = m.terms.Of(&k.Record.Item)
	}
	if k.Record.Visits != "" {
		if old, err := visits.DecodeAll([]byte(k.Record.Visits)); err == nil {
			m.old, m.had = old, true
		}
	}
	if site, err := visits.DecodeSite(k.Site); err == nil {
		m.site = site
	}
	if m.rules.Mode == visits.Off || m.rules.Mode == visits.Adaptive && !(m.terms.Price > 0) {
		m.rules = visits.Rules{
			Mode:        visits.Fixed,
			Compare:     m.rules.Compare,
			Interval:    m.rules.Interval,
			Bounds:      m.rules.Bounds,
			ForgetAfter: m.rules.ForgetAfter,
		}
	}
	if m.terms.Rules.Mode == visits.Off && m.had { // it keeps the plan that it has
		m.rules.Interval, m.rules.ForgetAfter = m.old.Interval, 0
		m.rules.Bounds = policy.Bounds{Min: time.Millisecond, Max: max(m.old.Interval, time.Millisecond)}
	}
	if k.Counted && m.had {
		m.site.Discount(&m.old)
	}
	return m
}

// by is what a page of a kind depends on.
func (m *matter) by(kind visits.Kind, maxAge time.Duration) *visits.Surroundings {
	over := m.terms.Pools[kind].Prior(m.rules.Prior())
	return &visits.Surroundings{
		Prior:   m.site.Pool.Prior(over),
		Price:   m.terms.Price * max(m.site.Factor, 1),
		MaxAge:  maxAge,
		Sitemap: m.site.Sitemap,
		Hides:   visits.Hides(m.site.Validators),
	}
}

// priceSite moves the factor of the site's price towards what its delay allows.
func (m *matter) priceSite() {
	m.site.Factor = policy.HostFactor(m.site.Factor, m.site.Wanted, policy.HostAllows(m.turn()))
}

// turn is for how long a visit keeps the host from the next one: an answer, and the gap after it,
// which is at least twice as long (scheduler, gap).
func (m *matter) turn() time.Duration {
	took := max(m.Host.Latency, 0)
	return took + max(m.delay, m.Host.CrawlDelay, 2*took)
}

// Visited judges the end of a visit.
func (j *Judge) Visited(k *frontier.Page, o *crawl.Outcome) frontier.Plan {
	m := j.open(k)
	v := visits.Visit{
		Elapsed: k.Elapsed,
		Blurred: k.Blurred,
		Took:    o.Took,
		Status:  o.Status,
		Digest:  o.Digest,
		Text:    o.Text,
	}
	switch o.Kind {
	case crawl.Fetched:
	case crawl.URLFailed, crawl.RateLimited:
		v.Status = failedStatus(o.Status)
	default: // no request was made
		if o.Kind == crawl.Refused && ofScope(o.Skip) {
			return m.parked()
		}
		return m.again()
	}
	m.redirect(&v, o)
	m.priceSite()
	r, known := m.old, m.had
	if hasContent(o.Status) {
		r.Kind = kindOf(o, k.Record)
	}
	if !known {
		r = visits.Record{Kind: kindOf(o, k.Record)}
	}
	r.Weight = m.weight()
	if o.Unchanged {
		v.Text = r.Text // it was not read
	}
	verdict := r.Judge(k.Record.Digest, &v, m.rules.Compare)
	var copied visits.Copy
	if known {
		copied = m.old.Copied(&v, m.terms.Plain, &m.rules,
			&visits.Surroundings{Sitemap: m.site.Sitemap, Hides: visits.Hides(m.site.Validators)})
	}
	if !known {
		r = r.First(&v, &m.rules, m.by(r.Kind, o.MaxAge))
	} else {
		v.Dated, v.Age = m.dated(o)
		m.check(o, verdict) // before it is learnt from: it may show that others before it were lies
		r, verdict = r.Visited(k.Record.Digest, &v, &m.rules, m.by(r.Kind, o.MaxAge))
	}
	p := m.plan(&r, 0, o.Took)
	p.Visited, p.Verdict, p.Copy = true, verdict, copied
	if r.Forgotten(&m.rules) {
		p.Forget = fmt.Sprintf("the page is gone: %d visits were answered 404 or 410 (which counts %d "+
			"times), so it is not tried again", len(gone(r.Past)), visits.RemovedCounts)
	}
	return m.settle(p, &r)
}

// ofScope reports whether a page was refused because the crawl's settings do not admit it now. What
// its site says, and the budget of its host, may be otherwise at the next visit.
func ofScope(r crawl.SkipReason) bool {
	return r == crawl.SkipOutOfScope || r == crawl.SkipDepth || r == crawl.SkipTrap
}

// gone are the newest visits that were answered that the page is not there.
func gone(past []visits.Past) []visits.Past {
	n := 0
	for n < len(past) && (visits.AnswerOf(past[n].Status) == visits.Missing ||
		visits.AnswerOf(past[n].Status) == visits.Removed) {
		n++
	}
	return past[:n]
}

// failedStatus is the status of a visit that failed, as one that says nothing of the page.
func failedStatus(status int) int {
	if visits.AnswerOf(status) == visits.Failed {
		return status
	}
	return 0 // an answer that broke off
}

// hasContent reports whether an answer may bring content.
func hasContent(status int) bool { return status >= 200 && status < 300 }

// again plans a page at its old interval from now on: nothing was learnt.
func (m *matter) again() frontier.Plan {
	r := m.old
	if !m.had {
		r = visits.Record{Weight: m.weight()}.Planned(&m.rules, m.by(visits.KindPage, 0))
	}
	p := frontier.Plan{Wait: r.Interval, Verdict: visits.Unknown}
	p.Estimate.Flags |= layout.DueVisit
	return m.settle(p, &r)
}

// parked leaves the page without a next visit, until the scope changes: it is excluded, and each
// visit would be refused.
func (m *matter) parked() frontier.Plan {
	p := frontier.Plan{Visits: m.Record.Visits, Parked: true, Verdict: visits.Unknown,
		Site: string(m.site.Append(make([]byte, 0, 80)))}
	if m.Counted && m.had {
		p.Before = estimateOf(&m.old, 0)
	}
	return p
}

// weight is the page's importance.
func (m *matter) weight() float64 {
	switch {
	case !m.terms.Weighted:
		return 1
	case m.Weight > 0:
		return min(max(m.Weight, policy.MinWeight), 1)
	case m.had:
		return m.old.Weight
	}
	return 1
}

// plan says when the page is looked at again, so long after its newest visit, which took so long if
// it is the one that is judged.
func (m *matter) plan(r *visits.Record, elapsed, took time.Duration) frontier.Plan {
	check := r.Interval
	if m.rules.Mode == visits.Adaptive && m.terms.Usual > 0 && r.Misses == 0 {
		check = policy.Check(elapsed, r.Interval, m.terms.Usual)
	}
	p := frontier.Plan{Wait: check - elapsed}
	if check >= r.Interval {
		p.Estimate.Flags |= layout.DueVisit
		p.Wait -= m.ahead(r, took)
	}
	return p
}

// ahead is how much earlier than its interval says a page is due. It will wait for its host, and
// the frontier counts from the end of a visit, so that no two are nearer than the shortest
// interval: without this each interval would be longer by both. It is due after its shortest
// interval at the earliest (policy.Bounds.Least). A fixed interval is what a person has asked for,
// and stays.
func (m *matter) ahead(r *visits.Record, took time.Duration) time.Duration {
	if m.rules.Mode != visits.Adaptive || r.Misses > 0 {
		return 0
	}
	late := policy.HostWait(m.site.Wanted, m.turn()) + max(took, 0)
	least := time.Duration(m.rules.Bounds.Least(r.Belief) * float64(time.Second))
	return max(min(late, r.Interval/2, r.Interval-least), 0)
}

// settle encodes the page's record, and puts it into the sums as it will be read again.
func (m *matter) settle(p frontier.Plan, r *visits.Record) frontier.Plan {
	text := r.AppendAll(make([]byte, 0, 96))
	kept, err := visits.DecodeAll(text)
	if err != nil {
		panic("BUG: a record of visits that was just written cannot be read: " + err.Error())
	}
	p.Visits = string(text)
	if p.Forget == "" {
		m.site.Count(&kept)
	}
	p.Site = string(m.site.Append(make([]byte, 0, 80)))
	if m.Counted && m.had {
		p.Before = estimateOf(&m.old, 0)
	}
	p.Estimate = estimateOf(&kept, p.Estimate.Flags)
	return p
}

// estimateOf is what a record counts for.
func estimateOf(r *visits.Record, flags byte) frontier.Estimate {
	e := frontier.Estimate{
		Belief: [4]byte(r.Belief.Append(nil)),
		Weight: visits.PackWeight(r.Weight),
		Flags:  flags | byte(r.Kind),
	}
	if r.Known() {
		e.Flags |= layout.DueKnown
	}
	return e
}

// Planned plans a page without a visit. One that is excluded is parked.
func (j *Judge) Planned(k *frontier.Page) frontier.Plan {
	m := j.open(k)
	if j.rules.Excluded(&k.Record.Item) {
		return m.parked()
	}
	if m.had {
		r := m.old
		if r.Misses == 0 {
			r.Weight = m.weight()
			r = r.Planned(&m.rules, m.by(r.Kind, 0))
		}
		if k.Record.VisitedAt.IsZero() {
			return m.spread(&r)
		}
		return m.settle(m.plan(&r, k.Elapsed, 0), &r)
	}
	kind := kindOf(&crawl.Outcome{Status: k.Record.Status}, k.Record)
	r := visits.Record{Weight: m.weight(), Kind: kind}.First(&visits.Visit{Status: k.Record.Status},
		&m.rules, m.by(kind, 0))
	r.Past = nil // it is not known when that was
	return m.spread(&r)
}

// spread plans a page of which it is not known when it was visited. Such pages are many, and were
// visited at any time: their visits are spread over the interval, without a check before.
func (m *matter) spread(r *visits.Record) frontier.Plan {
	p := frontier.Plan{Wait: time.Duration(m.Spread * float64(r.Interval))}
	p.Estimate.Flags |= layout.DueVisit
	return m.settle(p, r)
}

// Claimed plans a page anew whose site says when it has changed: since its newest visit, so that
// the next one comes sooner, or before, so that it comes later if the site has proved right.
func (j *Judge) Claimed(k *frontier.Page, changed time.Time) (frontier.Plan, bool) {
	m := j.open(k)
	if !m.had || !k.Counted || m.rules.Mode != visits.Adaptive || k.Elapsed <= 0 {
		return frontier.Plan{}, false
	}
	moved := changed.After(k.Record.FetchedAt)
	silent := !moved && m.silent(changed)
	if m.old.Listed && (m.old.Moved || !moved && !silent) {
		return frontier.Plan{}, false // it is known
	}
	r := m.old
	r.Listed = true
	if silent || moved && r.Silent > 0 {
		r.Silent = 0
		if silent {
			r.Silent = k.Elapsed
		}
		r = r.Planned(&m.rules, m.by(r.Kind, 0))
	}
	if moved {
		r.Moved = true
		r.Interval = min(r.Interval, r.Claimed(true, m.site.Sitemap, k.Elapsed, &m.rules))
	}
	return m.settle(m.plan(&r, k.Elapsed, 0), &r), true
}

// silent reports whether the date of a page's last change, which is before its newest visit, says
// that it has not changed until now, and is worth a write: sitemaps are long, and are read often. A
// date without a time may be of any time of that day, and of another zone.
func (m *matter) silent(changed time.Time) bool {
	const day, part = 24 * time.Hour, 4
	if changed.Truncate(day).Equal(changed) {
		changed = changed.Add(2 * day)
	}
	return !changed.After(m.Record.FetchedAt) && m.old.Misses == 0 &&
		m.Elapsed >= m.old.Silent+m.old.Interval/part
}

// Conditional reports whether the next visit may send validators.
func (j *Judge) Conditional(k *frontier.Page) bool {
	m := j.open(k)
	return !m.had || m.old.Conditional(m.site.Validators)
}
