package config

import (
	"net/netip"
	"strings"
	"testing"

	"crawlnode/crawl"
)

// TestUnsafe is a table of changes that need the owner's intent.
func TestUnsafe(t *testing.T) {
	t.Parallel()
	base := Default()
	base.Contact, base.AllowNet = "me@example.org", []netip.Prefix{netip.MustParsePrefix("10.0.0.0/16")}
	for _, c := range []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{"nothing", func(*Config) {}, ""},
		{"the delay", func(c *Config) { c.Delay *= 2 }, ""},
		{"the contact", func(c *Config) { c.Contact = "you@example.org" }, ""},
		{"another network", func(c *Config) { c.AllowNet = append(c.AllowNet, netip.MustParsePrefix("127.0.0.0/8")) }, "allow-net"},
		{"a wider network", func(c *Config) { c.AllowNet = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")} }, "allow-net"},
		{"everything", func(c *Config) { c.AllowNet = []netip.Prefix{netip.MustParsePrefix("::/0")} }, "allow-net"},
		{"a narrower network", func(c *Config) { c.AllowNet = []netip.Prefix{netip.MustParsePrefix("10.0.1.0/24")} }, ""},
		{"no network", func(c *Config) { c.AllowNet = nil }, ""},
		{"robots.txt off", func(c *Config) { c.Robots = "ignore" }, "robots"},
		{"another user agent", func(c *Config) { c.UserAgent = "Mozilla/5.0" }, "user-agent"},
	} {
		after := base
		c.change(&after)
		before, changed := base.Settings("1"), after.Settings("1")
		if got := strings.Join(Unsafe(&before, &changed), ","); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if c.want == "robots" || c.want == "user-agent" { // back to the safe value
			if got := Unsafe(&changed, &before); c.want == "robots" && got != nil {
				t.Errorf("%s, undone: %q", c.name, got)
			}
		}
	}
	if got := Unsafe(&crawl.Settings{}, &crawl.Settings{}); got != nil {
		t.Errorf("no settings at all: %q", got)
	}
}
