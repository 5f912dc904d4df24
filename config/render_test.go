package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestRenderAlone: settings that do nothing without --render are refused, wherever they were given,
// unless off was chosen.
func TestRenderAlone(t *testing.T) {
	t.Parallel()
	match, picture := "--render-match: does nothing without --render: add --render auto",
		"--render-screenshot: does nothing without --render: add --render auto"
	for _, c := range []struct {
		text string // of the file of --config
		env  string // CRAWLNODE_RENDER
		want []string
	}{
		{text: "render-match: prefix:/app/", want: []string{match}},
		{text: "render-screenshot: true", want: []string{picture}},
		{text: "render-match: [/a, /b]\nrender-screenshot: true", want: []string{match, picture}},
		{text: "render-match: /a\nrender-screenshot: true", env: "auto"},
		{text: "render-match: /a\nrender-screenshot: true\nrender: all"},
		// of a file whose rendering is turned off for once
		{text: "render-match: /a\nrender-screenshot: true", env: "off"},
		{text: "render-match: []\nrender-screenshot: false"},
		// of the node, whatever the crawl does
		{text: "renderers: 2\nrender-timeout: 10s\nrender-memory: 2GiB\nbrowser: /usr/bin/chromium"},
	} {
		file := filepath.Join(t.TempDir(), "node.yaml")
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Load(Input{
			File: file,
			Env: func(name string) (string, bool) {
				return c.env, name == "CRAWLNODE_RENDER" && c.env != ""
			},
		})
		checkLines(t, c.text, err, c.want)
	}
}

// TestPatternsAreNamed: a pattern that is none is named with its flag, each on a line of its own.
func TestPatternsAreNamed(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"render-match", "trace-match"} {
		err := checkPatterns(flag, []string{"regex:(", "/good/*", "hots:a", "regex:[\n"})
		checkLines(t, flag, err, []string{
			"--" + flag + `: pattern "regex:(": error parsing regexp: missing closing ): '('`,
			"--" + flag + `: pattern "hots:a": kind "hots" is unknown`,
			"--" + flag + `: pattern "regex:[\n": `,
		})
	}
}

// checkLines requires an error of lines that begin so.
func checkLines(t *testing.T, name string, err error, want []string) {
	t.Helper()
	var lines []string
	if err != nil {
		lines = strings.Split(strings.ReplaceAll(err.Error(), "`", "'"), "\n")
	}
	if !slices.EqualFunc(lines, want, strings.HasPrefix) {
		t.Errorf("%q: %q, want %q", name, lines, want)
	}
}
