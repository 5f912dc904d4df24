package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"crawlnode/cli/command"
	"crawlnode/crawl"
	"crawlnode/security/keyfile"
)

// keygenVerb makes the key of a cluster, or shows what follows from one.
type keygenVerb struct {
	File    string        `arg:"" placeholder:"FILE" help:"Where to store it; the file must not exist yet. With --role and --token: the key that is there."`
	Bot     bool          `group:"cluster" help:"Make the key by which requests to web servers are signed (--bot-key), not a cluster key."`
	Keep    bool          `xor:"what" group:"cluster" help:"Leave a key that is there as it is."`
	Token   bool          `xor:"what" group:"cluster" help:"Make none: print the API token of the key in FILE, which may do everything."`
	Role    string        `xor:"what" group:"cluster" placeholder:"read|operate|admin" help:"Make none: print a new token that may only do that, made with the key in FILE."`
	Expires time.Duration `group:"cluster" placeholder:"DURATION" default:"2160h" help:"How long the token of --role lives, at most 366 days (default: 90 days)."`
}

// Help opens the verb's help.
func (*keygenVerb) Help() string {
	return command.Examples("crawlnode keygen cluster.key",
		"crawlnode --http 0.0.0.0:27295 --gossip 0.0.0.0:27296 --rpc 0.0.0.0:27297 --cluster-key-file "+
			"cluster.key",
		"crawlnode keygen --role read --expires 720h cluster.key > metrics.token",
		"crawlnode keygen --bot bot.pem") + `

A token of the role read sees everything. operate also pauses, resumes and adds
seeds. admin also stops, changes settings, drains, forgets and revokes. Give it
to a program as a Bearer token, or to the verbs as --token-file. It ends with its
time, with crawlnode tokens revoke, or with the key.`
}

func (v *keygenVerb) Run(_ context.Context, env *Env) int {
	if v.Bot {
		return v.newBotKey(env)
	}
	if v.Role != "" {
		return v.newToken(env)
	}
	if _, err := os.Lstat(v.File); v.Token || v.Keep && !errors.Is(err, fs.ErrNotExist) {
		return v.show(env)
	}
	fingerprint, err := keyfile.NewKeyFile(v.File)
	if err != nil {
		return env.Fail(exitCode(err), "%v", err)
	}
	fmt.Fprintf(env.Stdout,
		"%s: a new cluster key, fingerprint %s; give it to every node with --cluster-key-file\n", v.File,
		fingerprint)
	return command.ExitOK
}

// newBotKey makes the key of --bot-key.
func (v *keygenVerb) newBotKey(env *Env) int {
	if v.Token || v.Role != "" {
		return env.Fail(command.ExitUsage, "--bot: a bot key has no tokens: leave --token and --role out")
	}
	if _, err := os.Lstat(v.File); v.Keep && !errors.Is(err, fs.ErrNotExist) {
		if _, err := keyfile.LoadBotKeys(v.File); err != nil {
			return env.Fail(exitCode(err), "%v", err)
		}
		fmt.Fprintf(env.Stdout, "%s: there is a bot key already, it stays\n", v.File)
		return command.ExitOK
	}
	id, err := keyfile.NewBotKeyFile(v.File)
	if err != nil {
		return env.Fail(exitCode(err), "%v", err)
	}
	fmt.Fprintf(env.Stdout, "%s: a new bot key, id %s; give it to every node with --bot-key, "+
		"and publish it: crawlnode bot directory --bot-key %s\n", v.File, id, v.File)
	return command.ExitOK
}

// newToken prints a token alone, so that it can be piped into a file; what it is
// stands beside it.
func (v *keygenVerb) newToken(env *Env) int {
	role, err := crawl.ParseRole(v.Role)
	if err != nil {
		return env.Fail(command.ExitUsage, "--role: %v", err)
	}
	token, text, err := keyfile.NewToken(v.File, role, v.Expires)
	if err != nil {
		return env.Fail(exitCode(err), "%v", err)
	}
	fmt.Fprintln(env.Stdout, text)
	fmt.Fprintf(env.Stderr,
		"token %s, role %s, until %s; end it earlier with: crawlnode tokens revoke %s\n", token.ID,
		token.Role, token.Expires.Format(time.RFC3339), token.ID)
	return command.ExitOK
}

// show reads the key that is there, and prints its token when that was asked for.
func (v *keygenVerb) show(env *Env) int {
	access, err := keyfile.LoadAccess(v.File)
	if err != nil {
		return env.Fail(exitCode(err), "%v", err)
	}
	if v.Token {
		fmt.Fprintln(env.Stdout, access.Token)
	} else {
		fmt.Fprintf(env.Stdout, "%s: there is a key already, it stays\n", v.File)
	}
	return command.ExitOK
}
