package crawldoc

import (
	"encoding/json"
	"strings"
	"testing"

	"crawlnode/crawl"
)

// TestMessageFits: the longest text of rules for sites, of the bytes that JSON writes longest, fits
// into a message between nodes, of 8 MiB, and comes back.
func TestMessageFits(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"<", "&", "\"", "\\", "\n", "\t", "\u2028", "ü"} {
		text := "# " + strings.Repeat(unit, (crawl.MaxSitesBytes-2)/len(unit))
		d := &Document{Version: 3, By: "n", Settings: crawl.Settings{Sites: text}}
		b, err := d.Message()
		if err != nil {
			t.Fatal(err)
		}
		if len(b) > 6<<20 {
			t.Errorf("%q: a message of %d bytes", unit, len(b))
		}
		var back Document
		if err := json.Unmarshal(b, &back); err != nil || back.Settings.Sites != text ||
			back.Version != 3 {
			t.Errorf("%q: another document comes back: %v", unit, err)
		}
	}
}
