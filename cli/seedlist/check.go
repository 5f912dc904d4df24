package seedlist

import (
	"fmt"
	"os"
	"regexp"
	"strings"

	"crawlnode/api"
	"crawlnode/cli/command"
	"crawlnode/crawl"
	"crawlnode/node"
)

// Complaint is one bad seed in a line that names its place.
func Complaint(seeds []Entry, bad crawl.SeedError) string {
	place := "seed"
	if i := bad.Line - 1; i >= 0 && i < len(seeds) && seeds[i].Place != "" {
		place = seeds[i].Place
	}
	why := bad.Error
	if mistake := mistakenFor(bad.Input); mistake != "" {
		why = mistake
	}
	return fmt.Sprintf("%s: %q: %s", api.Escape(place), bad.Input, api.Escape(why))
}

// withoutScheme matches what stands for a web server without a scheme: a name with a dot, an
// address or localhost, and perhaps a port and a path.
var withoutScheme = regexp.MustCompile(`^(localhost|[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)+)(:[0-9]+)?(/|$)`)

// mistakenFor says what somebody has taken for a URL, and what to write; "": nothing that
// is known.
func mistakenFor(input string) string {
	if strings.Contains(input, "://") {
		return ""
	}
	if info, err := os.Stat(input); err == nil {
		if info.IsDir() {
			return "it is a directory, not a URL: give URLs such as https://example.org/"
		}
		return "it is a file, not a URL: to read URLs from it give it as a list, crawl --seeds FILE or seeds add -f FILE"
	}
	if LacksScheme(input) {
		return "it has no scheme: write https://" + input + ", or http://" + input
	}
	return ""
}

// LacksScheme reports whether a web server is meant and only the scheme is missing.
func LacksScheme(input string) bool {
	_, err := os.Stat(input)
	return err != nil && withoutScheme.MatchString(input)
}

// GuessSchemes puts https in front of the seeds without a scheme. The node tries http if the
// server speaks no TLS.
func GuessSchemes(seeds []Entry) {
	for i := range seeds {
		if s := &seeds[i]; LacksScheme(s.URL) {
			s.URL, s.Guessed = "https://"+s.URL, true
		}
	}
}

// Valid complains of the seeds that cannot be crawled and returns the others.
func Valid(env *command.Env, seeds []Entry) []Entry {
	var valid []Entry
	for _, s := range seeds {
		if err := node.CheckSeed(s.URL); err != nil {
			env.Fail(0, "%s", Complaint(seeds, crawl.SeedError{Line: s.Line, Input: s.URL, Error: err.Error()}))
			continue
		}
		valid = append(valid, s)
	}
	for i := range valid {
		valid[i].Line = i + 1 // as Read does
	}
	return valid
}
