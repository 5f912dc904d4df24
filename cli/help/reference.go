package help

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"crawlnode/cli/codes"
	"crawlnode/cli/command"
	"crawlnode/config"
)

// ReferenceVerb writes the references that stand in docs/.
type ReferenceVerb struct {
	Dir string `arg:"" placeholder:"DIR" help:"The folder in which cli.md, configuration.md and codes.md are written."`

	app *kong.Application
}

// SetModel takes the model of the command line, which the references describe.
func (v *ReferenceVerb) SetModel(app *kong.Application) { v.app = app }

// Help gives the examples of the verb.
func (*ReferenceVerb) Help() string {
	return command.Examples("crawlnode reference docs", "crawlnode reference /tmp")
}

// Run writes the files.
func (v *ReferenceVerb) Run(_ context.Context, env *command.Env) int {
	for name, text := range references(v.app) {
		if err := os.WriteFile(filepath.Join(v.Dir, name), text, 0o644); err != nil {
			return env.Fail(command.ExitError, "%v", err)
		}
	}
	return command.ExitOK
}

// references are the files by name.
func references(app *kong.Application) map[string][]byte {
	return map[string][]byte{
		"cli.md":           cliReference(app),
		"configuration.md": configReference(),
		"codes.md":         codesReference(),
	}
}

// codesReference explains the codes.
func codesReference() []byte {
	return append([]byte("# Codes and what to do\n\n"+generated), codes.Reference()...)
}

const generated = "<!-- Written by `make generate`: change the code, not this file. -->\n\n"

// cliReference is the reference of the command line.
func cliReference(app *kong.Application) []byte {
	var b bytes.Buffer
	b.WriteString("# The command line\n\n" + generated)
	b.WriteString(app.Help + "\n\nWithout a verb it is `start`. `crawlnode VERB --help` says the " +
		"same as this page.\n\n| verb | what it does |\n|---|---|\n")
	verbs := app.Leaves(true)
	for _, v := range verbs {
		fmt.Fprintf(&b, "| [%s](#%s) | %s |\n", v.Path(), strings.ReplaceAll(v.FullPath(), " ", "-"),
			cell(v.Help))
	}
	b.WriteString("\n## Exit codes\n\n| code | meaning |\n|---|---|\n")
	for _, e := range command.ExitMeanings {
		fmt.Fprintf(&b, "| %d | %s |\n", e.Code, e.Meaning)
	}
	b.WriteString(`
## Signals

The first SIGTERM or SIGINT drains: open fetches finish, partitions go to the others, everything is flushed, the exit code is 0 (5 for ` + "`crawl`" +
		` before its
end). The second stops at once, with 130. On SIGHUP a node reads its settings again: it takes over those that [configuration.md](configuration.md) marks
with SIGHUP, and names the others that have changed.

Under systemd (` + "`Type=notify`" + `) a node says READY=1 when ` + "`/readyz`" +
		` would, STOPPING=1 when it leaves, and WATCHDOG=1 if ` + "`WatchdogSec=`" +
		` asks for it. One that waits for its
cluster is not ready: give it ` + "`TimeoutStartSec=infinity`" + `.
`)
	for _, v := range verbs {
		verbReference(&b, v)
	}
	return b.Bytes()
}

// verbReference is the chapter of one verb.
func verbReference(b *bytes.Buffer, v *kong.Node) {
	lines, more := SplitDetail(v.Detail)
	fmt.Fprintf(b, "\n## %s\n\n%s\n\n```console\n", v.FullPath(), v.Help)
	for _, line := range lines {
		fmt.Fprintf(b, "$ %s\n", line)
	}
	fmt.Fprintf(b, "```\n\nUsage: `crawlnode %s`\n", v.Summary())
	if more != "" {
		fmt.Fprintf(b, "\n%s\n", more)
	}
	for _, arg := range v.Positional {
		fmt.Fprintf(b, "\n- `%s`: %s\n", arg.Summary(), arg.Help)
	}
	for _, group := range Groups() {
		rows := rowsOf(v, group.Key)
		if len(rows) == 0 {
			continue
		}
		fmt.Fprintf(b, "\n%s\n\n| flag | default | meaning |\n|---|---|---|\n%s",
			strings.TrimSuffix(group.Title, ":"), strings.Join(rows, ""))
	}
}

// rowsOf are the rows of a verb's flags of one group.
func rowsOf(v *kong.Node, group string) []string {
	var rows []string
	for _, f := range v.Flags {
		if f.Hidden || f.Group == nil || f.Group.Key != group {
			continue
		}
		name := "--" + f.Name
		if f.Short != 0 {
			name = "-" + string(f.Short) + ", " + name
		}
		if !f.IsBool() {
			name += " " + cmp.Or(f.Tag.PlaceHolder, strings.ToUpper(f.Name))
		}
		rows = append(rows,
			fmt.Sprintf("| `%s` | %s | %s |\n", cell(name), code(f.Default), cell(f.Help)))
	}
	return rows
}

// configReference is the reference of the settings.
func configReference() []byte {
	var b bytes.Buffer
	b.WriteString("# The settings of a node\n\n" + generated)
	b.WriteString("A setting comes from the first of these that names it: the flag, " +
		"the environment variable, the file of `--config`, the default. The file is YAML with one\n" +
		"`key: value` a line; an unknown key is an error that says which one was meant. " +
		"`crawlnode config print --origin` says what holds, and where it came from.\n\n" +
		"Durations are written `500ms`, `30s`, `2h`; sizes `512MiB`, `1GiB`. " +
		"A flag that takes several is repeated; in the environment they are separated by commas, " +
		"patterns\n" +
		"and URLs by line ends; in the file they are a list.\n\n| it counts | |\n|---|---|\n" +
		"| start | from the start of this node |\n| SIGHUP | from the start of this node, " +
		"and again after SIGHUP |\n" +
		"| cluster | it belongs to the crawl: the founding node's value holds on all nodes, " +
		"a joiner takes it over |\n" +
		"| founding | it is fixed by the founding node for the life of the cluster |\n")
	settings, err := config.Explain(config.Input{})
	if err != nil {
		panic("BUG: the defaults are not valid: " + err.Error())
	}
	for _, group := range Groups() {
		fmt.Fprintf(&b, "\n## %s\n\n| flag | environment | key | default | unit | counts | meaning |\n"+
			"|---|---|---|---|---|---|---|\n", strings.TrimSuffix(group.Title, ":"))
		for _, s := range settings {
			if s.Group == group.Key {
				unit := s.Kind
				if s.List {
					unit += "; several"
				}
				if s.Kind == config.KindSwitch {
					s.Default = "false"
				}
				fmt.Fprintf(&b, "| `--%s` | `%s` | `%s` | %s | %s | %s | %s |\n", s.Name, s.Env, s.Name,
					code(s.Default), cell(unit), s.Live, cell(s.Help))
			}
		}
	}
	return b.Bytes()
}

// cell makes text safe for a table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "\n", " ").Replace(text)
}

// code is a value in a table, – for none.
func code(value string) string {
	if slices.Contains([]string{"", "0s"}, value) {
		return "–"
	}
	return "`" + value + "`"
}
