package cli

import (
	"context"

	"crawlnode/api/client"
	flags "crawlnode/cli/remote"
)

// remote is how the verbs of this package reach a node.
type remote struct {
	flags.Flags `embed:""`
}

// source is how the verbs of this package that change nothing reach a node, or what one has left.
type source struct {
	flags.Source `embed:""`
}

func (r *remote) dial(env *Env) (*client.Client, error) { return r.Dial(env) }

func (r *remote) ask(
	ctx context.Context,
	env *Env,
	f func(context.Context, *client.Client) error,
) int {
	return r.Ask(ctx, env, f)
}

func answerCode(err error) int { return flags.AnswerCode(err) }

// exitCode is the code of an error of package node.
func exitCode(err error) int { return flags.ExitCode(err) }
