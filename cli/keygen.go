package cli

import (
	"context"
	"fmt"

	"crawlnode/node"
)

// keygenVerb makes the key of a cluster.
type keygenVerb struct {
	File string `arg:"" placeholder:"FILE" help:"Where to store it; the file must not exist yet."`
}

// Help opens the verb's help.
func (*keygenVerb) Help() string {
	return examples("crawlnode keygen cluster.key",
		"crawlnode --http 0.0.0.0:27295 --gossip 0.0.0.0:27296 --rpc 0.0.0.0:27297 --cluster-key-file cluster.key")
}

func (v *keygenVerb) run(_ context.Context, env *Env) int {
	fingerprint, err := node.NewKeyFile(v.File)
	if err != nil {
		return env.fail(exitCode(err), "%v", err)
	}
	fmt.Fprintf(env.Stdout, "%s: a new cluster key, fingerprint %s; give it to every node with --cluster-key-file\n", v.File, fingerprint)
	return exitOK
}
