package help

import (
	"context"
	"fmt"
	"strings"

	"github.com/alecthomas/kong"

	"crawlnode/cli/command"
)

// CompleteWord is the first argument with which the scripts of completion ask for
// what could come next; the words that were typed follow it.
const CompleteWord = "__complete"

// filesWord is an answer that means: complete the name of a file.
const filesWord = ":files"

// CompletionVerb prints the script for a shell. The scripts hold no grammar: they
// ask this program, which reads it from the same place as the parser does.
type CompletionVerb struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Help gives the examples of the verb and says where the script belongs.
func (*CompletionVerb) Help() string {
	return command.Examples("source <(crawlnode completion bash)",
		"crawlnode completion fish > ~/.config/fish/completions/crawlnode.fish") + `

For every new shell: the first line in ~/.bashrc or, with zsh for bash, in
~/.zshrc behind compinit; fish reads the folder of the second by itself.`
}

// Run prints the script.
func (v *CompletionVerb) Run(_ context.Context, env *command.Env) int {
	if _, err := fmt.Fprint(env.Stdout, completionScripts[v.Shell]); err != nil {
		return env.Fail(command.ExitError, "%v", err)
	}
	return command.ExitOK
}

// completionScripts are the scripts by shell.
var completionScripts = map[string]string{
	"bash": `# bash completion for crawlnode
_crawlnode() {
	local line
	COMPREPLY=()
	while IFS= read -r line; do
		if [[ $line == :files ]]; then
			compopt -o default
			COMPREPLY=()
			return
		fi
		COMPREPLY+=("${line%%$'\t'*}")
	done < <("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _crawlnode crawlnode
`,
	"zsh": `#compdef crawlnode
_crawlnode() {
	local line
	local -a found
	for line in "${(@f)$("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
		if [[ $line == :files ]]; then
			_files
			return
		fi
		[[ -n $line ]] && found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
	done
	_describe -V crawlnode found
}
if [[ ${funcstack[1]} == _crawlnode ]]; then
	_crawlnode "$@"
else
	compdef _crawlnode crawlnode
fi
`,
	"fish": `# fish completion for crawlnode
function __crawlnode_complete
	set -l typed (commandline -opc)
	set -l current (commandline -ct)
	for line in ($typed[1] __complete $typed[2..-1] "$current" 2>/dev/null)
		if test "$line" = ":files"
			__fish_complete_path "$current"
		else
			echo $line
		end
	end
end
complete -c crawlnode -f -a '(__crawlnode_complete)'
`,
}

// candidate is a word that could come next.
type candidate struct{ word, help string }

// PrintCandidates answers a script: one candidate a line, with its help behind a tab.
func PrintCandidates(app *kong.Application, words []string, env *command.Env) int {
	for _, c := range complete(app, words) {
		line := c.word
		if c.help != "" {
			line += "\t" + strings.ReplaceAll(c.help, "\t", " ")
		}
		fmt.Fprintln(env.Stdout, line)
	}
	return command.ExitOK
}

// complete says what the last of the words, which may be empty, could become.
func complete(app *kong.Application, words []string) []candidate {
	if len(words) == 0 {
		words = []string{""}
	}
	words = withoutEquals(words)
	typed, last := words[:len(words)-1], words[len(words)-1]
	node, waiting, args := walk(app.Node, typed)
	name, value, attached := strings.Cut(last, "=")
	switch {
	case waiting != nil:
		return valuesOf(waiting.Value, last, "")
	case attached && strings.HasPrefix(name, "--"):
		if flag := flagNamed(node, name); flag != nil {
			return valuesOf(flag.Value, value, name+"=")
		}
		return nil
	case strings.HasPrefix(last, "-"):
		return flagsOf(node, last)
	}
	var found []candidate
	for _, child := range node.Children {
		if args == 0 && !child.Hidden && strings.HasPrefix(child.Name, last) {
			found = append(found, candidate{child.Name, child.Help})
		}
	}
	if len(found) == 0 && len(node.Positional) > 0 {
		return valuesOf(node.Positional[min(args, len(node.Positional)-1)], last, "")
	}
	return found
}

// withoutEquals puts away the "=" that bash makes a word of: --flag = value.
func withoutEquals(words []string) []string {
	var out []string
	for i, w := range words {
		if w != "=" {
			out = append(out, w)
		} else if i == len(words)-1 {
			out = append(out, "")
		}
	}
	return out
}

// walk follows the words that stand there to the node that they lead to, the flag
// that still waits for its value, and the number of arguments.
func walk(node *kong.Node, typed []string) (_ *kong.Node, waiting *kong.Flag, args int) {
	for _, w := range typed {
		switch {
		case waiting != nil:
			waiting = nil
		case strings.HasPrefix(w, "-"):
			if flag := flagNamed(node, w); flag != nil && !flag.IsBool() {
				waiting = flag
			}
		default:
			if child := childNamed(node, w); child != nil {
				node = child
			} else {
				args++
			}
		}
	}
	return node, waiting, args
}

func childNamed(node *kong.Node, name string) *kong.Node {
	for _, child := range node.Children {
		if child.Name == name {
			return child
		}
	}
	return nil
}

// visibleFlags lists the visible flags of a verb; those of the default verb stand before
// any verb.
func visibleFlags(node *kong.Node) []*kong.Flag {
	var all []*kong.Flag
	for _, level := range node.AllFlags(true) {
		all = append(all, level...)
	}
	if node.Type == kong.ApplicationNode && node.DefaultCmd != nil {
		all = append(all, node.DefaultCmd.Flags...)
	}
	return all
}

func flagNamed(node *kong.Node, word string) *kong.Flag {
	for _, f := range visibleFlags(node) {
		if word == "--"+f.Name || f.Short != 0 && word == "-"+string(f.Short) {
			return f
		}
	}
	return nil
}

// flagsOf are the flags that a word with a dash could become.
func flagsOf(node *kong.Node, word string) []candidate {
	var found []candidate
	for _, f := range visibleFlags(node) {
		if name := "--" + f.Name; !f.Hidden && strings.HasPrefix(name, word) {
			found = append(found, candidate{name, f.Help})
		}
	}
	return found
}

// valuesOf are the values that a flag or an argument can have: words, or a file. None:
// they cannot be guessed.
func valuesOf(v *kong.Value, typed, before string) []candidate {
	hint := v.Tag.PlaceHolder
	if hint == "FILE" || hint == "DIR" {
		return []candidate{{filesWord, ""}}
	}
	words := v.EnumSlice()
	if v.Enum == "" {
		words = nil
		if strings.Contains(hint, "|") && hint == strings.ToLower(hint) {
			words = strings.Split(hint, "|")
		}
	}
	var found []candidate
	for _, w := range words {
		if w != "" && strings.HasPrefix(w, typed) {
			found = append(found, candidate{before + w, ""})
		}
	}
	return found
}
