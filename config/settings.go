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
// The version goes into the default user agent. Delay 0 and RobotsIgnore hold
// only inside AllowNet: whoever fetches judges that by the address.
func (c *Config) Settings(version string) crawl.Settings {
	return crawl.Settings{
		Scope:           c.Mode,
		Include:         slices.Clone(c.Include),
		Exclude:         slices.Clone(c.Exclude),
		Assets:          c.Assets,
		MaxDepth:        c.MaxDepth,
		MaxPages:        c.MaxPages,
		MaxPagesPerHost: c.MaxPagesPerHost,
		MaxDuration:     c.MaxDuration,
		MaxBody:         int64(c.MaxBody),
		Delay:           c.Delay,
		IPDelay:         c.IPDelay,
		UserAgent:       c.userAgent(version),
		Contact:         c.Contact,
		RobotsIgnore:    c.Robots == "ignore",
		TLSRecord:       c.TLSVerify == "record",
		AllowNet:        slices.Clone(c.AllowNet),
		Archive:         c.Store == "warc",
	}
}

// Derives reports whether an output is asked for.
func (c *Config) Derives(output string) bool {
	return slices.Contains(c.Derive, output) || slices.Contains(c.Derive, "all")
}

// userAgent is the string that web servers see.
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

// NameFrom makes a valid node name out of a host name or another text: lower
// case, with '-' for what a name may not hold. It is "node" when nothing is left.
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
