package cli

import (
	"context"

	"crawlnode/api/client"
	"crawlnode/cli/command"
	flags "crawlnode/cli/remote"
	"crawlnode/output/readback"
)

// catVerb prints what was stored of a URL.
type catVerb struct {
	remote            `embed:""`
	command.Unpacking `embed:""`
	URL               string   `arg:"" name:"url" help:"The URL, in any spelling."`
	Headers           bool     `xor:"form" group:"output" help:"The status line and the header only."`
	Text              bool     `xor:"form" group:"output" help:"The visible text only."`
	Markdown          bool     `xor:"form" group:"output" help:"The main content as Markdown; of a document, such as a PDF, all of it."`
	Raw               bool     `xor:"form" group:"output" help:"The answer as it was received: head, and body with its content codings."`
	DataDir           []string `name:"data-dir" sep:"none" group:"output" placeholder:"DIR" help:"Read the archive in this node's data directory instead of asking a node; the node need not run; repeatable."`
}

// Help gives the examples of the verb and says what it prints.
func (*catVerb) Help() string {
	return command.Examples("crawlnode cat https://docs.example.org/guide/",
		"crawlnode cat https://docs.example.org/guide/ --text --data-dir crawlnode-data/n1") + `

It prints the body of the newest capture, without content codings such as gzip;
with --text the text that the crawl saw, in a browser if it used one (--render),
and that of documents such as PDF; with --markdown its headings, lists, tables
and links, too.
What is left of a damaged body is printed, with a warning.
A body that was stored once for several URLs is found with each of them. Any
node answers for all; with --data-dir only what those nodes stored is found.`
}

func (v *catVerb) Run(ctx context.Context, env *Env) int {
	if len(v.DataDir) > 0 {
		dirs, err := readback.Open(v.DataDir...)
		if err != nil {
			return env.Fail(command.ExitUsage, "--data-dir: %v", err)
		}
		defer func() { _ = dirs.Close() }() // it is in the system's folder of temporary files
		for _, w := range dirs.Warnings {
			env.Fail(0, "%v", w)
		}
		return v.print(ctx, env, dirs)
	}
	code := command.ExitOK
	if failed := v.ask(ctx, env, func(ctx context.Context, c *client.Client) error {
		code = v.print(ctx, env, readback.Cluster{Node: c})
		return nil
	}); failed != command.ExitOK {
		return failed
	}
	return code
}

// print writes what was asked for to standard output.
func (v *catVerb) print(ctx context.Context, env *Env, source readback.Source) int {
	form := readback.Form{Headers: v.Headers, Text: v.Text, Markdown: v.Markdown, Raw: v.Raw}
	err := readback.Print(ctx, source, v.URL, form, v.Most(), env.Stdout, env.Stderr)
	if err != nil {
		return env.Fail(exitCode(err), "%v", flags.OrDataDir(err))
	}
	return command.ExitOK
}
