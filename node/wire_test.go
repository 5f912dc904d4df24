package node

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"crawlnode/config"
	"crawlnode/crawl"
	"crawlnode/peer"
	"crawlnode/ring"
	"crawlnode/web/urlnorm"
)

func wireLink(t testing.TB, url string, partitions int) *peer.Link {
	t.Helper()
	u, err := urlnorm.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	return &peer.Link{
		Url:        u.String(),
		Partition:  uint32(ring.PartitionOf(crawl.Host(u.Host()), partitions)),
		Depth:      3,
		Band:       2,
		Hops:       1,
		Via:        uint32(crawl.ViaSitemapFile),
		Suspicious: true,
	}
}

// stranger asks a running node as another member would.
type stranger struct {
	handler
	ctx context.Context
}

func newStranger(t testing.TB, change ...func(*config.Config)) stranger {
	t.Helper()
	c := testConfig(t, "host")
	for _, f := range change {
		f(&c)
	}
	n := startNode(t, c)
	converged(t, 1, n)
	until(t, patience, func() string {
		if n.holds(0) {
			return ""
		}
		return "handoff has not installed the first view yet"
	})
	return stranger{handler{n.Node}, context.Background()}
}

// A member's words are bounded and checked, and wrong ones change nothing.
func TestHandlersRefuse(t *testing.T) {
	t.Parallel()
	s := newStranger(t)
	block, err := json.Marshal(s.node.report.Block())
	if err != nil {
		t.Fatal(err)
	}
	if r, err := s.Renew(s.ctx, "p", &peer.RenewRequest{
		Block: block,
		Held:  []byte{1 << 1},
		Boot:  3,
	}); err != nil || r.Boot == 0 || r.View == 0 {
		t.Errorf("a renewal: %v, %v", r, err)
	}
	if s.node.peers.Holder(1) != "p" {
		t.Error("the renewal's holdings are not known")
	}
	if _, err := s.Renew(s.ctx, "q", &peer.RenewRequest{}); err == nil {
		t.Error("a renewal without a block was taken")
	}
	if _, ok := s.node.peers.All()["q"]; ok {
		t.Error("a refused renewal was remembered")
	}
	if r, err := s.Crawl(s.ctx, "p", &peer.CrawlRequest{View: 99, Fetch: true}); err == nil {
		t.Errorf("a question of a newer view was answered: %v", r)
	}
	if _, err := s.Idle(s.ctx, "p", &peer.IdleRequest{Finish: []byte(`{"blocks":{}}`)}); err == nil {
		t.Error("an end without a document was taken")
	}
	if _, ok := s.node.Finished(); ok {
		t.Error("the crawl has ended")
	}
	links := []*peer.Link{wireLink(t, "http://a.test/", 512)}
	same := s.node.spread.Stamp()
	for _, c := range []struct {
		stamp *peer.RulesStamp
		want  peer.Verdict
	}{
		{same, peer.Verdict_VERDICT_REFUSED},
		// the sender keeps it until both have the same
		{&peer.RulesStamp{CrawlVersion: 1 << 60}, peer.Verdict_VERDICT_NOT_HOLDER},
	} {
		if v, err := s.StoreLinks(s.ctx, "p", links, c.stamp); err != nil || len(v) != 1 ||
			v[0] != c.want {
			t.Errorf("a link out of scope by rules %v: %v, %v", c.stamp, v, err)
		}
	}
	// Those refused for good are counted, once, by the holder of their host.
	if got := s.node.front.Totals().Skipped; got != (crawl.SkipCounts{crawl.SkipOutOfScope: 1}) {
		t.Errorf("skipped: %v", got)
	}
	links[0].Url = "nonsense"
	if v, err := s.StoreLinks(s.ctx, "p", links, same); err != nil ||
		v[0] != peer.Verdict_VERDICT_REFUSED {
		t.Errorf("nonsense: %v, %v", v, err)
	}
	if r, err := s.Contents(s.ctx, "p", &peer.ContentBatch{
		Questions: []*peer.ContentQuestion{{Url: "http://a.test/", Simhash: 1}},
	}); err != nil || len(r.Answers) != 1 {
		t.Errorf("a question about a text: %v, %v", r, err)
	}
	if r, err := s.Contents(s.ctx, "p", &peer.ContentBatch{
		Notes: []*peer.ContentNote{{}},
	}); err == nil {
		t.Errorf("a note without a digest: %v", r)
	}
	if r, err := s.Addresses(s.ctx, "p", &peer.AddressBatch{
		Messages: []*peer.AddressMessage{{Kind: 99, Address: []byte{1}}},
	}); err != nil || len(r.Messages) != 0 {
		t.Errorf("addresses: %v, %v", r, err)
	}
	if r, err := s.Partitions(s.ctx, "p", nil); err != nil || len(r.Partitions) != 512 {
		t.Errorf("%d partitions, %v", len(r.GetPartitions()), err)
	}
	if r, err := s.Idle(s.ctx, "p", &peer.IdleRequest{}); err != nil || !r.Idle || len(r.Block) == 0 {
		t.Errorf("idle: %v, %v", r, err)
	}
}

