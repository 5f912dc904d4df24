package pipeline

import (
	"math"
	"strings"
	"testing"

	"crawlnode/crawl"
	"crawlnode/web/fetcher"
	"crawlnode/web/scope"
)

// wordTopic is a topic with one word: what has it fits.
type wordTopic struct{ pages *int }

func (w wordTopic) Score(title string, text []byte) float64 {
	*w.pages++
	if strings.Contains(title+string(text), "sql") {
		return 0.9
	}
	return 0.1
}

func (wordTopic) Follow(page float64, anchor, url string) float64 {
	if strings.Contains(anchor+url, "sql") {
		page += 0.5
	}
	return min(page/1.5, 1)
}

// focused takes the links of a page in a focused crawl.
func focused(
	t *testing.T,
	page string,
	least float64,
	change func(*Rules, *crawl.Item),
) (o crawl.Outcome, scored int) {
	t.Helper()
	rules := newBench(t, scope.Options{Mode: "any"}).rules
	rules.Focus, rules.Settings.FocusMin = wordTopic{&scored}, least
	item := crawl.Item{URL: url(t, "http://a.test/"), Depth: 3}
	if change != nil {
		change(&rules, &item)
	}
	resp := &fetcher.Response{
		Status:      200,
		MediaType:   "text/html",
		ContentType: "text/html; charset=utf-8",
		Body:        []byte(page),
	}
	f := &linkCollector{
		v:        crawl.Visit{Lease: crawl.Lease{Item: item}},
		rules:    &rules,
		seen:     map[string]struct{}{},
		o:        &o,
		complete: true,
	}
	f.page(resp)
	return o, scored
}

func bands(o *crawl.Outcome) map[string]crawl.Band {
	list := map[string]crawl.Band{}
	for _, target := range o.Targets {
		list[target.URL.Path()] = target.Band
	}
	return list
}

const twoLinks = `<p>%s</p><a href="/x">about sql</a> <a href="/y">about plots</a> <img src="/z.png">`

// A page that fits passes its links on, and what is said of a link decides how early it is fetched.
func TestFocusOrdersLinks(t *testing.T) {
	t.Parallel()
	o, scored := focused(t, strings.Replace(twoLinks, "%s", "sql", 1), 0.5, nil)
	if got := bands(&o); len(got) != 2 || got["/x"] != 1 || got["/y"] != 3 || scored != 1 {
		t.Errorf("bands %v, %d pages judged", got, scored)
	}
}

func TestFocusMin(t *testing.T) {
	t.Parallel()
	page := strings.Replace(twoLinks, "%s", "nothing", 1)
	page = strings.ReplaceAll(page, "sql", "s q l")
	seed := func(_ *Rules, item *crawl.Item) { item.Via, item.Depth = crawl.ViaSeed, 0 }
	for _, c := range []struct {
		name     string
		page     string
		least    float64
		change   func(*Rules, *crawl.Item)
		targets  int
		off, not int64 // skipped for the topic, and for nofollow
	}{
		{"no minimum", page, 0, nil, 2, 0, 0},
		{"below the minimum", page, 0.5, nil, 0, 2, 0},
		{"a seed", page, 0.5, seed, 2, 0, 0},
		{"where a seed redirects to", page, 0.5, func(_ *Rules, item *crawl.Item) { item.Via, item.Depth = crawl.ViaRedirect, 0 }, 2, 0, 0},
		{"without a model", page, 0.5, func(r *Rules, _ *crawl.Item) { r.Focus = nil }, 2, 0, 0},
		{"with assets", page, 0.5, func(r *Rules, _ *crawl.Item) { r.Settings.Assets = true }, 0, 3, 0},
		{"a redirect", `<meta http-equiv="refresh" content="0; url=/there"><a href="/x">here</a>`, 0.5, nil, 1, 1, 0},
		{"nofollow", `<meta name="robots" content="nofollow"><a href="/x">sql</a>`, 0.5, nil, 0, 0, 1},
	} {
		o, _ := focused(t, c.page, c.least, c.change)
		if len(o.Targets) != c.targets || o.Skipped[crawl.SkipFocus] != c.off ||
			o.Skipped[crawl.SkipNoFollow] != c.not {
			t.Errorf("%s: %d targets, skipped %v", c.name, len(o.Targets), o.Skipped)
		}
	}
}

// The order by topic is of links only: what looks like a trap waits at the end, and a redirect
// keeps its place.
func TestFocusLeavesOtherBands(t *testing.T) {
	t.Parallel()
	o, _ := focused(t,
		`<meta http-equiv="refresh" content="0; url=/sql"><a href="/calendar/sql/1/2/3/1/2/3">sql</a>`, 0,
		nil)
	for _, target := range o.Targets {
		want := BandOf(target.Via, target.Depth, 0, target.Suspicious)
		if (target.Via != crawl.ViaLink || target.Suspicious) && target.Band != want {
			t.Errorf("%s: band %d, want %d", target.URL.String(), target.Band, want)
		}
	}
}

func TestTopicBand(t *testing.T) {
	t.Parallel()
	for strength, want := range map[float64]crawl.Band{
		-1:   6,
		0:    6,
		0.1:  6,
		0.17: 5,
		0.5:  3,
		0.49: 4,
		0.83: 2,
		0.84: 1,
		1:    1,
		2:    1,
	} {
		if got := TopicBand(strength); got != want {
			t.Errorf("%v: band %d, want %d", strength, got, want)
		}
	}
	if TopicBand(math.NaN()) != 6 || TopicBand(math.Inf(1)) != 1 {
		t.Error("not a number, or infinity")
	}
}
