package help

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"

	"crawlnode/cli/command"
)

// Groups are the headings of a verb's help, in their order.
func Groups() []kong.Group {
	return []kong.Group{
		{Key: "node", Title: "Node:"},
		{Key: "cluster", Title: "Cluster:"},
		{Key: "scope", Title: "Scope (what is crawled):"},
		{Key: "politeness", Title: "Politeness (how sites are treated):"},
		{Key: "render", Title: "Rendering (pages that need a browser):"},
		{Key: "output", Title: "Output:"},
		{Key: "limits", Title: "Limits:"},
		{Key: "revisits", Title: "Revisits (when known pages are visited again):"},
	}
}

// WithDefault adds a flag's default to its help.
func WithDefault(v *kong.Value) string {
	if !v.HasDefault || v.Default == "" || v.Default == "0" || v.Default == "0s" {
		return v.Help
	}
	return strings.TrimSuffix(v.Help, ".") + " (default: " + v.Default + ")."
}

// SplitDetail takes a verb's help apart into its example lines and what it says
// beyond.
func SplitDetail(detail string) (lines []string, more string) {
	shown, more, _ := strings.Cut(strings.TrimPrefix(detail, command.Examples("")), "\n\n")
	for line := range strings.SplitSeq(shown, "\n") {
		lines = append(lines, strings.TrimSpace(line))
	}
	return lines, strings.TrimSpace(more)
}

// Print prints the help of what was selected: the examples first, then what
// the verb is for, then its flags.
func Print(options kong.HelpOptions, ctx *kong.Context) error {
	node := ctx.Selected()
	if node == nil {
		node = ctx.Model.Node
	}
	lines, more := SplitDetail(node.Detail)
	if _, err := fmt.Fprintf(ctx.Stdout, "%s\n\n", command.Examples(lines...)); err != nil {
		return err
	}
	shown := node.Detail
	node.Detail = more
	defer func() { node.Detail = shown }()
	return kong.DefaultHelpPrinter(options, ctx)
}
