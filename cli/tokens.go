package cli

import (
	"context"
	"fmt"
	"strings"

	"crawlnode/api/client"
	"crawlnode/api/plaintext"
	"crawlnode/cli/command"
)

// tokensVerbs are the verbs about tokens; keygen makes them.
type tokensVerbs struct {
	Revoke tokensRevokeVerb `cmd:"" help:"End a token before its time, on all nodes."`
}

// Help gives the examples of the verbs.
func (*tokensVerbs) Help() string { return (*tokensRevokeVerb)(nil).Help() }

// tokensRevokeVerb ends a token.
type tokensRevokeVerb struct {
	remote `embed:""`
	ID     string `arg:"" name:"id" help:"The token's id, or the token itself."`
}

// Help gives the examples of the verb.
func (*tokensRevokeVerb) Help() string {
	return command.Examples("crawlnode tokens revoke 5f0c2a9e41b7d386 --cluster-key-file cluster.key",
		"crawlnode tokens revoke 5f0c2a9e41b7d386 --token-file admin.token")
}

func (v *tokensRevokeVerb) Run(ctx context.Context, env *Env) int {
	id := strings.TrimSpace(v.ID)
	if parts := strings.Split(id, "."); len(parts) > 2 { // only the id leaves this machine
		id = parts[2]
	}
	return v.ask(ctx, env, func(ctx context.Context, c *client.Client) error {
		report, err := c.RevokeToken(ctx, id)
		if err != nil {
			return err
		}
		fmt.Fprintf(env.Stdout, "token %s is revoked\n", plaintext.Escape(report.ID))
		if len(report.Untold) > 0 {
			env.Fail(0, "did not answer and take it until they can be reached: %s",
				strings.Join(report.Untold, ", "))
		}
		return nil
	})
}
