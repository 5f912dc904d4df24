package report

import (
	"os"

	"crawlnode/crawl"
	"crawlnode/metrics"
)

// This file is what a node says of its browser.

// renderReasons say that this node has no browser although the crawl shows pages to one, or that it runs it in a way
// that is less safe than it could be.
func (r *Reporter) renderReasons() []crawl.HealthReason {
	b := r.Render()
	switch {
	case b == nil:
		return nil
	case b.Browser == "":
		otherwise := "crawlnode crawl-config set render=off"
		if !r.Documents.Current().Doc.Settings.Renders() {
			otherwise = "take render out of the rules for sites"
		}
		return []crawl.HealthReason{{Code: crawl.ReasonNoBrowser, Since: r.Started.UTC(),
			Message: r.Name + " has no browser and takes pages as they were fetched, although the crawl shows pages to one: " +
				"install chromium-headless-shell or chromium, or name one with --browser, and restart it; or " + otherwise}}
	case b.Broken != "":
		return []crawl.HealthReason{{Code: crawl.ReasonNoBrowser, Since: r.Started.UTC(), Message: r.Name + "'s browser does not start, so it takes pages as they were fetched, although the crawl shows pages to one (" + b.Broken + "): see whether the browser starts for this user, install chromium-headless-shell or chromium, or name another with --browser"}}
	case os.Geteuid() == 0:
		return []crawl.HealthReason{{Code: crawl.ReasonNoSandbox, Since: r.Started.UTC(), Message: r.Name + " runs as root, so its browser has no sandbox: run the node as another user"}}
	}
	return nil
}

// sampleRender fills the metrics of the browser.
func (r *Reporter) sampleRender(s *metrics.Sample) {
	b := r.Render()
	if b == nil {
		return
	}
	queued, busy, most := int64(b.Queued), int64(b.Busy), int64(b.Max)
	s.Render = metrics.Render{Queued: &queued, Busy: &busy, Max: &most, Pages: b.Pages, Failed: b.Failed, Timeouts: b.Timeouts, Restarts: b.Restarts, Refused: b.Refused, Hits: b.Hits,
		Seconds: metrics.Histogram{Bounds: latencyBounds(), Counts: b.Buckets}}
}
