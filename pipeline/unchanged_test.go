package pipeline

import (
	"context"
	"crypto/sha1"
	"net/http"
	"slices"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/web/fetcher"
	"crawlnode/web/htmlparse"
	"crawlnode/web/metadata"
	"crawlnode/web/normalize"
	"crawlnode/web/scope"
	"crawlnode/web/urlnorm"
)

// texts is a Documents and a Deriver that counts.
type texts struct {
	documents int
	pages     []*crawl.Outcome
	parsed    int // of pages, those that were parsed
}

func (x *texts) Document(*Indexed) []byte { x.documents++; return []byte("d") }
func (x *texts) Anchors() bool            { return false }
func (x *texts) Simhashes() bool          { return true }
func (x *texts) Metadata() bool           { return false }
func (x *texts) Sampled(urlnorm.URL) bool { return true }

func (x *texts) Page(
	_ context.Context,
	_ *crawl.Capture,
	o *crawl.Outcome,
	_ int,
	doc *htmlparse.Document,
	_ *metadata.Record,
) error {
	x.pages = append(x.pages, o)
	if doc != nil {
		x.parsed++
	}
	return nil
}

func (x *texts) Skipped(context.Context, []crawl.Skip) error { return nil }

// sentAgain is a bench whose page is visited more than once, as the records of its visits say.
type sentAgain struct {
	*bench
	texts
	keeper *keeper // nil: the scope does not change
}

const samePage = "<html><body><p>Some words that never change.</p><a href='/one'>one</a><a " +
	"href='http://b.test/'>two</a></body></html>"

func newSentAgain(t *testing.T, o scope.Options) *sentAgain {
	a := &sentAgain{bench: newBench(t, o)}
	a.rules.Settings.Archive, a.rules.Settings.Index, a.rules.Settings.Recrawl = true, true,
		crawl.RecrawlFixed
	a.rules.Basis = 77
	a.bench.read = map[string]crawl.Outcome{}
	a.content = map[string]ContentAnswer{}
	a.serve("http://a.test/", 200, "", samePage)
	return a
}

// look visits the page, and keeps what a record would keep of it.
func (a *sentAgain) look(change ...func(*crawl.Visit)) crawl.Outcome {
	a.t.Helper()
	a.visit("http://a.test/", append([]func(*crawl.Visit){func(v *crawl.Visit) {
		v.Item.Refetch = len(a.outcomes) > 0
	}}, change...)...)
	o := Options{
		Workers:   1,
		Source:    a,
		Sink:      a,
		Archive:   a,
		Contents:  a,
		Fetcher:   a,
		Elsewhere: a,
		Deriver:   &a.texts,
		Documents: &a.texts,
		Rules:     func() *Rules { return &a.rules },
	}
	if a.keeper != nil {
		o.Keeper = a.keeper
	}
	if err := New(o).Run(a.t.Context()); err != nil {
		a.t.Fatal(err)
	}
	last := a.outcomes[len(a.outcomes)-1]
	if a.bench.read["http://a.test/"] = last; last.First ||
		a.content["http://a.test/"].Original == nil {
		a.content["http://a.test/"] = ContentAnswer{Original: &crawl.Original{
			Record:    [16]byte{5},
			URL:       "http://a.test/",
			FetchedAt: time.Unix(1e9, 0),
		}}
	}
	return last
}

