package cli

import (
	"context"
	"encoding/json"

	"crawlnode/cli/command"
	"crawlnode/config"
)

// configVerbs are the verbs about this node's settings.
type configVerbs struct {
	Print configPrintVerb `cmd:"" help:"Print every setting as a node with these flags would have it."`
}

// Help gives the examples of the verbs.
func (*configVerbs) Help() string { return (*configPrintVerb)(nil).Help() }

// configPrintVerb prints the settings.
type configPrintVerb struct {
	command.AllSettings `embed:""`
	Origin              bool   `group:"output" help:"Say behind each setting where it came from."`
	Format              string `name:"output" short:"o" group:"output" enum:"yaml,json" default:"yaml" placeholder:"yaml|json" help:"yaml, as --config reads it, or json."`
}

// Help gives the examples of the verb.
func (*configPrintVerb) Help() string {
	return command.Examples("crawlnode config print --origin",
		"crawlnode config print --config node.yaml --delay 2s > new.yaml") + `

It asks no node: give it the flags that the node is started with. A flag wins
over an environment variable, that over the file, and that over the default.
What is wrong with the settings is told as well, with exit code 2.`
}

func (v *configPrintVerb) Run(_ context.Context, env *Env) int {
	settings, wrong := config.Explain(v.Input(env, v.Flags()))
	var err error
	if v.Format == "json" {
		enc := json.NewEncoder(env.Stdout)
		enc.SetIndent("", "  ")
		err = enc.Encode(settings)
	} else {
		err = config.WriteYAML(env.Stdout, settings, v.Origin)
	}
	if err != nil {
		return env.Fail(command.ExitError, "%v", err)
	}
	if wrong != nil {
		return env.Fail(command.ExitUsage, "%v", wrong)
	}
	return command.ExitOK
}
