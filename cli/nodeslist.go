package cli

import (
	"context"
	"encoding/json"

	"crawlnode/api/plaintext"
	"crawlnode/cli/command"
	flags "crawlnode/cli/remote"
)

// nodesListVerb lists the nodes.
type nodesListVerb struct {
	source `embed:""`
	Output string `short:"o" group:"output" enum:"text,wide,json" default:"text" placeholder:"text|wide|json" help:"text, wide (all columns) or json."`
}

// Help gives the examples of the verb.
func (*nodesListVerb) Help() string {
	return command.Examples("crawlnode nodes list",
		"crawlnode nodes list --addr 127.0.0.1:27305 -o wide") + `

wide adds version, process id, time since the start, queue, pages, memory, free
disk space, all addresses, and why a node does not fetch.`
}

// Run lists them.
func (v *nodesListVerb) Run(ctx context.Context, env *Env) int {
	return v.Answer(ctx, env, func(ctx context.Context, c flags.Answers) error {
		nodes, err := c.Nodes(ctx)
		switch {
		case err != nil:
			return err
		case v.Output == "json":
			enc := json.NewEncoder(env.Stdout)
			enc.SetIndent("", "  ")
			return enc.Encode(nodes)
		case v.Output == "wide":
			return plaintext.WriteNodesWide(env.Stdout, nodes)
		}
		return plaintext.WriteNodes(env.Stdout, nodes)
	})
}