// TestSentAgain: a page that is sent again as it was read is archived by reference, listed and
// completed, and nothing else: no links, no text, no document, no question about its text.
func TestSentAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, header, body string }{
		{"a page", "", samePage},
		{"a page with validators that its server does not heed", "ETag: \"v1\"", samePage},
		{"XHTML", "Content-Type: application/xhtml+xml", samePage},
		{"a page that asks not to be indexed", "", "<meta name=robots content=noindex>" + samePage},
		{"a header that does", "X-Robots-Tag: noindex", samePage},
		{"one that asks not to be followed", "X-Robots-Tag: nofollow", samePage},
		{"plain text", "Content-Type: text/plain", "words"},
		{"an empty page", "", ""},
		{"a sheet", "Content-Type: text/css", "a { background: url(/x.png) }"},
	} {
		a := newSentAgain(t, scope.Options{})
		a.serve("http://a.test/", 200, c.header, c.body)
		first := a.look()
		before := a.texts
		for range 3 {
			o := a.look(func(v *crawl.Visit) { v.Item.Revisit = true })
			if !o.Unchanged || o.Kind != crawl.Fetched || o.Status != 200 ||
				o.Digest != sha1.Sum([]byte(c.body)) || o.Basis != first.Basis || o.NoIndex != first.NoIndex ||
				o.ETag != first.ETag || o.Refers != (c.body != "") ||
				o.LinksFound+len(o.Targets)+len(o.Document)+len(o.Unjudged) > 0 || o.Simhash != 0 ||
				o.Archive.File == "" {
				t.Errorf("%s: %+v", c.name, o)
			}
		}
		if a.documents != before.documents || a.parsed != before.parsed || len(a.pages) != 4 {
			t.Errorf("%s: %d documents, %d parsed, %d lines", c.name, a.documents, a.parsed, len(a.pages))
		}
		for i, got := range a.captures {
			if i > 0 && (got.Original == nil) != (c.body == "") || got.Digest != first.Digest ||
				got.NoIndex != first.NoIndex {
				t.Errorf("%s: capture %d: %+v", c.name, i, got)
			}
		}
		for _, q := range a.questions[min(len(a.questions), 1):] {
			if q.Simhash != 0 {
				t.Errorf("%s: asked for the text of an unchanged page: %+v", c.name, q)
			}
		}
	}
}

// TestSentAgainWithoutArchive: what was read last is known from the record, with or without an
// archive.
func TestSentAgainWithoutArchive(t *testing.T) {
	t.Parallel()
	a := newSentAgain(t, scope.Options{})
	a.rules.Settings.Archive = false
	a.look()
	if o := a.look(); !o.Unchanged || len(o.Targets) > 0 || len(a.questions) > 0 ||
		len(a.captures) > 0 || a.documents != 1 {
		t.Errorf("completed %+v, %d questions, %d captures, %d documents", o, len(a.questions),
			len(a.captures), a.documents)
	}
}

// TestSentAgainStoredAnew: an unchanged page whose capture no node has any more is stored whole.
func TestSentAgainStoredAnew(t *testing.T) {
	t.Parallel()
	a := newSentAgain(t, scope.Options{})
	a.look()
	a.content["http://a.test/"] = ContentAnswer{First: true}
	if o := a.look(); !o.Unchanged || !o.First || o.Refers || a.captures[1].Original != nil ||
		string(a.captures[1].Body) != samePage {
		t.Errorf("completed %+v, archived %+v", o, a.captures[1])
	}
}

// TestReadOnceMore: what differs from the last reading beside the payload has the page read again,
// once.
func TestReadOnceMore(t *testing.T) {
	t.Parallel()
	header := func(h string) func(*sentAgain) {
		return func(a *sentAgain) { a.serve("http://a.test/", 200, h, samePage) }
	}
	for name, change := range map[string]func(*sentAgain){
		"another payload": func(a *sentAgain) {
			a.serve("http://a.test/", 200, "", samePage+" ")
		},
		"another program or setting": func(a *sentAgain) { a.rules.Basis++ },
		"a scope entry":              func(a *sentAgain) { a.rules.Entries = func() uint64 { return 3 } },
		"noindex":                    header("X-Robots-Tag: noindex"),
		"nofollow":                   header("X-Robots-Tag: other\nX-Robots-Tag: nofollow"),
		"another type":               header("Content-Type: application/xhtml+xml"),
		"no page any more":           header("Content-Type: text/plain"),
		"another coding":             header("Content-Encoding: identity"),
		"a language":                 header("Content-Language: de"),
		"a refresh":                  header("Refresh: 0; url=/x"),
		"a link":                     header("Link: </x>; rel=canonical"),
		"another status":             func(a *sentAgain) { a.serve("http://a.test/", 203, "", samePage) },
	} {
		a := newSentAgain(t, scope.Options{})
		first := a.look()
		if o := a.look(); !o.Unchanged {
			t.Fatalf("%s: before the change: %+v", name, o)
		}
		a.bench.read["http://a.test/"] = first
		change(a)
		n := a.documents
		if o := a.look(); o.Unchanged || o.Basis == 0 ||
			o.Basis.Same(first.Basis) && o.Digest == first.Digest ||
			o.NoIndex == (a.documents > n) && name != "no page any more" {
			t.Errorf("%s: %+v, %d documents", name, o, a.documents-n)
		}
		if o := a.look(); !o.Unchanged {
			t.Errorf("%s: read twice: %+v", name, o)
		}
	}
}

