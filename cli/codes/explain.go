package codes

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"crawlnode/cli/command"
)

// Verb explains a code.
type Verb struct {
	Code string `arg:"" optional:"" help:"A health reason, an exit code, an error category, a skip reason or a bottleneck. Without it: the list of all."`
}

// Help gives the examples of the verb.
func (*Verb) Help() string {
	return command.Examples("crawlnode explain low_disk", "crawlnode explain 4", "crawlnode explain nothing_due")
}

// Run prints the entries of the code: one that names an error category and a bottleneck has two.
func (v *Verb) Run(_ context.Context, env *command.Env) int {
	if v.Code == "" {
		list(env.Stdout)
		return command.ExitOK
	}
	found := Find(v.Code)
	if len(found) == 0 {
		return env.Fail(command.ExitUsage, "explain: %q is no code%s; crawlnode explain lists them all", v.Code, nearest(v.Code))
	}
	for i, e := range found {
		if i > 0 {
			fmt.Fprintln(env.Stdout)
		}
		e.print(env.Stdout)
	}
	return command.ExitOK
}

// Find returns the entries of a code, in any spelling of case, with - for _.
func Find(code string) []Entry {
	code = normal(code)
	var found []Entry
	for _, e := range entries {
		if e.Code == code {
			found = append(found, e.complete())
		}
	}
	return found
}

func normal(code string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimSpace(code)), "-", "_")
}

// complete fills in what the exit codes have elsewhere.
func (e Entry) complete() Entry {
	if e.Kind != Exit {
		return e
	}
	for _, m := range command.ExitMeanings {
		if fmt.Sprint(m.Code) == e.Code {
			e.Meaning = strings.ToUpper(m.Meaning[:1]) + m.Meaning[1:] + "."
		}
	}
	return e
}

func (e Entry) print(w io.Writer) {
	fmt.Fprintf(w, "%s (%s)\n\n  meaning  %s\n  causes   %s\n  do       %s\n", e.Code, e.Kind, e.Meaning, e.Causes, plain(e.Do))
}

// plain takes the marks of code out of a text for a terminal.
func plain(text string) string { return strings.ReplaceAll(text, "`", "") }

// list prints all codes with their meanings.
func list(w io.Writer) {
	for i, k := range kinds {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s\n", k.title)
		for _, e := range entries {
			if e.Kind == k.kind {
				fmt.Fprintf(w, "  %-20s %s\n", e.Code, plain(e.complete().Meaning))
			}
		}
	}
}

// nearest suggests the code that shares most with a mistyped one.
func nearest(code string) string {
	code = normal(code)
	for _, e := range entries {
		if len(code) >= 3 && strings.Contains(e.Code, code) {
			return fmt.Sprintf("; did you mean %s?", e.Code)
		}
	}
	best := slices.MaxFunc(entries, func(a, b Entry) int { return common(a.Code, code) - common(b.Code, code) })
	if common(best.Code, code) < 3 {
		i := slices.IndexFunc(entries, func(e Entry) bool { return len(e.Code) >= 3 && strings.Contains(code, e.Code) })
		if i < 0 {
			return ""
		}
		best = entries[i]
	}
	return fmt.Sprintf("; did you mean %s?", best.Code)
}

// common is the length of what two codes begin with.
func common(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// Reference is docs/codes.md, without its first lines.
func Reference() []byte {
	var b bytes.Buffer
	b.WriteString("`crawlnode explain CODE` prints the same. [troubleshooting.md](troubleshooting.md) begins with what you see.\n")
	for _, k := range kinds {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| code | meaning | causes | what to do | symptom |\n|---|---|---|---|---|\n", k.title, k.where)
		for _, e := range entries {
			if e.Kind == k.kind {
				e = e.complete()
				title := e.symptomOf()
				fmt.Fprintf(&b, "| <a id=\"%s\"></a>`%s` | %s | %s | %s | [%s](troubleshooting.md#%s) |\n", e.anchor(), e.Code, e.Meaning, e.Causes, e.Do, title, chapterAnchor(title))
			}
		}
	}
	return b.Bytes()
}
