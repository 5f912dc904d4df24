package config

import (
	"fmt"

	"crawlnode/crawl"
	"crawlnode/settings/sites"
	"crawlnode/web/urlnorm"
)

// SiteOf is what holds for a URL by a table of rules for sites, which may be nil, and the settings
// of the crawl. The error wraps crawl.ErrNoURL.
func SiteOf(s *crawl.Settings, table *sites.Table, url string) (crawl.SiteReport, error) {
	u, err := urlnorm.Parse(url)
	if err != nil {
		return crawl.SiteReport{}, fmt.Errorf("%w: %w", crawl.ErrNoURL, err)
	}
	return ExplainSite(s, table, u), nil
}

// SiteByText is SiteOf by a text of rules, which need not be the crawl's. What is wrong with the
// text is a *crawl.FieldErrors.
func SiteByText(s *crawl.Settings, text, url string) (crawl.SiteReport, error) {
	file, problems := ParseSites(text, s)
	if len(problems) > 0 {
		return crawl.SiteReport{}, SitesErrors(problems)
	}
	return SiteOf(s, sites.NewTable(file, SiteOverlay(s)), url)
}

// SitesErrors lists problems of a text of rules as Change does.
func SitesErrors(problems []sites.Problem) *crawl.FieldErrors {
	wrong := &crawl.FieldErrors{}
	for _, p := range problems {
		wrong.Fields = append(wrong.Fields, crawl.FieldError{Field: "sites", Detail: p.Error()})
	}
	return wrong
}
