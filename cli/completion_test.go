package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestComplete(t *testing.T) {
	t.Parallel()
	app := testParser(t).Model
	for _, tc := range []struct {
		typed string // words, the last one is being typed
		want  string // candidates that must be there
		not   string // and that must not
	}{
		{"", "start crawl status seeds nodes completion", "simweb bench reference"},
		{"st", "start status", "seeds"},
		{"--jo", "--join", "--name"},
		{"seeds ", "add", "start"},
		{"nodes ", "list drain forget", "start"},
		{"status --", "--watch --output --addr --help", "--join"},
		{"status --output ", "text json", "yaml"},
		{"status --output=j", "--output=json", "--output=text"},
		{"status --output = j", "json", "text"},
		{"status --output =", "text json", ""},
		{"status -o ", "text json", ""},
		{"status --watch ", "", "text json"},
		{"start --scope ", "page prefix host domain any", ""},
		{"--robots ", "obey ignore", ""},
		{"--config ", filesWord, ""},
		{"start --data-dir /va", filesWord, ""},
		{"completion ", "bash zsh fish", ""},
		{"completion z", "zsh", "bash"},
		{"keygen ", filesWord, ""},
		{"nonsense ", "", "start"},
		{"--contact ", "", "MAIL|URL"},
		{"seeds add --nonsense=", "", ""},
	} {
		var words []string
		for _, c := range complete(app, strings.Split(tc.typed, " ")) {
			words = append(words, c.word)
		}
		for _, w := range strings.Fields(tc.want) {
			if !slices.Contains(words, w) {
				t.Errorf("%q: no %q among %q", tc.typed, w, words)
			}
		}
		for _, w := range strings.Fields(tc.not) {
			if slices.Contains(words, w) {
				t.Errorf("%q: %q among %q", tc.typed, w, words)
			}
		}
		if tc.want == "" && len(words) > 0 {
			t.Errorf("%q: %q, want nothing", tc.typed, words)
		}
	}
	if got := complete(app, nil); len(got) == 0 {
		t.Error("nothing typed yet: no candidates")
	}
}

// TestCompletionInBash sources the script in a real bash and lets it complete.
func TestCompletionInBash(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal("this test needs bash: ", err)
	}
	dir := t.TempDir()
	if err := os.Symlink(os.Args[0], filepath.Join(dir, "crawlnode")); err != nil {
		t.Fatal(err)
	}
	script := `source <(crawlnode completion bash)
try() {
	COMP_WORDS=("$@"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMPREPLY=()
	_crawlnode 2>/dev/null
	printf '[%s]\n' "${COMPREPLY[*]}"
}
try crawlnode st
try crawlnode nodes ''
try crawlnode status --output ''
try crawlnode status --output = j
try crawlnode --config /et
complete -p crawlnode
`
	cmd := exec.CommandContext(t.Context(), bash, "--norc", "--noprofile", "-c", script)
	cmd.Env = append(os.Environ(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want := "[start status]\n[list drain forget]\n[text json]\n[json]\n[]\ncomplete -F _crawlnode crawlnode\n"
	if string(out) != want {
		t.Errorf("bash completes\n%s\nwant\n%s", out, want)
	}
}

// TestCompletionScripts holds that each shell's script asks this program.
func TestCompletionScripts(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish"} {
		run(t, "", "completion", shell).want(t, exitOK, completeWord, "")
	}
	run(t, "", completeWord, "seeds", "").want(t, exitOK, fmt.Sprintln("add\tAdd URLs; answers when they are stored safely."), "")
}