// A node that has not joined yet knows no partitions, and refuses what is about them.
func TestHandlersRefuseBeforeJoining(t *testing.T) {
	t.Parallel()
	early, err := Open(Options{Config: testConfig(t, "early")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = early.http.Close()
		early.close()
	}()
	some := &peer.ContentBatch{Questions: []*peer.ContentQuestion{{Digest: make([]byte, 20)}}}
	if r, err := (handler{early}).Contents(t.Context(), "x", some); err == nil {
		t.Errorf("contents: answered %v", r)
	}
	if r, err := (handler{early}).Addresses(t.Context(), "x", &peer.AddressBatch{
		Boot: 1,
	}); err == nil {
		t.Errorf("addresses: answered %v", r)
	}
}

// A nested sitemap file of another member's host is no page: the depth limit, which
// the sender did not hold against it, is not held against it here.
func TestStoredSitemapFilesHaveNoDepth(t *testing.T) {
	t.Parallel()
	s := newStranger(t, func(c *config.Config) { c.MaxDepth, c.DNS = 1, []string{"127.0.0.1:1"} })
	if err := s.node.doc.AddScope([]string{"host:a.test"}); err != nil {
		t.Fatal(err)
	}
	sitemap, page := wireLink(t, "http://a.test/3.xml", 512), wireLink(t, "http://a.test/3", 512)
	page.Via = uint32(crawl.ViaLink)
	sitemap.Again, page.Again = false, false // else only known URLs are wanted
	v, err := s.StoreLinks(s.ctx, "p", []*peer.Link{sitemap, page}, s.node.spread.Stamp())
	if want := []peer.Verdict{peer.Verdict_VERDICT_ADDED, peer.Verdict_VERDICT_REFUSED}; err != nil ||
		!slices.Equal(v, want) {
		t.Errorf("%v, %v; want %v", v, err, want)
	}
	if got := s.node.front.Totals().Skipped; got != (crawl.SkipCounts{crawl.SkipDepth: 1}) {
		t.Errorf("skipped: %v", got)
	}
}

// A seed, and what a seed redirects to, opens its own scope wherever it arrives; other
// links do not.
func TestStoredSeedsBringTheirScope(t *testing.T) {
	t.Parallel()
	s := newStranger(t,
		func(c *config.Config) { c.Exclude, c.DNS = []string{"*/private*"}, []string{"127.0.0.1:1"} })
	var links []*peer.Link
	for i, l := range []struct {
		via   crawl.Via
		depth uint32
		path  string
	}{{crawl.ViaSeed, 0, ""}, {crawl.ViaRedirect, 0, ""}, {crawl.ViaRedirect, 1, ""},
		{crawl.ViaLink, 1, ""}, {crawl.ViaSeed, 0, "private"}} {
		link := wireLink(t, fmt.Sprintf("http://h%d.test/%s", i, l.path), 512)
		link.Via, link.Depth, link.Again = uint32(l.via), l.depth, l.via == crawl.ViaSeed
		links = append(links, link)
	}
	v, err := s.StoreLinks(s.ctx, "p", links, s.node.spread.Stamp())
	added, refused := peer.Verdict_VERDICT_ADDED, peer.Verdict_VERDICT_REFUSED
	if want := []peer.Verdict{added, added, refused, refused, refused}; err != nil ||
		!slices.Equal(v, want) {
		t.Errorf("%v, %v; want %v", v, err, want)
	}
	for i, want := range []bool{true, true, false, false, false} {
		if s.node.doc.Seeds.Has(fmt.Sprintf("host:h%d.test", i)) != want {
			t.Errorf("h%d.test is in the scope: %v", i, !want)
		}
	}
}

// FuzzHandlers: whatever bytes a member sends as its block, the document or the
// end of the crawl, the node goes on and its status can be made.
func FuzzHandlers(f *testing.F) {
	for _, seed := range []string{``, `null`, `{}`, `[]`,
		`{"node":{"partitions":{"held":-1}},"counters":{"Queued":[1,2,3,4,5,6,7,8,9]}}`,
		`{"counters":{"Pages":9223372036854775807,"Latency":[-1,-2]},"handoff":{"partitions_total":-5,"stuck":null},"view":1}`,
		`{"version":5,"settings":{"scope":"host"},"state":"running"}`,
		`{"document":{"version":9,"settings":{"scope":"any"},"state":"finished"},"blocks":{"x":{"boot":1},"":{}}}`,
		`{"document":{"version":18446744073709551615,"state":"","settings":{"scope":"host","max_duration":-1}}}`} {
		f.Add([]byte(seed), []byte{1}, "host:a.test", uint64(1))
	}
	s := newStranger(f)
	f.Fuzz(func(t *testing.T, raw, held []byte, entry string, view uint64) {
		_, _ = s.Renew(s.ctx, "p", &peer.RenewRequest{
			View:  view,
			Boot:  view,
			Rules: &peer.RulesStamp{CrawlVersion: view, CrawlBy: entry},
			Block: raw,
			Held:  held,
		})
		_, _ = s.Crawl(s.ctx, "p", &peer.CrawlRequest{View: view, Document: raw, Fetch: view%2 == 0,
			Pieces: []*peer.ScopePiece{
				{Origin: entry, Lines: raw},
				{Origin: "p", From: view, Lines: []byte(entry)},
			}, Have: []*peer.ScopeLog{{Origin: entry, Length: view}}})
		_, _ = s.Idle(s.ctx, "p", &peer.IdleRequest{View: view, Finish: raw})
		_, _ = s.Membership(s.ctx, "p", &peer.Envelope{Payload: raw})
		_, _ = s.Permits(s.ctx, "p", &peer.PermitRequest{Wanted: int64(view), Returned: int64(len(raw))})
		st, err := s.node.Status(s.ctx, false)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := json.Marshal(st); err != nil {
			t.Errorf("the status cannot be told any more: %v", err)
		}
		if doc := s.node.doc.Current().Doc; doc.RunningFor(time.Now()) < 0 && doc.RanFor >= 0 {
			t.Errorf("%+v", doc)
		}
	})
}
