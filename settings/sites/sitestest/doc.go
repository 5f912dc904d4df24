// Package sitestest makes rules for sites for tests of the packages that obey them. It reads the
// fields that are durations, numbers, words and patterns, without the checks of package config.
package sitestest

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/settings/sites"
	"crawlnode/web/scope"
)

// Table reads a file of rules beside the settings of a crawl.
func Table(t testing.TB, s *crawl.Settings, text string) *sites.Table {
	t.Helper()
	f, problems := sites.Parse([]byte(text), sites.Checks{
		Suggest: func(string, []string) string { return "" },
		Setting: func(v sites.Setting) error { return set(&crawl.Settings{}, v) },
		Header:  func(string, string) error { return nil },
	})
	for _, p := range problems {
		t.Error(p)
	}
	return Of(f, s)
}

// Of makes a table of a file that was read before.
func Of(f *sites.File, s *crawl.Settings) *sites.Table {
	base := *s
	return sites.NewTable(f, func(values []sites.Setting) (*crawl.Settings, *scope.Rules, error) {
		own, scoped := base, false
		for _, v := range values {
			if v.Field == "exclude" { // beside the crawl's
				own.Exclude, scoped = base.Exclude, true
			}
			if err := set(&own, v); err != nil {
				return nil, nil, err
			}
		}
		if !scoped {
			return &own, nil, nil
		}
		rules, err := scope.Compile(scope.Options{Mode: own.Scope, Include: own.Include,
			Exclude: own.Exclude, MaxDepth: own.MaxDepth})
		return &own, rules, err
	})
}

// set gives a setting the value of a rule.
func set(s *crawl.Settings, v sites.Setting) (err error) {
	text := ""
	if len(v.Texts) > 0 {
		text = v.Texts[0]
	}
	switch v.Field {
	case "delay":
		s.Delay, err = time.ParseDuration(text)
	case "retries":
		n := 0
		n, err = strconv.Atoi(text)
		s.Retries = &n
	case "max-pages":
		s.MaxPagesPerHost, err = strconv.ParseInt(text, 10, 64)
	case "recrawl-min":
		s.RecrawlMin, err = time.ParseDuration(text)
	case "recrawl-max":
		s.RecrawlMax, err = time.ParseDuration(text)
	case "recrawl-worth":
		s.RecrawlWorth, err = strconv.ParseFloat(text, 64)
	case "exclude":
		s.Exclude = append(s.Exclude[:len(s.Exclude):len(s.Exclude)], v.Texts...)
	case "render":
		s.Render = text
	case "cookies":
		s.Cookies = text
	case "index":
		s.Index = text == "true"
	default:
		return fmt.Errorf("the field %s is not one that tests use", v.Field)
	}
	return err
}
