package mistakes

import (
	"slices"
	"strings"
	"testing"

	"crawlnode/config"
)

func TestArguments(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"crawl --delay -1s u": "crawl --delay=-1s u", "--a=1 -2": "--a=1 -2",
		"search w -n 10": "search w -n 10", "--sync -h": "--sync -h", "-1": "-1", "": "",
	} {
		if got := strings.Join(Arguments(strings.Fields(in)), " "); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestEnvironment warns of what is surely meant, and of nothing else.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	for variable, want := range map[string]string{
		"CRAWLNODE_MAXPAGES=5": "CRAWLNODE_MAX_PAGES", "CRAWLNODE_MAX-PAGES=5": "CRAWLNODE_MAX_PAGES",
		"CRAWLNODE_MAX_PAGE=5": "CRAWLNODE_MAX_PAGES",
		"crawlnode_contact=x":  "CRAWLNODE_CONTACT", "CRAWLNODE_TOKENFILE=x": "CRAWLNODE_TOKEN_FILE",
		"CRAWLNODE_CONTCAT=x": "CRAWLNODE_CONTACT",
		"CRAWLNODE_CONTACT=x": "", "CRAWLNODE_CONFIG=x": "", "CRAWLNODE_SERVICE_HOST=x": "",
		"CRAWLNODE_PORT_80_TCP=x": "", "CRAWLNODE_COLOUR=x": "", "HOME=/": "",
	} {
		got := strings.Join(Environment([]string{variable}), "|")
		if (want == "") != (got == "") || !strings.Contains(got, want+"?") && want != "" {
			t.Errorf("%s: %q, want %q", variable, got, want)
		}
	}
}

// TestForeignFlags: the flags that the hints name exist, no word is one of our own flags, and none
// stands twice.
func TestForeignFlags(t *testing.T) {
	t.Parallel()
	known := append(config.Names(), "again", "addr", "output")
	seen := map[string]bool{}
	for _, f := range foreignFlags {
		if f.ours != "" && !slices.Contains(known, f.ours) {
			t.Errorf("--%s is no flag", f.ours)
		}
		for word := range strings.FieldsSeq(f.flags) {
			if seen[word] {
				t.Errorf("%s stands twice", word)
			}
			if seen[word] = true; slices.Contains(config.Names(), strings.TrimPrefix(word, "--")) {
				t.Errorf("%s is a flag of our own", word)
			}
		}
	}
}
