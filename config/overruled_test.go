package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestOverruled: what was given and differs from the cluster's is named, with both values
// and what changes it; defaults, and what is this node's own matter, are not.
func TestOverruled(t *testing.T) {
	t.Parallel()
	patterns := filepath.Join(t.TempDir(), "patterns")
	if err := os.WriteFile(patterns, []byte("*.zip\n*.tar\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	founder := Default()
	founder.MaxPages, founder.Contact, founder.MaxDepth = 500, "a@example.org", 7
	stored := founder.Settings("1")
	for _, tc := range []struct {
		flags map[string]string
		want  []string
	}{
		{map[string]string{"max-pages": "500", "contact": "a@example.org", "fetchers": "3"}, nil},
		{map[string]string{"max-pages": "200"}, []string{"--max-pages 200 (the crawl has: 500) [max-pages=200]"}},
		{map[string]string{"contact": "b@example.org"}, []string{"--contact b@example.org (the crawl has: a@example.org) [contact=b@example.org]"}},
		{map[string]string{"exclude-file": patterns, "delay": "2s"}, []string{
			"--exclude *.zip,*.tar (the crawl has: not set) [exclude=*.zip exclude=*.tar]", "--delay 2s (the crawl has: 1s) [delay=2s]"}},
		{map[string]string{"store": "none"}, []string{"--store none (the crawl has: warc) fixed"}},
	} {
		in := Input{Env: func(name string) (string, bool) {
			for flag, value := range tc.flags {
				if EnvName(flag) == name {
					return value, true
				}
			}
			return "", false
		}}
		c, err := Load(in)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, o := range c.Overruled(Given(in), &stored, "2") { // another version makes another default user agent
			if o.Live {
				got = append(got, fmt.Sprint(o, " ", o.Changes()))
			} else {
				got = append(got, fmt.Sprint(o, " fixed"))
			}
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%v: %q, want %q", tc.flags, got, tc.want)
		}
	}
}
