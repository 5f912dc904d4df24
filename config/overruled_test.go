package config

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
)

// TestOverruled: a given setting that differs from the cluster's is listed, with both values and
// the remedy. Defaults and settings of this node alone are not.
func TestOverruled(t *testing.T) {
	t.Parallel()
	patterns := filepath.Join(t.TempDir(), "patterns")
	if err := os.WriteFile(patterns, []byte("*.zip\n*.tar\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	founder := Default()
	founder.MaxPages, founder.Contact, founder.MaxDepth = 500, "a@example.org", 7
	founder.Normalize = []string{"sort-query", "www"}
	stored := founder.Settings("1")
	for _, tc := range []struct {
		flags map[string]string
		want  []string
	}{
		{map[string]string{"max-pages": "500", "contact": "a@example.org", "fetchers": "3"}, nil},
		{map[string]string{"max-pages": "200"}, []string{"--max-pages 200 (the crawl has: 500) [max-pages=200]"}},
		{map[string]string{"contact": "b@example.org"}, []string{"--contact b@example.org (the crawl has: a@example.org) [contact=b@example.org]"}},
		{map[string]string{"exclude-file": patterns, "delay": "2s"}, []string{
			"--exclude *.zip,*.tar (the crawl has: not set) [exclude=*.zip exclude=*.tar]",
			"--delay 2s (the crawl has: 1s) [delay=2s]"}},
		{map[string]string{"store": "none"}, []string{"--store none (the crawl has: warc) fixed"}},
		{map[string]string{"normalize": "www,sort-query"}, nil},
		{map[string]string{"normalize": "www"}, []string{"--normalize www (the crawl has: sort-query,www) fixed"}},
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
		// another version makes another default user agent
		for _, o := range c.Overruled(Given(in), &stored, "2") {
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

// TestAdopt: what was given replaces what is stored, and nothing else changes.
func TestAdopt(t *testing.T) {
	t.Parallel()
	stored := Default()
	stored.MaxPages, stored.Contact, stored.Exclude, stored.MaxDepth = 500, "a@example.org",
		[]string{"*.gz"}, 7
	before := stored.Settings("1")
	got, err := Adopt([]Overruled{
		{Name: "max-pages", Own: []string{"0"}, Stored: []string{"500"}, Live: true},
		{Name: "exclude", Own: []string{"*.zip", "regex:a{1,2}"}, Live: true},
		{Name: "include", Own: []string{"*.html"}, Live: true},
	}, &before, "2")
	want := before
	want.MaxPages, want.Exclude, want.Include = 0, []string{"*.zip",
		"regex:a{1,2}"}, []string{"*.html"}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	if _, err := Adopt([]Overruled{
		{Name: "delay", Own: []string{"0s"}, Live: true}}, &before, "2"); err == nil {
		t.Error("a delay of 0 outside --allow-net was taken")
	}
	if got := (Overruled{Name: "max-pages", Own: []string{"5"}}).Change(); got !=
		"--max-pages 5 (was: not set)" {
		t.Errorf("%q", got)
	}
}
