package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"crawlnode/cli/command"
	"crawlnode/config"
)

func TestConfigPrint(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "node.yaml")
	if err := os.WriteFile(file, []byte("# mine\nfetchers: 7\nexclude: ['glob:*a,b*', \"host:x\"]\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"CRAWLNODE_MAX_BODY": "2MiB"}
	r := runWith(t, env, "", "config", "print", "--origin", "--config", file, "--delay", "90m",
		"--contact", "me@example.org")
	r.want(t, command.ExitOK, "", "")
	for name, want := range map[string]string{
		"delay": `delay: 1h30m # flag "--delay"`, "fetchers": `fetchers: 7 # file "` + file + `:2"`,
		"exclude":  `exclude: ["glob:*a,b*", 'host:x'] # file "` + file + `:3"`,
		"max-body": `max-body: 2MiB # environment "CRAWLNODE_MAX_BODY"`, "scope": "scope: host # default",
		"name":    "# name: not set # default",
		"contact": `contact: "me@example.org" # flag "--contact"`,
	} {
		found := ""
		for line := range strings.SplitSeq(r.out, "\n") {
			if strings.HasPrefix(line, name+":") || strings.HasPrefix(line, "# "+name+":") {
				found = strings.Join(strings.Fields(line), " ")
			}
		}
		if found != want {
			t.Errorf("%s: %q, want %q", name, found, want)
		}
	}
	var settings []config.Setting
	r = runWith(t, env, "", "config", "print", "-o", "json")
	if err := json.Unmarshal([]byte(r.out), &settings); err != nil ||
		len(settings) != len(config.Names()) {
		t.Errorf("%v, %d settings", err, len(settings))
	}
	run(t, "", "config", "print", "--delay", "0s").want(t, command.ExitUsage, "delay: 0s",
		"--allow-net")
}

// TestHelpNamesLiveSettings keeps the list in the help of crawl-config set complete.
func TestHelpNamesLiveSettings(t *testing.T) {
	t.Parallel()
	words := strings.FieldsFunc(run(t, "", "crawl-config", "set", "--help").out,
		func(r rune) bool { return strings.ContainsRune(" ,.:\n", r) })
	settings, err := config.Explain(config.Input{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range settings {
		if s.Name == "store" || s.Name == "exclude-file" {
			continue // the crawl's, and read when a node starts
		}
		if s.Live == "cluster" && !slices.Contains(words, s.Name) {
			t.Errorf("the help does not name %s", s.Name)
		}
	}
}
