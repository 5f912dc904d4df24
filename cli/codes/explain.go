package codes

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"crawlnode/api/codes"
	"crawlnode/cli/command"
)

// Verb explains a code.
type Verb struct {
	Code string `arg:"" optional:"" help:"Any word that the program prints as a code: a health reason, an exit code, the end of a crawl, an error category, a skip reason, a bottleneck, a state. Without it: the list of all."`
}

// Help gives the examples of the verb.
func (*Verb) Help() string {
	return command.Examples("crawlnode explain low_disk", "crawlnode explain 4",
		"crawlnode explain max_pages")
}

// Run prints the entries of the code: one that names an error category and a bottleneck has two.
func (v *Verb) Run(_ context.Context, env *command.Env) int {
	if v.Code == "" {
		list(env.Stdout)
		return command.ExitOK
	}
	found := find(v.Code)
	if len(found) == 0 {
		return env.Fail(command.ExitUsage, "explain: %q is no code%s; crawlnode explain lists them all",
			v.Code, nearest(v.Code))
	}
	for i := range found {
		if i > 0 {
			fmt.Fprintln(env.Stdout)
		}
		write(env.Stdout, &found[i])
	}
	return command.ExitOK
}

// find returns the entries of a code with what the exit codes have elsewhere.
func find(code string) []codes.Entry {
	found := codes.Find(code)
	for i := range found {
		found[i] = complete(found[i])
	}
	return found
}

// complete fills in what the exit codes have elsewhere.
func complete(e codes.Entry) codes.Entry {
	if e.Kind != codes.Exit {
		return e
	}
	for _, m := range command.ExitMeanings {
		if fmt.Sprint(m.Code) == e.Code {
			e.Meaning = strings.ToUpper(m.Meaning[:1]) + m.Meaning[1:] + "."
		}
	}
	return e
}

func write(w io.Writer, e *codes.Entry) {
	fmt.Fprintf(w, "%s (%s)\n\n  meaning  %s\n", e.Code, e.Kind, codes.Plain(e.Meaning))
	if e.Causes != "" {
		fmt.Fprintf(w, "  causes   %s\n  do       %s\n", codes.Plain(e.Causes), codes.Plain(e.Do))
	}
}

// list prints all codes with their meanings.
func list(w io.Writer) {
	for i, g := range codes.Groups {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s\n", g.Title)
		for _, e := range codes.Entries {
			if e.Kind == g.Kind {
				fmt.Fprintf(w, "  %-20s %s\n", e.Code, codes.Plain(complete(e).Meaning))
			}
		}
	}
}

// nearest suggests the code that shares most with a mistyped one.
func nearest(code string) string {
	code = codes.Normal(code)
	for _, e := range codes.Entries {
		if len(code) >= 3 && strings.Contains(e.Code, code) {
			return fmt.Sprintf("; did you mean %s?", e.Code)
		}
	}
	best := slices.MaxFunc(codes.Entries, func(a, b codes.Entry) int {
		return common(a.Code, code) - common(b.Code, code)
	})
	if common(best.Code, code) < 3 {
		i := slices.IndexFunc(codes.Entries, func(e codes.Entry) bool {
			return len(e.Code) >= 3 && strings.Contains(code, e.Code)
		})
		if i < 0 {
			return ""
		}
		best = codes.Entries[i]
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
	b.WriteString("`crawlnode explain CODE` prints the same. " +
		"[troubleshooting.md](troubleshooting.md) begins with what you see.\n")
	for _, g := range codes.Groups {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n", g.Title, g.Where)
		head := "| code | meaning | causes | what to do | symptom |\n|---|---|---|---|---|\n"
		if g.States {
			head = "| code | meaning |\n|---|---|\n"
		}
		b.WriteString(head)
		for _, e := range codes.Entries {
			if e.Kind != g.Kind {
				continue
			}
			e = complete(e)
			fmt.Fprintf(&b, "| <a id=\"%s\"></a>`%s` | %s |", e.Anchor(), e.Code, e.Meaning)
			if !g.States {
				title := symptomOf(&e)
				fmt.Fprintf(&b, " %s | %s | [%s](troubleshooting.md#%s) |", e.Causes, e.Do, title,
					chapterAnchor(title))
			}
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}
