package seedlist

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"

	"crawlnode/api/plaintext"
	"crawlnode/cli/command"
	"crawlnode/crawl"
	"crawlnode/node/preflight"
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
	return fmt.Sprintf("%s: %q: %s", plaintext.Escape(place), bad.Input,
		plaintext.Escape(shorter(why, bad.Input)))
}

// Complain prints the bad seeds of a report.
func Complain(env *command.Env, seeds []Entry, invalid []crawl.SeedError) {
	list := env.Errors()
	for _, bad := range invalid {
		list.Add(func() string { return Complaint(seeds, bad) })
	}
	list.End()
}

// shorter leaves out of an error what stands in its line already, and the words of the URL
// standard that help nobody.
func shorter(why, input string) string {
	why = strings.Replace(why, fmt.Sprintf(": %q", input), "", 1)
	why = strings.TrimPrefix(why, "not a valid URL: ")
	if strings.Contains(why, "has no scheme: ") {
		return "it is not a URL: write one such as https://example.org/"
	}
	why, _, _ = strings.Cut(why, " Url: '")
	return strings.Replace(why, "Error: ", "", 1)
}

// withoutScheme matches what stands for a web server without a scheme: a name with a dot, an
// address or localhost, and perhaps a port and a path.
var withoutScheme = regexp.MustCompile(
	`^(localhost|[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)+)(:[0-9]+)?(/|$)`)

// What people give in place of a URL: a port that is a word; a mail address. The node says of a
// URL that it is mistyped.
var (
	wrongPort = regexp.MustCompile(
		`^(?:https?://)?[0-9A-Za-z.-]+\.[0-9A-Za-z-]+:([^0-9/][^/]*)(?:/|$)`)
	mailAddress = regexp.MustCompile(`^[^@/:]+@[^@/:]+$`)
)

// mistakenFor describes what was given in place of a URL, and what to write; "": nothing
// that is known.
func mistakenFor(input string) string {
	if m := wrongPort.FindStringSubmatch(input); m != nil {
		return "its port " + strconv.Quote(m[1]) + " is no number between 1 and 65535"
	}
	if strings.Contains(input, "://") {
		return ""
	}
	if mailAddress.MatchString(input) {
		return "it is a mail address: give URLs such as https://example.org/, " +
			"and the address with --contact"
	}
	if info, err := os.Stat(input); err == nil {
		if info.IsDir() {
			return "it is a directory, not a URL: give URLs such as https://example.org/"
		}
		return "it is a file, not a URL: to read URLs from it give it as a list, " +
			"crawl --seeds FILE or seeds add -f FILE"
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
	bad := env.Errors()
	for _, s := range seeds {
		err := preflight.CheckSeed(s.URL)
		if err == nil {
			valid = append(valid, s)
			continue
		}
		bad.Add(func() string {
			return Complaint(seeds, crawl.SeedError{Line: s.Line, Input: s.URL, Error: err.Error()})
		})
	}
	bad.End()
	for i := range valid {
		valid[i].Line = i + 1 // as Read does
	}
	return valid
}
