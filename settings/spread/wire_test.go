package spread

import (
	"fmt"
	"strings"
	"testing"

	"crawlnode/peer"
)

// fetchOf is the question of a member that has installed a view.
func fetchOf(view uint64) *peer.CrawlRequest { return &peer.CrawlRequest{View: view, Fetch: true} }

// A member's entries are bounded and checked, and wrong ones change nothing.
func TestServeRefuses(t *testing.T) {
	t.Parallel()
	n := newCluster(t, 1).nodes["a"]
	if _, err := n.Serve(fetchOf(99)); err == nil {
		t.Error("a question of a newer view was answered")
	}
	if _, err := n.Serve(&peer.CrawlRequest{
		Pieces: []*peer.ScopePiece{{Origin: "p", Lines: make([]byte, maxPieces+1)}},
	}); err == nil {
		t.Error("too many entries were taken")
	}
	for name, piece := range map[string]*peer.ScopePiece{
		"half a line":         {Origin: "p", Lines: []byte("host:x.test")},
		"a line that is none": {Origin: "p", Lines: []byte("host:x.test\n\n")},
		"another folder":      {Origin: "../p", Lines: []byte("host:x.test\n")},
		"an offset below 0":   {Origin: "p", From: 1 << 63, Lines: []byte("host:x.test\n")},
	} {
		if r, err := n.Serve(&peer.CrawlRequest{
			View:   99,
			Pieces: []*peer.ScopePiece{piece},
		}); err != nil || r.Error == "" || n.doc.Scope.Len() != 0 {
			t.Errorf("%s: %v, %v", name, r, err)
		}
	}
	// A piece that leaves a gap is passed over, and the answer shows what is here.
	r, err := n.Serve(&peer.CrawlRequest{
		View:   99,
		Pieces: []*peer.ScopePiece{{Origin: "p", From: 12, Lines: []byte("host:x.test\n")}},
	})
	if err != nil || r.Error != "" || len(r.Have) != 0 || r.View != 1 {
		t.Errorf("a piece after a gap: %v, %v", r, err)
	}
	if r, err := n.Serve(&peer.CrawlRequest{Document: []byte(`{"version":`)}); err != nil ||
		r.Error == "" || n.changed.Load() != 0 {
		t.Errorf("half a document: %v, %v", r, err)
	}
}

// A long list of scope entries is fetched piece by piece, whole.
func TestFetchInPieces(t *testing.T) {
	t.Parallel()
	n := newCluster(t, 1).nodes["a"]
	var entries []string
	for i := range 50_000 {
		entries = append(entries, fmt.Sprintf("host:h%d.test", i))
	}
	if err := n.Add(entries...); err != nil {
		t.Fatal(err)
	}
	behind := func(length uint64) *peer.CrawlRequest {
		return &peer.CrawlRequest{Fetch: true, Have: []*peer.ScopeLog{{Origin: "a", Length: length}}}
	}
	var got strings.Builder
	calls := 0
	for more := true; more && calls < 10; calls++ {
		r, err := n.Serve(behind(uint64(got.Len())))
		if err != nil || len(r.Pieces) != 1 || r.Pieces[0].From != uint64(got.Len()) ||
			len(r.Pieces[0].Lines) > maxPiece {
			t.Fatalf("%d pieces, %v", len(r.GetPieces()), err)
		}
		got.Write(r.Pieces[0].Lines)
		more = r.More
	}
	if got.String() != strings.Join(entries, "\n")+"\n" || calls < 3 {
		t.Errorf("%d bytes arrived in %d calls", got.Len(), calls)
	}
	for _, length := range []uint64{1 << 63, uint64(got.Len())} {
		if r, err := n.Serve(behind(length)); err != nil || len(r.Pieces) != 0 || r.More {
			t.Errorf("behind %d bytes: %d pieces, %v", length, len(r.GetPieces()), err)
		}
	}
}
