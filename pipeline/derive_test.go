package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/web/htmlparse"
	"crawlnode/web/metadata"
	"crawlnode/web/scope"
	"crawlnode/web/urlnorm"
)

// notes is a Deriver that records its calls, in the bench's log too.
type notes struct {
	b       *bench
	anchors bool
	pages   []string // URL, status, archive file, depth, title or "no page"
	texts   []string // of links
	skips   []string // URL, source, reason, via
	err     error
}

func (n *notes) Anchors() bool { return n.anchors }

func (n *notes) Simhashes() bool { return n.anchors }

func (n *notes) Metadata() bool { return n.anchors }

func (n *notes) Page(
	_ context.Context,
	c *crawl.Capture,
	o *crawl.Outcome,
	depth int,
	doc *htmlparse.Document,
	_ *metadata.Record,
) error {
	n.b.mu.Lock()
	defer n.b.mu.Unlock()
	n.b.log = append(n.b.log, "derive "+c.URL.String())
	title := "no page"
	if doc != nil {
		title = doc.Title
		for i := range doc.Links {
			n.texts = append(n.texts, doc.Anchor(i))
		}
	}
	n.pages = append(n.pages,
		fmt.Sprintf("%s %d %q d%d %s", c.URL, o.Status, o.Archive.File, depth, title))
	return n.err
}

// Sampled leaves out URLs that contain "quiet".
func (n *notes) Sampled(u urlnorm.URL) bool { return !strings.Contains(u.String(), "quiet") }

func (n *notes) Skipped(_ context.Context, skips []crawl.Skip) error {
	for _, s := range skips {
		n.skips = append(n.skips, fmt.Sprintf("%s from %s %v %v", s.URL, s.Source, s.Reason, s.Via))
		if s.At.IsZero() {
			n.b.t.Errorf("%s has no time", s.URL)
		}
	}
	return n.err
}

func newNotes(t *testing.T, o scope.Options) (*bench, *notes) {
	t.Helper()
	b := newBench(t, o)
	n := &notes{b: b, anchors: true}
	b.deriver = n
	b.rules.Settings.Archive = true
	return b, n
}

// What is derived from a page is written after its record and before it is done.
func TestDerived(t *testing.T) {
	t.Parallel()
	b, n := newNotes(t, scope.Options{MaxDepth: 1})
	b.serve("http://a.test/", 200, "",
		`<title>One</title><a href="/x"> to <b>x</b> </a><a href="http://b.test/">out</a>
		<a href="http://quiet.test/">out</a><a rel="nofollow" href="/y">asked</a>`)
	b.visit("http://a.test/")
	b.one()
	want := []string{"fetch http://a.test/", "release fetched", "archive http://a.test/",
		"derive http://a.test/", "complete fetched"}
	if !slices.Equal(b.log, want) {
		t.Errorf("order %q, want %q", b.log, want)
	}
	if want := []string{`http://a.test/ 200 "f" d0 One`}; !slices.Equal(n.pages, want) {
		t.Errorf("pages %q, want %q", n.pages, want)
	}
	if want := []string{"to x", "out", "out", "asked"}; !slices.Equal(n.texts, want) {
		t.Errorf("texts %q, want %q", n.texts, want)
	}
	if want := []string{"http://b.test/ from http://a.test/ out_of_scope link"}; !slices.Equal(n.skips,
		want) {
		t.Errorf("skipped %q, want %q", n.skips, want)
	}
}

// Every answer gives a line; only fetched pages count.
func TestDerivedKinds(t *testing.T) {
	t.Parallel()
	b, n := newNotes(t, scope.Options{})
	n.anchors = false
	b.rules.Settings.Archive = false
	b.serve("http://a.test/missing", 404, "", `<title>Sorry</title>`)
	b.serve("http://a.test/image", 200, "Content-Type: image/png", "png")
	b.serve("http://a.test/moved", 301, "Location: http://b.test/", "")
	b.serve("http://a.test/busy", 503, "", "")
	b.serve("http://a.test/meta", 200, "X-Robots-Tag: nofollow",
		`<meta http-equiv=refresh content="1;url=/z"><img src=/i><a href=/l>text</a>`)
	b.fail("http://a.test/broken", errors.New("broken"))
	for _, path := range []string{"missing", "image", "moved", "busy", "meta", "broken"} {
		b.visit("http://a.test/" + path)
	}
	if err := b.run(); err != nil {
		t.Fatal(err)
	}
	want := []string{`http://a.test/missing 404 "" d0 no page`,
		`http://a.test/image 200 "" d0 no page`, `http://a.test/moved 301 "" d0 no page`,
		`http://a.test/meta 200 "" d0 `}
	if !slices.Equal(n.pages, want) {
		t.Errorf("pages %q, want %q", n.pages, want)
	}
	if strings.Join(n.texts, "") != "" {
		t.Errorf("texts %q, and nobody asked", n.texts)
	}
	want = []string{"http://b.test/ from http://a.test/moved out_of_scope redirect",
		"http://a.test/z from http://a.test/meta nofollow redirect",
		"http://a.test/l from http://a.test/meta nofollow link"}
	if !slices.Equal(n.skips, want) {
		t.Errorf("skipped %q, want %q", n.skips, want)
	}
}

// denied is a robots entry that forbids everything.
func denied(v *crawl.Visit) {
	v.Robots = &crawl.Robots{
		Verdict: crawl.RobotsRules,
		Body:    []byte("User-agent: *\nDisallow: /\n"),
		Fetched: time.Now(),
		Expires: time.Now().Add(time.Hour),
		Origin:  "http://a.test",
	}
}

func TestRefusedIsLogged(t *testing.T) {
	t.Parallel()
	b, n := newNotes(t, scope.Options{})
	b.visit("http://a.test/x", denied)
	b.visit("http://a.test/quiet", denied)
	if err := b.run(); err != nil {
		t.Fatal(err)
	}
	if want := []string{"http://a.test/x from  robots link"}; !slices.Equal(n.skips, want) ||
		len(n.pages) > 0 || len(b.outcomes) != 2 {
		t.Errorf("skipped %q, want %q; pages %q; %d outcomes", n.skips, want, n.pages, len(b.outcomes))
	}
}

// A page whose lines cannot be written is not done.
func TestDeriverFails(t *testing.T) {
	t.Parallel()
	for _, refused := range []bool{false, true} {
		b, n := newNotes(t, scope.Options{})
		n.err = errors.New("disk full")
		b.serve("http://a.test/", 200, "", "text")
		if refused {
			b.visit("http://a.test/", denied)
		} else {
			b.visit("http://a.test/")
		}
		if err := b.run(); err == nil || !strings.Contains(err.Error(), "disk full") {
			t.Errorf("refused %v: error %v", refused, err)
		}
		if len(b.outcomes) != 1 || b.outcomes[0].Kind != crawl.Aborted || len(b.releases) != 1 {
			t.Errorf("refused %v: outcomes %+v, releases %+v", refused, b.outcomes, b.releases)
		}
	}
}
