package crawldoc_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"crawlnode/config"
	"crawlnode/crawl"
	"crawlnode/settings/crawldoc"
	"crawlnode/settings/crawldoc/crawldoctest"
)

// TestBrowserFlagsWait: flags of a browser are named while the crawl shows no page to one, and not
// once it does.
func TestBrowserFlagsWait(t *testing.T) {
	t.Parallel()
	const self = crawl.NodeID("0000000000000001")
	c := config.Default()
	doc := crawldoctest.NewStore(t, self)
	flags := &crawldoc.Flags{Config: &c, Document: doc, HTTP: "127.0.0.1:27295",
		Given: []string{"name", "renderers", "browser", "fetchers"}}
	got := warned(flags)
	if !strings.Contains(got, `flags="--renderers, --browser"`) ||
		!strings.Contains(got, "crawl-config set render=auto") {
		t.Errorf("no page is shown: %q", got)
	}
	if _, err := doc.Change(func(d *crawldoc.Document) *crawldoc.Document {
		s := d.Settings
		s.Render = crawl.RenderAuto
		return d.With(s, self, time.Unix(1, 0))
	}); err != nil {
		t.Fatal(err)
	}
	if got = warned(flags); got != "" {
		t.Errorf("pages are shown: %q", got)
	}
}

func warned(f *crawldoc.Flags) string {
	var b bytes.Buffer
	f.Warn(slog.New(slog.NewTextHandler(&b, nil)))
	return b.String()
}