// TestNearerPage: the links of a page that is reached by a shorter way are nearer too, and may be
// wanted now.
func TestNearerPage(t *testing.T) {
	t.Parallel()
	a := newSentAgain(t, scope.Options{MaxDepth: 3})
	deep := func(depth int) func(*crawl.Visit) {
		return func(v *crawl.Visit) { v.Item.Depth, v.Item.Via = depth, crawl.ViaLink }
	}
	if o := a.look(deep(3)); len(o.Targets) > 0 || !o.DepthCut() || o.Basis == 0 {
		t.Fatalf("at the greatest depth: %+v", o)
	}
	if o := a.look(deep(3)); !o.Unchanged || !o.DepthCut() || o.Skipped != (crawl.SkipCounts{}) {
		t.Errorf("once more: %+v", o)
	}
	if o := a.look(deep(2)); o.Unchanged || o.DepthCut() || len(o.Targets) != 1 {
		t.Errorf("nearer: %+v", o)
	}
}

// TestAlwaysRead: what cannot be compared is read at each visit.
func TestAlwaysRead(t *testing.T) {
	t.Parallel()
	const feed = `<rss version="2.0"><channel><title>f</title><item><link>http://a.test/x</link><pubDate>Sat, 01 Jan 2000 00:00:00 GMT</pubDate></item></channel></rss>`
	answered := func(change func(*fetcher.Response)) func(*sentAgain) {
		return func(a *sentAgain) {
			a.web["http://a.test/"] = func(fetcher.Request) (*fetcher.Response, error) {
				r := answer(200, "", samePage)
				change(r)
				return r, nil
			}
		}
	}
	for name, change := range map[string]func(*sentAgain){
		"no basis":         func(a *sentAgain) { a.rules.Basis = 0 },
		"a part of a page": answered(func(r *fetcher.Response) { r.Truncated = fetcher.CutLength }),
		"a broken coding": answered(
			func(r *fetcher.Response) { r.DecodeErr = http.ErrBodyNotAllowed }),
		"a feed": func(a *sentAgain) {
			a.serve("http://a.test/", 200, "Content-Type: application/rss+xml", feed)
		},
		"a redirect": func(a *sentAgain) {
			a.serve("http://a.test/", 301, "Location: /x", samePage)
		},
		"a page that is gone": func(a *sentAgain) { a.serve("http://a.test/", 404, "", samePage) },
		"a server's error":    func(a *sentAgain) { a.serve("http://a.test/", 500, "", samePage) },
		"noindex later, in the page": func(a *sentAgain) {
			a.serve("http://a.test/", 200, "",
				samePage+`<meta name=robots content="unavailable_after: 2999-01-01">`)
		},
		"noindex later, by header": func(a *sentAgain) {
			a.serve("http://a.test/", 200, "X-Robots-Tag: unavailable_after: 1 Jan 2999", samePage)
		},
		"a page that panicked": func(a *sentAgain) {
			a.rules.Normalize, a.rules.Scope = normalize.Rules{}, nil
		},
	} {
		a := newSentAgain(t, scope.Options{})
		change(a)
		for i := range 3 {
			if o := a.look(); o.Unchanged || o.Basis != 0 {
				t.Errorf("%s: visit %d: %+v", name, i, o)
			}
		}
	}
	// The first fetch of a URL asks for no record.
	a := newSentAgain(t, scope.Options{})
	first := a.look()
	if o := a.look(func(v *crawl.Visit) { v.Item.Refetch = false }); o.Unchanged ||
		!slices.Equal(targets(o.Targets), targets(first.Targets)) {
		t.Errorf("a first fetch: %+v", o)
	}
}

// keeper is a ScopeKeeper that has every entry, or not.
type keeper struct{ complete bool }

func (k *keeper) Prepare(context.Context, string) (bool, error) { return k.complete, nil }

// TestLinksThatWait: a page whose links wait for the scope of another node is read again, until
// they can be judged.
func TestLinksThatWait(t *testing.T) {
	t.Parallel()
	a := newSentAgain(t, scope.Options{})
	a.keeper = new(keeper)
	for range 2 {
		if o := a.look(); o.Unchanged || o.Basis != 0 || len(o.Unjudged) != 1 {
			t.Errorf("with links that wait: %+v", o)
		}
	}
	a.keeper.complete = true
	if o := a.look(); o.Unchanged || o.Basis == 0 || len(o.Unjudged) != 0 {
		t.Errorf("with every entry: %+v", o)
	}
	if o := a.look(); !o.Unchanged {
		t.Errorf("once more: %+v", o)
	}
}
