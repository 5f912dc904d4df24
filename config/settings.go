package config

import (
	"path/filepath"
	"slices"
	"strings"

	"crawlnode/crawl"
)

// Settings is the part of c that belongs to the cluster. The founding node's
// settings become the cluster's; a joiner takes those over.
//
// The version is part of the default user agent. Delay 0 and RobotsIgnore apply
// only inside AllowNet: the fetching node checks the address.
func (c *Config) Settings(version string) crawl.Settings {
	s := crawl.Settings{
		Scope:           c.Mode,
		Include:         slices.Clone(c.Include),
		Exclude:         slices.Clone(c.Exclude),
		Assets:          c.Assets == crawl.AssetsAny || c.Assets == crawl.AssetsSameHost,
		AssetsSameHost:  c.Assets == crawl.AssetsSameHost,
		Normalize:       slices.Clone(c.Normalize),
		Focus:           c.Focus.Topic,
		FocusMin:        c.FocusMin,
		MaxDepth:        c.MaxDepth,
		MaxPages:        c.MaxPages,
		MaxPagesPerHost: c.MaxPagesPerHost,
		MaxDuration:     c.MaxDuration,
		MaxBody:         int64(c.MaxBody),
		Delay:           c.Delay,
		IPDelay:         c.IPDelay,
		UserAgent:       c.userAgent(version),
		RobotsAgent:     c.RobotsAgent,
		Contact:         c.Contact,
		RobotsIgnore:    c.Robots == "ignore",
		TLSRecord:       c.TLSVerify == "record",
		AllowNet:        slices.Clone(c.AllowNet),
		Archive:         c.Store == "warc",
		Index:           c.Index == "on",
	}
	if n := c.MaxSuspiciousPerHost; n != crawl.DefaultSuspiciousPerHost {
		s.MaxSuspiciousPerHost = &n // absent as the default, as older nodes have it
	}
	if c.Priority != Default().Priority {
		s.Priority = c.Priority
	}
	c.Revisits.addTo(&s)
	answers := c.Answers // its own copy, since s has a pointer into it
	answers.addTo(&s)
	if s.Render = c.Render; s.Render == crawl.RenderOff {
		s.Render = "" // as older nodes have it
	}
	s.RenderMatch, s.RenderScreenshot = slices.Clone(c.RenderMatch), c.RenderScreenshot
	return s
}

// Derives reports whether an output is enabled.
func (c *Config) Derives(output string) bool {
	return slices.Contains(c.Derive, output) || slices.Contains(c.Derive, "all") || output == "pages" && len(c.Sinks) > 0 // sinks read that list
}

// userAgent is the User-Agent header that web servers get.
func (c *Config) userAgent(version string) string {
	switch {
	case c.UserAgent != "":
		return c.UserAgent
	case c.Contact != "":
		return "crawlnode/" + version + " (+" + c.Contact + ")"
	}
	return "crawlnode/" + version
}

// DataDirFor is the data directory of a node of that name: DataDir when it was
// given, else crawlnode-data/<name> under the working directory.
func (c *Config) DataDirFor(name string) string {
	if c.DataDir != "" {
		return c.DataDir
	}
	return filepath.Join("crawlnode-data", name)
}

// NameFrom makes a valid node name from a host name or another text: lower case, with '-' for
// invalid characters. It is "node" when nothing is left.
func NameFrom(text string) string {
	name := strings.Trim(strings.Map(func(r rune) rune {
		if isNameByte(r) {
			return r
		}
		return '-'
	}, strings.ToLower(text)), "-._")
	if name == "" {
		return "node"
	}
	return name[:min(len(name), maxNameBytes)]
}
