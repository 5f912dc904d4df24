package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"crawlnode/cli/command"
	"crawlnode/cli/help"
)

func TestComplete(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		typed string // words, the last one is being typed
		want  string // candidates that must be there
		not   string // and that must not
	}{
		{"", "start crawl status seeds nodes completion simweb man", "bench reference"},
		{"st", "start status", "seeds"},
		{"--jo", "--join", "--name"},
		{"seeds ", "add", "start"},
		{"nodes ", "list drain weight zone forget rotate-key", "start"},
		{"status --", "--watch --output --addr --help", "--join"},
		{"status --output ", "text json", "yaml"},
		{"status --output=j", "--output=json", "--output=text"},
		{"status --output = j", "json", "text"},
		{"status --output =", "text json", ""},
		{"status -o ", "text json", ""},
		{"status --watch ", "", "text json"},
		{"start --scope ", "page prefix host domain any", ""},
		{"--robots ", "obey ignore", ""},
		{"--config ", ":files", ""},
		{"start --data-dir /va", ":files", ""},
		{"completion ", "bash zsh fish", ""},
		{"completion z", "zsh", "bash"},
		{"keygen ", ":files", ""},
		{"sites ", "show set test edit", "start"},
		{"sites set ", ":files", ""},
		{"sites test --file ", ":files", ""},
		{"nonsense ", "", "start"},
		{"--contact ", "", "MAIL|URL"},
		{"seeds add --nonsense=", "", ""},
	} {
		var words []string
		r := run(t, "", append([]string{help.CompleteWord}, strings.Split(tc.typed, " ")...)...)
		for line := range strings.Lines(r.out) {
			word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
			words = append(words, word)
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
	run(t, "", help.CompleteWord).want(t, command.ExitOK, "start\t", "") // nothing is typed yet
}

// shellRun lets a real shell, in which the program is called crawlnode, run a script.
func shellRun(t *testing.T, shell, script string, flags ...string) string {
	t.Helper()
	path, err := exec.LookPath(shell)
	if err != nil && os.Getenv("CI") == "" {
		t.Skipf("needs %s, which make deps installs", shell)
	}
	if err != nil {
		t.Fatalf("this test needs %s, which make deps installs: %v", shell, err)
	}
	dir := t.TempDir()
	if err := os.Symlink(os.Args[0], filepath.Join(dir, "crawlnode")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, append(flags, "-c", script)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"),
		"HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_DATA_HOME="+dir, "TERM=dumb")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", shell, err, out)
	}
	return string(out)
}

// TestCompletionInBash sources the script in a real bash and lets it complete.
func TestCompletionInBash(t *testing.T) {
	t.Parallel()
	out := shellRun(t, "bash", `source <(crawlnode completion bash)
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
`, "--norc", "--noprofile")
	want := "[start status stop]\n[list drain weight zone forget rotate-key]\n[text json]\n[json]\n" +
		"[]\ncomplete -F _crawlnode crawlnode\n"
	if out != want {
		t.Errorf("bash completes\n%s\nwant\n%s", out, want)
	}
}

// zshTyping types into an interactive zsh behind a pseudo-terminal, presses tab, and
// prints what then stands on the line. Ctrl-X is a key that says so, and empties it:
// a Ctrl-U that came while the key's widget has the terminal in its usual mode would
// be the terminal's, and be lost.
const zshTyping = `zmodload zsh/zpty
zpty shell zsh -f -i
until_seen() {
	local text chunk
	while [[ $text != *${~1}* ]]; do
		zpty -r shell chunk || { print -r -- "zsh has ended: $text"; exit 1 }
		text+=$chunk
	done
	REPLY=$text
}
zpty -w shell 'PS1= PS2= RPS1=; autoload -U compinit && compinit -u -D; zstyle ":completion:*" list-colors ""
say() { zle -I; print -r -- "line:[$BUFFER]"; BUFFER= }; zle -N say; bindkey "^X" say; bindkey "^I" complete-word
LISTMAX=1000; setopt no_list_beep; source <(crawlnode completion zsh); print rea""dy'
until_seen ready
for typed in "crawlnode stat" "crawlnode nodes dr" "crawlnode status --wat" "crawlnode status --output j" "crawlnode status --output=j" "crawlnode --config ./crawln"; do
	zpty -w -n shell "$typed"$'\t\C-x'
	until_seen $'line:\\[*\\]'
	print -r -- ${${REPLY##*line:\[}%%\]*}
done
zpty -w -n shell $'crawlnode nodes \t\C-x'
until_seen $'line:\\[*\\]'
for verb in list drain forget; do
	[[ $REPLY == *$verb*--* ]] && print "nodes: $verb"
done
zpty -d shell
`

// TestCompletionInZsh presses tab in a real zsh.
func TestCompletionInZsh(t *testing.T) {
	t.Parallel()
	out := shellRun(t, "zsh", zshTyping, "-f")
	want := "crawlnode status \ncrawlnode nodes drain \ncrawlnode status --watch \n" +
		"crawlnode status --output json \ncrawlnode status --output=json \n" +
		"crawlnode --config ./crawlnode \nnodes: list\nnodes: drain\nnodes: forget\n"
	if out != want {
		t.Errorf("zsh completes\n%s\nwant\n%s", out, want)
	}
}

// TestCompletionInFish asks a real fish for what it would offer.
func TestCompletionInFish(t *testing.T) {
	t.Parallel()
	out := shellRun(t, "fish", `crawlnode completion fish | source
for typed in "crawlnode stat" "crawlnode nodes " "crawlnode status --wat" "crawlnode status --output " "crawlnode status --output=j" "crawlnode --config ./crawln"
	echo "[$typed]"
	complete -C $typed
end
`, "--no-config")
	want := `[crawlnode stat]
status	Show what the cluster does; any node answers for all.
[crawlnode nodes ]
drain	Let a node hand its partitions over and leave.
forget	Remove a dead node that will never come back.
list	List the nodes with their ids and states.
rotate-key	Replace the cluster's key while the nodes run.
weight	Change a node's share of the partitions.
zone	Change what fails together with a node.
[crawlnode status --wat]
--watch	Show it again and again, until interrupted: on a terminal in place, else one block after the other.
[crawlnode status --output ]
json
text
[crawlnode status --output=j]
--output=json
[crawlnode --config ./crawln]
./crawlnode
`
	if out != want {
		t.Errorf("fish completes\n%s\nwant\n%s", out, want)
	}
}

// TestCompletionScripts holds that each shell's script asks this program.
func TestCompletionScripts(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish"} {
		run(t, "", "completion", shell).want(t, command.ExitOK, help.CompleteWord, "")
	}
	run(t, "", help.CompleteWord, "seeds", "").want(t, command.ExitOK,
		fmt.Sprintln("add\tAdd URLs; answers when they are stored safely."), "")
}
