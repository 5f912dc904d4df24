package config

import (
	"maps"
	"slices"
	"strings"

	"crawlnode/crawl"
)

// grant is something that rules for sites give to the URLs of a pattern, and that needs the owner's
// intent: a secret, which would go to any host that a rule names; a proxy, through which a private
// network could be read; another name of the crawler.
type grant struct{ match, field, value string }

// unsafeSites describes the grants that a change of the rules for sites adds; "": it adds none.
func unsafeSites(before, after *crawl.Settings) string {
	if before.Sites == after.Sites {
		return ""
	}
	known, fields := grants(before), map[string]bool{}
	for g := range grants(after) {
		if !known[g] {
			fields[g.field] = true
		}
	}
	if len(fields) == 0 {
		return ""
	}
	return "sites (" + strings.Join(slices.Sorted(maps.Keys(fields)), ", ") + ")"
}

// grants lists what the rules of settings give; nothing when they cannot be read.
func grants(s *crawl.Settings) map[grant]bool {
	file, problems := ParseSites(s.Sites, s)
	if len(problems) > 0 {
		return nil
	}
	all := map[grant]bool{}
	for _, r := range file.Rules {
		add := func(field, value string) {
			for i := range r.Matches {
				all[grant{r.Matches[i].Text, field, value}] = true
			}
		}
		for _, v := range r.Settings {
			switch v.Field {
			case "proxy":
				for _, text := range v.Texts {
					if text != "none" {
						add(v.Field, text)
					}
				}
			case "user-agent", "robots-agent":
				add(v.Field, strings.Join(v.Texts, ""))
			}
		}
		if r.Own.Auth.Secret != "" {
			add("auth", r.Own.Auth.Scheme+" "+r.Own.Auth.Secret)
		}
		if r.Own.CookiesFile != "" {
			add("cookies-file", r.Own.CookiesFile)
		}
		for _, h := range r.Own.Headers {
			switch {
			case h.Secret != "":
				add("headers", h.Name+" "+h.Secret)
			case strings.EqualFold(h.Name, "User-Agent"):
				add("user-agent", h.Value)
			}
		}
		if r.Own.Insecure && r.NeedsSecret() {
			add("insecure", "true")
		}
	}
	return all
}
