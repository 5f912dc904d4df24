package config

import (
	"encoding/json"
	"errors"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
)

// founded are the cluster's settings when a node with these flags founds it.
func founded(change func(*Config)) crawl.Settings {
	c := Default()
	c.Contact = "me@example.org"
	change(&c)
	return c.Settings("1.0")
}

func TestSettingsAreTheirOwnInverse(t *testing.T) {
	t.Parallel()
	gap := 70 * time.Millisecond
	for i, change := range []func(*Config){
		func(*Config) {},
		func(c *Config) { c.Contact = "" },
		func(c *Config) { c.UserAgent = "other/1 (+me@example.org)" },
		func(c *Config) { c.UserAgent = "crawlnode/1.0 of mine" },
		func(c *Config) {
			c.Mode, c.Include, c.Exclude, c.Assets = "any", []string{"*.a"}, []string{"*.b",
				"host:c"}, crawl.AssetsSameHost
			c.MaxDepth, c.MaxPages, c.MaxPagesPerHost, c.MaxDuration, c.MaxBody = 1, 2, 3, 4, 5
			c.Delay, c.IPDelay, c.Robots, c.TLSVerify, c.Store = 0, &gap, "ignore", "record", "none"
			c.AllowNet = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
			c.Priority, c.Recrawl, c.RecrawlChanged, c.RecrawlShare = "depth=1", "fixed", "payload", 0.25
			c.RecrawlInterval, c.RecrawlMin, c.RecrawlMax = 3, 2, 4
		},
		func(c *Config) { c.RecrawlInterval = 14 * 24 * time.Hour },
	} {
		s := founded(change)
		c := ofSettings(&s, "1.0")
		if got := c.Settings("1.0"); !reflect.DeepEqual(got, s) {
			t.Errorf("%d: %+v became %+v", i, s, got)
		}
	}
}

// A report can be sent back unchanged, and changes nothing.
func TestReportCanBeSentBack(t *testing.T) {
	t.Parallel()
	gap := 70 * time.Millisecond
	for _, s := range []crawl.Settings{founded(func(*Config) {}),
		founded(func(c *Config) { c.Contact = "" }), founded(func(c *Config) {
			c.Exclude, c.IPDelay, c.MaxBody, c.AllowNet = []string{"*.zip"}, &gap, 3<<20,
				[]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
		})} {
		raw, err := json.Marshal(Report(&s))
		if err != nil {
			t.Fatal(err)
		}
		var changes map[string]json.RawMessage
		if err := json.Unmarshal(raw, &changes); err != nil {
			t.Fatal(err)
		}
		got, err := Change(&s, changes, "2.0")
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		if got.UserAgent != s.UserAgent {
			t.Errorf("the user agent became %s", got.UserAgent)
		}
		if a, b := Report(&got), Report(&s); !reflect.DeepEqual(a, b) {
			t.Errorf("%+v became %+v", b, a)
		}
	}
}

// TestReportWithAnotherContact: the user agent of a report that is sent back is not a new one, and
// so follows the contact.
func TestReportWithAnotherContact(t *testing.T) {
	t.Parallel()
	s := founded(func(*Config) {})
	raw, err := json.Marshal(
		map[string]string{"user_agent": s.UserAgent, "contact": "you@example.org"})
	if err != nil {
		t.Fatal(err)
	}
	var changes map[string]json.RawMessage
	if err := json.Unmarshal(raw, &changes); err != nil {
		t.Fatal(err)
	}
	if got, err := Change(&s, changes, "1.0"); err != nil ||
		got.UserAgent != "crawlnode/1.0 (+you@example.org)" {
		t.Errorf("%s, %v", got.UserAgent, err)
	}
}

