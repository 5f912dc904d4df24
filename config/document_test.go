package config

import (
	"encoding/json"
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/retry"
)

var rewrite = flag.Bool("rewrite", false, "write testdata anew")

// TestDocumentsStay: what nodes store, send and report does not change, byte for byte: data
// directories and clusters of earlier versions have such documents.
func TestDocumentsStay(t *testing.T) {
	gap := 70 * time.Millisecond
	var text strings.Builder
	for _, x := range []struct {
		name   string
		change func(*Config)
	}{
		{"defaults", func(*Config) {}},
		{"scope", func(c *Config) {
			c.Mode, c.Include, c.Exclude = "any", []string{"*.a", "*.<b>"}, []string{"host:c"}
			c.Assets, c.Normalize = crawl.AssetsSameHost, []string{"www"}
			c.Focus, c.FocusMin = Topic{Topic: &crawl.Topic{Name: "x", Model: []byte("m")}}, 0.25
		}},
		{"all assets", func(c *Config) { c.Assets = crawl.AssetsAny }},
		{"limits", func(c *Config) {
			c.MaxDepth, c.MaxPages, c.MaxPagesPerHost = 1, 2, 3
			c.MaxDuration, c.MaxBody, c.MaxSuspiciousPerHost = 90*time.Minute, 5<<20, 0
		}},
		{"politeness", func(c *Config) {
			c.Delay, c.IPDelay, c.Robots, c.TLSVerify = 0, &gap, "ignore", "record"
			c.AllowNet = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
			c.UserAgent, c.RobotsAgent = "Other/1", "OtherBot"
		}},
		{"answers", func(c *Config) {
			c.Retries, c.RetryStatuses, c.Cookies = 0, "", crawl.CookiesHost
			c.Timeout, c.HeaderTimeout = 2*time.Minute, 7*time.Second
		}},
		{"output", func(c *Config) { c.Store, c.Index, c.Documents = "none", "on", "off" }},
		{"render", func(c *Config) {
			c.Render, c.RenderMatch, c.RenderScreenshot = "auto", []string{"*.x"}, true
		}},
		{"one setting of revisits", func(c *Config) { c.RecrawlMin = 2 * time.Hour }},
		{"revisits", func(c *Config) {
			c.Recrawl, c.RecrawlInterval, c.RecrawlMin = "fixed", 48*time.Hour, time.Minute
			c.RecrawlMax, c.RecrawlShare, c.RecrawlChanged, c.RecrawlWorth = 72*
				time.Hour, 0.25, "payload", 0.4
			c.Priority = "depth=1"
		}},
	} {
		s := founded(x.change)
		text.WriteString(x.name + "\n")
		for _, document := range []any{s, Report(&s)} {
			raw, err := json.Marshal(document)
			if err != nil {
				t.Fatal(err)
			}
			text.WriteString(string(raw) + "\n")
		}
	}
	path := filepath.Join("testdata", "documents.txt")
	if *rewrite {
		if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	have := strings.Split(text.String(), "\n")
	for i, line := range strings.Split(string(want), "\n") {
		if i >= len(have) || have[i] != line {
			t.Errorf("line %d\nwas %s\n is %s", i+1, line, have[min(i, len(have)-1)])
		}
	}
}

// TestEverySettingReachesTheDocument: what is set in the crawl's settings is in the document, and
// comes back from it. A setting with live:"cluster" and no key in the document is a mistake.
func TestEverySettingReachesTheDocument(t *testing.T) {
	t.Parallel()
	notInDocument := []string{"exclude-file", "cluster", "partitions", "replication"}
	keys := map[string]bool{"assets_same_host": true} // beside assets
	for _, name := range Names() {
		c := Default()
		f := fieldNamed(&c, name)
		if !f.inDocument() {
			if f.ofCrawl() != slices.Contains(notInDocument, name) {
				t.Errorf("--%s is a setting of the crawl, and crawl.Settings has no field for it", name)
			}
			continue
		}
		keys[f.docKey()] = true
		another(f)
		before, after := Default(), c.Settings("1")
		if was := before.Settings("1"); reflect.DeepEqual(was, after) {
			t.Errorf("--%s %q is not in the document", name, f.texts())
		}
		back := ofSettings(&after, "1")
		if names := Differences(&c, &back); len(names) > 0 {
			t.Errorf("--%s %q: %q are different when they come back", name, f.texts(), names)
		}
	}
	document := reflect.TypeFor[crawl.Settings]()
	for i := range document.NumField() {
		name, _, _ := strings.Cut(document.Field(i).Tag.Get("json"), ",")
		if !keys[name] {
			t.Errorf("%s of the document is no setting", name)
		}
	}
}

// another gives a setting a value that is not its default.
func another(f field) {
	switch v := f.value.Addr().Interface().(type) {
	case *string:
		*v = append(f.words(), "another", *v)[0]
		if *v == f.tag.Get("default") {
			*v = append(f.words(), "another", *v)[1]
		}
	case *bool:
		*v = !*v
	case *int:
		*v++
	case *int64:
		*v++
	case *float64:
		*v += 0.125
	case *time.Duration:
		*v += time.Second
	case **time.Duration:
		*v = new(time.Duration)
	case *Size:
		*v++
	case *[]string:
		*v = []string{"another"}
	case *[]netip.Prefix:
		*v = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	case *crawl.AssetPolicy:
		*v = crawl.AssetsSameHost
	case *Topic:
		*v = Topic{Topic: &crawl.Topic{Name: "x", Model: []byte("m")}}
	case *Sites:
		*v = Sites{Text: "- {match: 'host:a.example', delay: 2s}"}
	default:
		panic("no other value for --" + f.name)
	}
}

// TestDefaultsOfTheEngine: what the engine takes for a key that a document lacks is the default.
func TestDefaultsOfTheEngine(t *testing.T) {
	t.Parallel()
	var s crawl.Settings
	c := Default()
	whole, head := s.Times()
	if s.RetryCount() != c.Retries || s.RetryList() != c.RetryStatuses || whole != c.Timeout ||
		head != c.HeaderTimeout || s.SuspiciousPerHost() != c.MaxSuspiciousPerHost ||
		s.VisitCookies() != (c.Cookies != crawl.CookiesOff) ||
		s.HostCookies() != (c.Cookies == crawl.CookiesHost) ||
		s.Renders() != (c.Render != crawl.RenderOff) || s.Revisits() != (c.Recrawl != crawl.RecrawlOff) {
		t.Errorf("the engine's defaults are others than those of the flags: %+v", c)
	}
	if most := fieldNamed(&c, "retries").bound("max"); most != retry.MaxRetries {
		t.Errorf("--retries is at most %d, and the engine's bound is %d", most, retry.MaxRetries)
	}
}
