package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"crawlnode/api/client"
	"crawlnode/api/plaintext"
	"crawlnode/cli/command"
	"crawlnode/crawl"
	"crawlnode/security/keyfile"
)

// nodesRotateKeyVerb replaces the cluster's key while the crawl runs.
type nodesRotateKeyVerb struct {
	remote `embed:""`
	NewKey string `arg:"" name:"file" help:"The new key's file; make it with crawlnode keygen."`
}

// Help gives the examples of the verb and says what is left to do.
func (*nodesRotateKeyVerb) Help() string {
	return command.Examples("crawlnode keygen new.key",
		"crawlnode nodes rotate-key new.key --cluster-key-file cluster.key") + `

All nodes first take both keys, then send with the new one, then refuse the old
one; each step waits until every member has confirmed the one before, so nobody
is locked out. A member that goes before it has the new key holds it up until it
is back, or until you forget it (crawlnode nodes forget). That takes some ten
seconds, and nothing rests meanwhile. The order may be given again: it goes on
where it was.

Each node keeps the new key in its data directory. Put new.key in the place of
the old file on every machine before you start a node from another directory,
and make new tokens: those of the old key end with it. Whoever has the old key
and takes part in the cluster during these seconds can learn the new one; when
that could be, stop all nodes and replace the files instead.`
}

const (
	// rotatePace is how often the node is asked how far it is.
	rotatePace = 500 * time.Millisecond
	// rotatePatience is how long no answer may come while the key changes.
	rotatePatience = 30 * time.Second
)

func (v *nodesRotateKeyVerb) Run(ctx context.Context, env *Env) int {
	access, err := keyfile.LoadAccess(v.NewKey)
	if err != nil {
		return env.Fail(exitCode(err), "%v", err)
	}
	key, err := keyfile.LoadKeyText(v.NewKey)
	if err != nil {
		return env.Fail(exitCode(err), "%v", err)
	}
	var first crawl.RotationReport
	code := v.ask(ctx, env, func(ctx context.Context, c *client.Client) (err error) {
		first, err = c.RotateKey(ctx, key)
		return err
	})
	if code != command.ExitOK {
		return code
	}
	ctx, cancel := env.UntilSignal(ctx)
	defer cancel()
	// the node that was asked takes both
	c := client.New(client.Options{Addr: v.Address(env), Token: access.Token, TLS: access.TLS})
	defer c.Close()
	return v.follow(ctx, env, c, key, first)
}

// follow says what is waited for until the old key is refused.
func (v *nodesRotateKeyVerb) follow(
	ctx context.Context,
	env *Env,
	c *client.Client,
	key string,
	report crawl.RotationReport,
) int {
	said, heard := "", time.Now()
	for {
		line := "step " + report.Step
		if len(report.Waiting) > 0 {
			line += ", waits for " + strings.Join(report.Waiting, ", ")
		}
		if line != said {
			fmt.Fprintln(env.Stdout, plaintext.Escape(line))
			said = line
		}
		if report.Step == crawl.RotationOver {
			fmt.Fprintf(env.Stdout,
				"the key is %s; put %s in the place of --cluster-key-file on every machine, "+
					"and make new tokens\n",
				report.Fingerprint, v.NewKey)
			return command.ExitOK
		}
		timer := time.NewTimer(rotatePace)
		select {
		case <-ctx.Done():
			timer.Stop()
			return env.Fail(command.ExitInterrupted,
				"the nodes go on with it; ask again with the same command")
		case <-timer.C:
		}
		next, err := c.RotateKey(ctx, key)
		if err == nil {
			report, heard = next, time.Now()
		} else if time.Since(heard) > rotatePatience {
			return env.Fail(answerCode(err), "%v", err)
		}
	}
}