func TestChange(t *testing.T) {
	t.Parallel()
	before := founded(func(c *Config) { c.Exclude, c.MaxPages = []string{"*.zip"}, 7 })
	for _, tc := range []struct {
		name, changes string
		want          func(s *crawl.Settings) bool
		wrong         string // fields and parts of their details; "" is none
		fixed         bool
	}{
		{"a delay", `{"delay":"2s"}`, func(s *crawl.Settings) bool { return s.Delay == 2*time.Second && s.MaxPages == 7 }, "", false},
		{"a number", `{"max_pages":100,"max-depth":"3"}`,
			func(s *crawl.Settings) bool { return s.MaxPages == 100 && s.MaxDepth == 3 }, "", false},
		{"the default", `{"max_pages":null,"exclude":null}`,
			func(s *crawl.Settings) bool { return s.MaxPages == 0 && len(s.Exclude) == 0 }, "", false},
		{"a list", `{"exclude":["*.a","*.b,c"],"allow_net":["10.0.0.0/8"]}`,
			func(s *crawl.Settings) bool { return len(s.Exclude) == 2 && len(s.AllowNet) == 1 }, "", false},
		{"a list as on the command line", `{"allow-net":"10.0.0.0/8, 127.0.0.0/8","exclude":"*.a,b"}`,
			func(s *crawl.Settings) bool { return len(s.Exclude) == 1 && len(s.AllowNet) == 2 }, "", false},
		{"nothing in a list", `{"exclude":""}`, func(s *crawl.Settings) bool { return len(s.Exclude) == 0 }, "", false},
		{"truth", `{"assets":true}`, func(s *crawl.Settings) bool { return s.AssetPolicy() == crawl.AssetsAny }, "", false},
		{"a word", `{"assets":"same-host"}`, func(s *crawl.Settings) bool { return s.AssetPolicy() == crawl.AssetsSameHost }, "", false},
		{"falsehood", `{"assets":false}`, func(s *crawl.Settings) bool { return s.AssetPolicy() == crawl.AssetsOff }, "", false},
		{"another word", `{"assets":"some"}`, nil, `assets: "some" must be off, same-host or any`, false},
		{"a contact", `{"contact":"you@example.org"}`,
			func(s *crawl.Settings) bool { return s.UserAgent == "crawlnode/1.0 (+you@example.org)" }, "",
			false},
		{"robots inside", `{"robots":"ignore","allow_net":"127.0.0.0/8","delay":"0s"}`,
			func(s *crawl.Settings) bool { return s.RobotsIgnore && s.Delay == 0 }, "", false},
		{"the store as it is", `{"store":"warc"}`, func(s *crawl.Settings) bool { return s.Archive }, "", false},
		{"another store", `{"store":"none"}`, nil, "store: is fixed when a node starts", true},
		{"the normalisation as it is", `{"normalize":[]}`, func(s *crawl.Settings) bool { return len(s.Normalize) == 0 }, "", false},
		{"another normalisation", `{"normalize":"www"}`, nil, "normalize: decides which URLs are known", true},
		{"partitions", `{"partitions":1024,"replication":"2"}`, nil, "partitions: is fixed by the founding node|replication: is fixed", true},
		{"one node's", `{"fetchers":7}`, nil, "fetchers: is a setting of one node", true},
		{"both kinds", `{"fetchers":7,"delai":"1s"}`, nil, `delai: is not a setting; did you mean "delay"?|fetchers: is a setting`, false},
		{"all at once", `{"delay":"-1s","exclude":["regex:("],"max_pages":-1,"scope":"all"}`, nil,
			"scope: |max_pages: -1 is too small|exclude: |delay: -1s is below zero", false},
		{"patterns by their list", `{"exclude":["regex:("],"include":["*.a"]}`, nil, "exclude: ", false},
		{"no duration", `{"delay":2,"max_duration":[]}`, nil, `delay: "2" is not a duration|max_duration: takes one value`, false},
		{"an object", `{"delay":{}}`, nil, "delay: must be a text", false},
		{"a list of numbers", `{"exclude":[1]}`, nil, "exclude: must be a list of texts", false},
		{"twice", `{"max_pages":1,"max-pages":2}`, nil, "max_pages: is given twice", false},
		{"robots outside", `{"robots":"ignore"}`, nil, "robots: ignore is allowed only", false},
		{"no delay outside", `{"delay":"0s"}`, nil, "delay: 0 is allowed only", false},
		{"revisits", `{"recrawl":"adaptive","recrawl_interval":"2d"}`, func(s *crawl.Settings) bool {
			return s.Revisits() && s.RecrawlInterval == 48*time.Hour && s.RecrawlMin == time.Hour &&
				s.RecrawlShare == 0.5 && s.RecrawlChanged == "text"
		}, "", false},
		{"a share", `{"recrawl_share":0.3}`, func(s *crawl.Settings) bool { return s.RecrawlShare == 0.3 && !s.Revisits() }, "", false},
		{"weights", `{"priority":"depth=1"}`, func(s *crawl.Settings) bool { return s.Priority == "depth=1" && s.RecrawlMax == 0 }, "", false},
		{"wrong weights", `{"priority":"deep=1,depth=2"}`, nil, `priority: "deep" is no weight|priority: depth=2`, false},
		{"bounds of revisits", `{"recrawl_min":"8d"}`, nil, "recrawl_interval: 7d is shorter than --recrawl-min, which is 8d", false},
		{"too often", `{"recrawl_min":"1s"}`, nil, "recrawl_min: 1s, below 1m, is allowed only", false},
		{"a worth", `{"recrawl_worth":0.3}`, func(s *crawl.Settings) bool { return s.RecrawlWorth == 0.3 && !s.Revisits() }, "", false},
		{"no worth", `{"recrawl_worth":0,"recrawl":"adaptive"}`,
			func(s *crawl.Settings) bool { return s.RecrawlWorth == 0 && s.Revisits() }, "", false},
		{"a worth never reached", `{"recrawl_worth":1}`, nil, "recrawl_worth: 1 must be at least 0 and below 1", false},
		{"revisits on", `{"recrawl":true,"recrawl_share":0}`, nil, `recrawl: "true" is not off, fixed or adaptive|recrawl_share: 0 must`, false},
		{"no contact", `{"contact":""}`, nil, "contact: is required", false},
		{"a header", `{"user_agent":"a\nb"}`, nil, "user_agent: contains bytes", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var changes map[string]json.RawMessage
			if err := json.Unmarshal([]byte(tc.changes), &changes); err != nil {
				t.Fatal(err)
			}
			got, err := Change(&before, changes, "1.0")
			if tc.wrong == "" {
				if err != nil || !tc.want(&got) {
					t.Errorf("%+v, %v", got, err)
				}
				return
			}
			var wrong *crawl.FieldErrors
			if !errors.As(err, &wrong) || wrong.Fixed != tc.fixed {
				t.Fatalf("%+v, %v", got, err)
			}
			parts := strings.Split(tc.wrong, "|")
			if len(wrong.Fields) != len(parts) {
				t.Fatalf("%d complaints, want %d: %v", len(wrong.Fields), len(parts), err)
			}
			for i, part := range parts {
				if line := wrong.Fields[i].Field + ": " +
					wrong.Fields[i].Detail; !strings.HasPrefix(line, part) {
					t.Errorf("%q, want %q", line, part)
				}
			}
		})
	}
}

// FuzzChange: any input is refused, or makes settings with which a node may start.
func FuzzChange(f *testing.F) {
	for _, s := range []string{`{}`, `{"delay":"2s"}`, `{"exclude":["regex:("]}`,
		`{"max_body":"9999999999TiB","ip_delay":null}`, `{"allow_net":"::/0,x"}`,
		`{"scope":"any","include":[""]}`} {
		f.Add([]byte(s))
	}
	before := founded(func(*Config) {})
	f.Fuzz(func(t *testing.T, raw []byte) {
		var changes map[string]json.RawMessage
		if json.Unmarshal(raw, &changes) != nil {
			return
		}
		got, err := Change(&before, changes, "1.0")
		if err != nil {
			return
		}
		if c := ofSettings(&got, "1.0"); c.Validate() != nil {
			t.Errorf("%s made settings that are refused: %v", raw, c.Validate())
		}
	})
}
