package recrawl

import (
	"time"

	"crawlnode/crawl"
	"crawlnode/recrawl/judge"
	"crawlnode/recrawl/policy"
	"crawlnode/recrawl/visits"
	"crawlnode/settings/sites"
)

// forgetAfter is how many answers in a row that a page is not there make it forgotten. The
// distances between these visits double each time.
const forgetAfter = 6

// judged are the judge's terms as they follow from settings, rules for sites and price.
type judged struct {
	settings *crawl.Settings
	sites    *sites.Table
	terms    *Terms
	out      judge.Terms
}

// JudgeTerms are what the frontier's judge plans by at this moment.
func (k *Keeper) JudgeTerms() *judge.Terms {
	s, table, t := k.o.Node.Settings(), k.o.Node.Sites(), k.terms.Load()
	last := k.judged.Load()
	if last != nil && last.settings == s && last.sites == table && last.terms == t {
		return &last.out
	}
	next := &judged{settings: s, sites: table, terms: t, out: judge.Terms{
		Rules: rulesOf(s), Price: t.Price, Plain: t.Cluster, Usual: seconds(t.Usual), Pools: t.Pools,
		Delay: s.Delay,
	}}
	next.out.Rules.Bounds.Worth *= t.Ease
	if !s.Revisits() {
		next.out = judge.Terms{Rules: rulesOf(s), Delay: s.Delay}
	}
	if table != nil {
		next.out.Of = siteTerms(table, next.out.Rules, s, t.Ease)
	}
	next.out.Weighted = k.o.Node.Weighted(s)
	k.judged.Store(next)
	return &next.out
}

// siteTerms finds the rules of pages, and the delays of their hosts. Pages without rules of their
// own have those of the settings.
func siteTerms(table *sites.Table, usual visits.Rules, s *crawl.Settings,
	ease float64) func(*crawl.Item) (visits.Rules, time.Duration) {
	return func(it *crawl.Item) (visits.Rules, time.Duration) {
		rules, delay := usual, s.Delay
		if site := table.Of(it.URL); site != nil {
			rules = rulesOf(site.Settings)
			if s.Revisits() {
				rules.Bounds.Worth *= ease
			}
		}
		if site := table.OfHost(it.URL.Host()); site != nil {
			delay = site.Settings.Delay
		}
		return rules, delay
	}
}

// rulesOf are the settings of revisits in the words of package visits. Below RecrawlFloor they are
// for the crawl's own nets only, where such settings are allowed.
func rulesOf(s *crawl.Settings) visits.Rules {
	interval, shortest, longest := s.RecrawlBounds(len(s.AllowNet) > 0)
	r := visits.Rules{
		Interval:    interval,
		Bounds:      policy.Bounds{Min: shortest, Max: longest, Worth: s.RecrawlWorth},
		ForgetAfter: forgetAfter,
	}
	switch s.Recrawl {
	case crawl.RecrawlFixed:
		r.Mode = visits.Fixed
	case crawl.RecrawlAdaptive:
		r.Mode = visits.Adaptive
	}
	if s.RecrawlChanged == crawl.RecrawlPayload {
		r.Compare = visits.ByPayload
	}
	return r
}

// seconds is a duration, bounded by what fits.
func seconds(s float64) time.Duration {
	const most = 100 * 365 * 24 * 3600
	return time.Duration(min(max(s, 0), most) * float64(time.Second))
}
