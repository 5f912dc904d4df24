package export

import (
	"context"
	"errors"
	"io"
	"os"

	"crawlnode/cli/command"
	"crawlnode/crawl"
)

// CDXJVerb writes the index of a cluster, or of data directories.
type CDXJVerb struct {
	from   `embed:""`
	Output string `short:"o" group:"output" placeholder:"FILE" help:"The file to write, which stands there only when it is whole. Default: standard output."`
}

// Help gives the examples of the verb and says what it writes.
func (*CDXJVerb) Help() string {
	return command.Examples("crawlnode export cdxj -o index.cdxj",
		"crawlnode export cdxj --data-dir crawlnode-data/n1 | grep '^org,example)'") + `

One line for each capture that the running nodes have, in the order of
LC_ALL=C sort: a key of the URL, the time, and JSON with status, media type,
digest, and the file, offset and length of the record. Any node answers for all.
Nodes that are gone keep their files: start one again to have its captures too,
or name all data directories.`
}

// Run writes the index.
func (v *CDXJVerb) Run(ctx context.Context, env *command.Env) int {
	return v.run(ctx, env, func(ctx context.Context, src source) error {
		if err := write(env, v.Output, func(w io.Writer) error { return src.WriteIndex(ctx, w) }); err !=
			nil {
			return err
		}
		if x, ok := src.(excluding); ok {
			src = x.source
		}
		c, running := src.(cluster)
		if !running {
			return nil
		}
		nodes, err := c.client.Nodes(ctx)
		for _, n := range nodes {
			if n.State == crawl.NodeFailed || n.State == crawl.NodeLeft {
				env.Fail(0, "%s has %s: what it captured stands on its disk and is not in this index", n.Name,
					n.State)
			}
		}
		return err
	})
}

// write calls f with standard output, or with a file that gets its name at the end.
func write(env *command.Env, output string, f func(io.Writer) error) error {
	if output == "" || output == "-" {
		return f(env.Stdout)
	}
	output, err := command.PlaceOf(output)
	if err != nil {
		return err
	}
	part, err := os.OpenFile(output+".part", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return command.Unwritable(output, err)
	}
	if err := errors.Join(f(part), part.Sync(), part.Close()); err != nil {
		return errors.Join(err, os.Remove(part.Name()))
	}
	return os.Rename(part.Name(), output)
}
