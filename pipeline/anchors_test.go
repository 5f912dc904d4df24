package pipeline

import (
	"strings"
	"testing"

	"crawlnode/crawl"
)

// TestLinksCarryTheirTextsForTheIndex: with an index the links of a page have their texts, bounded;
// without one none has.
func TestLinksCarryTheirTextsForTheIndex(t *testing.T) {
	t.Parallel()
	page :=
		`<a href="/x">the  <b>value</b> log</a> <a href="/y"><img src="/z.png"></a> <a href="/long">` +
			strings.Repeat("é", 100) + `</a><link rel="next" href="/w">`
	for _, on := range []bool{false, true} {
		want := map[string]string{"/x": "", "/y": "", "/long": "", "/w": ""}
		if on {
			want["/x"], want["/long"] = "the value log", strings.Repeat("é", crawl.MaxAnchor/2)
		}
		o, _ := focused(t, page, 0, func(r *Rules, _ *crawl.Item) { r.Focus, r.Settings.Index = nil, on })
		for _, target := range o.Targets {
			if text, ok := want[target.URL.Path()]; !ok || target.Anchor != text {
				t.Errorf("index %v: the text of %s is %q, want %q", on, target.URL, target.Anchor, text)
			}
		}
		if len(o.Targets) < 3 {
			t.Errorf("%d links", len(o.Targets))
		}
	}
}
