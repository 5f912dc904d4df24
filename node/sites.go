package node

import (
	"context"

	"crawlnode/crawl"
)

// Sites returns the rules for sites that this node has now, and the version of the settings.
func (n *Node) Sites(context.Context) (text, version string, err error) {
	text, version = n.doc.Current().Sites()
	return text, version, nil
}

// TestSites tells which rules for sites apply to a URL: crawldoc.Rulebook.TestSites.
func (n *Node) TestSites(_ context.Context, url string, text *string) (crawl.SiteReport, error) {
	return n.doc.Current().TestSites(url, text)
}
