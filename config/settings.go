package config

import (
	"path/filepath"
	"slices"
	"strings"
)

// Derives reports whether an output is enabled.
func (c *Config) Derives(output string) bool {
	// sinks read that list
	return slices.Contains(c.Derive, output) || slices.Contains(c.Derive, "all") ||
		output == "pages" && len(c.Sinks) > 0
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
