package mcp

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"time"

	"crawlnode/api/plaintext"
	"crawlnode/cli/command"
	"crawlnode/cli/mcp/stdio"
	"crawlnode/cli/remote"
)

// Verb answers a language model.
type Verb struct {
	remote.Source `embed:""`
	Write         bool `group:"cluster" help:"Also offer add_seeds, for which the token needs the role operate."`
}

// Help gives the examples of the verb and says how it is used.
func (*Verb) Help() string {
	return command.Examples("crawlnode mcp",
		"crawlnode mcp --addr 127.0.0.1:27305 --token-file read.token",
		"crawlnode mcp --write --token-file operate.token",
		"crawlnode mcp --data-dir crawlnode-data/n1") + `

It speaks the Model Context Protocol on standard input and output, so it is
started by the program that has the model: docs/mcp.md shows how. Tools: search,
fetch_archived, why, status; with --write also add_seeds. What a token may do, the
node decides. With --data-dir each call opens the directory, so a node can be
started on it meanwhile; search then reads one index at a time, and nothing is
added. It ends at the end of its input, or at SIGTERM, after it has answered.`
}

// stopTime is how long a session may go on after a signal: the calls that are open get half of it.
const stopTime = 10 * time.Second

// Run serves one session.
func (v *Verb) Run(ctx context.Context, env *command.Env) int {
	ctx, cancel := env.UntilSignal(ctx)
	defer cancel()
	first, code := v.Open(env) // it says what is wrong before a client waits
	if first == nil {
		return code
	}
	var node cluster
	whom := "the data directories"
	if len(v.DataDir) > 0 {
		node = newDirectories(&v.Source, env)
		if err := first.Close(); err != nil {
			return env.Fail(command.ExitStorage, "%v", err)
		}
	} else {
		node, whom = running{first.Client}, "the node at "+first.Client.Address()
		defer first.Client.Close()
	}
	may := "it reads only"
	if v.Write {
		may = "it may add seeds"
	}
	fmt.Fprintf(env.Stderr, "crawlnode mcp: asks %s; %s; waits for a client on standard input\n",
		plaintext.Escape(whom), may)
	server, err := newServer(&options{
		node: node, write: v.Write, version: env.Version, random: rand.Reader,
		log: slog.New(slog.NewTextHandler(env.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
	})
	if err != nil {
		return env.Fail(command.ExitError, "%v", err)
	}
	// A signal ends the reading, and what is open is answered before the session ends.
	ended := make(chan error, 1)
	go func() {
		ended <- server.Run(context.WithoutCancel(ctx), &stdio.Transport{
			In: env.Stdin, Out: env.Stdout, Stop: ctx.Done(), Clean: clean,
		})
	}()
	select {
	case err = <-ended:
	case <-ctx.Done():
		select {
		case err = <-ended:
		case <-time.After(stopTime):
			// A write to a client that reads nothing cannot be taken back: it ends with the
			// process.
			return env.Fail(command.ExitError,
				"told to stop, and the client has not read its answers for %v", stopTime)
		}
	}
	if err != nil {
		return env.Fail(command.ExitError, "%v", err)
	}
	return command.ExitOK
}
