package cli

import (
	"context"

	"crawlnode/cli/command"
	"crawlnode/security/keyfile"
	"crawlnode/web/botauth"
)

// botVerbs are the verbs about signed requests; keygen makes the key.
type botVerbs struct {
	Directory botDirectoryVerb `cmd:"" help:"Print the public keys as a site's owner verifies them: the file to publish."`
}

// Help gives the examples of the verbs.
func (*botVerbs) Help() string { return (*botDirectoryVerb)(nil).Help() }

// botDirectoryVerb prints the directory of keys.
type botDirectoryVerb struct {
	BotKey string `name:"bot-key" group:"politeness" placeholder:"FILE" env:"CRAWLNODE_BOT_KEY" help:"The file of the key that signs, and of the one before or after it."`
}

// Help gives the examples of the verb and says where its output goes.
func (*botDirectoryVerb) Help() string {
	return command.Examples("crawlnode keygen --bot bot.pem",
		"crawlnode bot directory --bot-key bot.pem > http-message-signatures-directory") + `

Publish the output at the address of --bot-agent, below
` + botauth.WellKnown + `, with the media type
` + botauth.MediaType + `.
A node with --bot-key serves the same there, and signs it. docs/let-in.md has the
steps.`
}

func (v *botDirectoryVerb) Run(_ context.Context, env *Env) int {
	if v.BotKey == "" {
		return env.Fail(command.ExitUsage,
			"--bot-key: is not given: name the file that crawlnode keygen --bot FILE has made")
	}
	keys, err := keyfile.LoadBotKeys(v.BotKey)
	if err != nil {
		return env.Fail(exitCode(err), "%v", err)
	}
	_, _ = env.Stdout.Write(botauth.Directory(keys))
	return command.ExitOK
}
