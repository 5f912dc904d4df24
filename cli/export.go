package cli

import (
	"context"
	"errors"
	"io"
	"os"

	"crawlnode/api/client"
	"crawlnode/cli/command"
	"crawlnode/cli/pagefiles"
	"crawlnode/crawl"
)

// exportVerbs are the verbs that write what a crawl has left behind.
type exportVerbs struct {
	CDXJ  exportCDXJVerb  `cmd:"" name:"cdxj" help:"Write the index of all captures of the cluster."`
	Files exportFilesVerb `cmd:"" name:"files" help:"Write the pages as files, with relative links."`
}

// Help gives the examples of the verbs.
func (*exportVerbs) Help() string { return (*exportCDXJVerb)(nil).Help() }

// exportCDXJVerb writes the cluster's index.
type exportCDXJVerb struct {
	remote `embed:""`
	Output string `short:"o" group:"output" placeholder:"FILE" help:"The file to write, which stands there only when it is whole. Default: standard output."`
}

// Help gives the examples of the verb and says what it writes.
func (*exportCDXJVerb) Help() string {
	return command.Examples("crawlnode export cdxj -o index.cdxj", "crawlnode export cdxj --addr 127.0.0.1:27305 | grep '^org,example)'") + `

One line for each capture that the running nodes have, in the order of
LC_ALL=C sort: a key of the URL, the time, and JSON with status, media type,
digest, and the file, offset and length of the record. Any node answers for all.
Nodes that are gone keep their files: start one again to have its captures too.`
}

func (v *exportCDXJVerb) Run(ctx context.Context, env *Env) int {
	return v.ask(ctx, env, func(ctx context.Context, c *client.Client) error {
		if err := v.write(env, func(w io.Writer) error { return c.CopyIndex(ctx, w) }); err != nil {
			return err
		}
		nodes, err := c.Nodes(ctx)
		for _, n := range nodes {
			if n.State == crawl.NodeFailed || n.State == crawl.NodeLeft {
				env.Fail(0, "%s has %s: what it captured stands on its disk and is not in this index", n.Name, n.State)
			}
		}
		return err
	})
}

// write calls f with standard output, or with a file that gets its name at the end.
func (v *exportCDXJVerb) write(env *Env, f func(io.Writer) error) error {
	if v.Output == "" || v.Output == "-" {
		return f(env.Stdout)
	}
	part, err := os.OpenFile(v.Output+".part", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if err := errors.Join(f(part), part.Sync(), part.Close()); err != nil {
		return errors.Join(err, os.Remove(part.Name()))
	}
	return os.Rename(part.Name(), v.Output)
}

// exportFilesVerb writes the newest capture of each URL as a file.
type exportFilesVerb struct {
	remote  `embed:""`
	Output  string   `short:"o" required:"" group:"output" placeholder:"DIR" help:"The folder to write to: a new or an empty one, or that of an earlier run, which goes on."`
	DataDir []string `name:"data-dir" sep:"none" group:"output" placeholder:"DIR" help:"Read the archive in this node's data directory instead of asking a node; the node need not run; repeatable."`
}

// Help gives the examples of the verb and says what it writes.
func (*exportFilesVerb) Help() string {
	return command.Examples("crawlnode export files --data-dir crawlnode-data/n1 --output site", "crawlnode export files --addr 127.0.0.1:27305 --output site") + `

The newest capture of each URL becomes a file by host and path. Links to what was
saved are relative, all others absolute; DIR/manifest.jsonl has a line for each
URL. The same command again writes what is new, or goes on where it was stopped.`
}

func (v *exportFilesVerb) Run(ctx context.Context, env *Env) int {
	src, err := pagefiles.DataDirs(v.DataDir)
	if err != nil {
		return env.Fail(command.ExitUsage, "--data-dir: %v", err)
	}
	out, code := pagefiles.Open(env, v.Output, v.DataDir...)
	if code != command.ExitOK {
		return code
	}
	defer out.Close()
	const resume = "the same command"
	if len(v.DataDir) == 0 {
		asked := v.ask(ctx, env, func(ctx context.Context, c *client.Client) error {
			code = out.Write(ctx, pagefiles.Cluster{Client: c}, resume)
			return nil
		})
		return max(asked, code)
	}
	ctx, cancel := env.UntilSignal(ctx)
	defer cancel()
	return out.Write(ctx, src, resume)
}
