package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"crawlnode/node"
)

// keygenVerb makes the key of a cluster, or shows what follows from one.
type keygenVerb struct {
	File  string `arg:"" placeholder:"FILE" help:"Where to store it; the file must not exist yet."`
	Keep  bool   `xor:"what" group:"cluster" help:"Leave a key that is there as it is."`
	Token bool   `xor:"what" group:"cluster" help:"Make none: print the API token of the key in FILE, for Prometheus and other programs."`
}

// Help opens the verb's help.
func (*keygenVerb) Help() string {
	return examples("crawlnode keygen cluster.key",
		"crawlnode --http 0.0.0.0:27295 --gossip 0.0.0.0:27296 --rpc 0.0.0.0:27297 --cluster-key-file cluster.key",
		"crawlnode keygen --token cluster.key")
}

func (v *keygenVerb) run(_ context.Context, env *Env) int {
	if _, err := os.Lstat(v.File); v.Token || v.Keep && !errors.Is(err, fs.ErrNotExist) {
		return v.show(env)
	}
	fingerprint, err := node.NewKeyFile(v.File)
	if err != nil {
		return env.fail(exitCode(err), "%v", err)
	}
	fmt.Fprintf(env.Stdout, "%s: a new cluster key, fingerprint %s; give it to every node with --cluster-key-file\n", v.File, fingerprint)
	return exitOK
}

// show reads the key that is there, and prints its token when that was asked for.
func (v *keygenVerb) show(env *Env) int {
	access, err := node.LoadAccess(v.File)
	if err != nil {
		return env.fail(exitCode(err), "%v", err)
	}
	if v.Token {
		fmt.Fprintln(env.Stdout, access.Token)
	} else {
		fmt.Fprintf(env.Stdout, "%s: there is a key already, it stays\n", v.File)
	}
	return exitOK
}
