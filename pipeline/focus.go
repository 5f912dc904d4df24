package pipeline

import (
	"crawlnode/crawl"
	"crawlnode/web/fetcher"
	"crawlnode/web/htmlparse"
)

// Focus judges how well pages and links fit the topic of a focused crawl, from 0 to 1. Many workers
// call it at once; it must neither block nor keep what it is given. *focus.Model is one.
type Focus interface {
	// Score judges a page by its title and its visible text.
	Score(title string, text []byte) float64
	// Follow says how strongly a link is followed that stands on a page with this score.
	Follow(page float64, anchor, url string) float64
}

// follows reports whether the links of a page are followed, and otherwise why not: the page asks
// that they are not, or it fits the topic less than Settings.FocusMin. The links of a seed are
// always followed: it is where a person begins, and often a list of links that is about no topic
// itself.
func (f *linkCollector) follows(
	resp *fetcher.Response,
	doc *htmlparse.Document,
) (ok bool, why crawl.SkipReason) {
	if _, noFollow := directives(resp, f.rules.Settings.Agent()); noFollow || doc.NoFollow {
		return false, crawl.SkipNoFollow
	}
	if f.rules.Focus == nil {
		return true, 0
	}
	f.topic = f.rules.Focus.Score(doc.Title, doc.Text)
	return f.topic >= f.rules.Settings.FocusMin ||
		OpensScope(f.v.Item.Via, f.v.Item.Depth), crawl.SkipFocus
}

// band is BandOf, but for the links of a page in a focused crawl: the better such a link fits the
// topic, the earlier it is fetched.
func (f *linkCollector) band(t *crawl.Target, priority float64) crawl.Band {
	if f.rules.Focus == nil || t.Via != crawl.ViaLink || t.Suspicious {
		return BandOf(t.Via, t.Depth, priority, t.Suspicious)
	}
	return TopicBand(f.rules.Focus.Follow(f.topic, f.anchor, t.URL.String()))
}

// TopicBand is the priority class of a link that is followed so strongly: 1 for what is surely on
// the topic, 6 for what surely is not.
func TopicBand(strength float64) crawl.Band {
	const first, last = 1, lowestBand - 1
	if !(strength >= 0) { // NaN too
		return last
	}
	return crawl.Band(last - min(int(min(strength, 1)*(last-first+1)), last-first))
}
