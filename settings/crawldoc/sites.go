package crawldoc

import (
	"crawlnode/config"
	"crawlnode/crawl"
)

// Sites is the text of the rules for sites, and the version of the document.
func (b *Rulebook) Sites() (text, version string) {
	return b.Doc.Settings.Sites, b.Doc.Name()
}

// TestSites is what rules for sites make of a URL: those of the document, or with a text those of
// the text. The errors are those of config.SiteByText.
func (b *Rulebook) TestSites(url string, text *string) (crawl.SiteReport, error) {
	if text != nil {
		return config.SiteByText(&b.Doc.Settings, *text, url)
	}
	return config.SiteOf(&b.Doc.Settings, b.Pipeline.Sites, url)
}
