package config

import (
	"net/netip"
	"strings"
	"testing"

	"crawlnode/crawl"
)

// TestUnsafeSites: what rules gave before may be moved, changed around and taken away.
func TestUnsafeSites(t *testing.T) {
	t.Parallel()
	settings := func(rules string) *crawl.Settings {
		c := Default()
		c.Sites.Text = rules
		s := c.Settings("1")
		return &s
	}
	before := settings(
		"- match: host:a.test\n  auth: {basic: secret:x}\n- match: host:b.test\n  delay: 2s\n")
	for rules, want := range map[string]string{
		"": "",
		"- match: host:b.test\n  delay: 3s\n- match: host:a.test\n  auth: {basic: secret:x}\n" +
			"  delay: 9s\n": "",
		"- match: [host:a.test, host:c.test]\n  auth: {basic: secret:x}\n":    "sites (auth)",
		"- match: domain:a.test\n  auth: {basic: secret:x}\n":                 "sites (auth)",
		"- match: host:a.test\n  auth: {basic: secret:y}\n":                   "sites (auth)",
		"- match: host:a.test\n  auth: {basic: secret:x}\n  insecure: true\n": "sites (insecure)",
	} {
		if got := strings.Join(Unsafe(before, settings(rules)), ","); got != want {
			t.Errorf("%q: %q, want %q", rules, got, want)
		}
	}
}

// TestUnsafe is a table of changes that need the owner's intent.
func TestUnsafe(t *testing.T) {
	t.Parallel()
	base := Default()
	base.Contact, base.AllowNet = "me@example.org",
		[]netip.Prefix{netip.MustParsePrefix("10.0.0.0/16")}
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
		{"a proxy", func(c *Config) { c.Proxy = []string{"http://127.0.0.1:3128"} }, "proxy"},
		{"rules", func(c *Config) {
			c.Sites.Text = "- match: host:a.test\n  delay: 9s\n  headers: {X-A: b}\n  proxy: none\n"
		}, ""},
		{"a secret for a host", func(c *Config) { c.Sites.Text = "- match: host:a.test\n  auth: {basic: secret:x}\n" }, "sites (auth)"},
		{"much for a host", func(c *Config) {
			c.Sites.Text = "- match: host:a.test\n  cookies-file: secret:x\n  headers: {X-A: secret:y}\n" +
				"  insecure: true\n" +
				"  user-agent: x/1\n  robots-agent: x\n  proxy: http://127.0.0.1:3128\n"
		}, "sites (cookies-file, headers, insecure, proxy, robots-agent, user-agent)"},
		{"another user agent, as a header", func(c *Config) {
			c.Sites.Text = "- match: host:a.test\n  headers: {user-agent: Mozilla/5.0}\n"
		}, "sites (user-agent)"},
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
