package cli

import (
	"context"
	"encoding/json"

	"crawlnode/config"
)

// allSettings are the flags of every setting. The groups stand one by one, because
// a parser of command lines must not call the Validate of a whole config.Config.
type allSettings struct {
	layered    `embed:""`
	Node       config.Node       `embed:""`
	Cluster    config.Cluster    `embed:""`
	Scope      config.Scope      `embed:""`
	Politeness config.Politeness `embed:""`
	Output     config.Output     `embed:""`
	Limits     config.Limits     `embed:""`
}

// flags are what the command line says, whether given or not.
func (s *allSettings) flags() config.Config {
	return config.Config{Node: s.Node, Cluster: s.Cluster, Scope: s.Scope, Politeness: s.Politeness, Output: s.Output, Limits: s.Limits}
}

// configVerbs are the verbs about this node's settings.
type configVerbs struct {
	Print configPrintVerb `cmd:"" help:"Print every setting as a node with these flags would have it."`
}

// Help gives the examples of the verbs.
func (*configVerbs) Help() string { return (*configPrintVerb)(nil).Help() }

// configPrintVerb prints the settings.
type configPrintVerb struct {
	allSettings `embed:""`
	Origin      bool   `group:"output" help:"Say behind each setting where it came from."`
	Format      string `name:"output" short:"o" group:"output" enum:"yaml,json" default:"yaml" placeholder:"yaml|json" help:"yaml, as --config reads it, or json."`
}

// Help gives the examples of the verb.
func (*configPrintVerb) Help() string {
	return examples("crawlnode config print --origin", "crawlnode config print --config node.yaml --delay 2s > new.yaml") + `

It asks no node: give it the flags that the node is started with. A flag wins
over an environment variable, that over the file, and that over the default.
What is wrong with the settings is told as well, with exit code 2.`
}

func (v *configPrintVerb) run(_ context.Context, env *Env) int {
	settings, wrong := config.Explain(v.input(env, v.flags()))
	var err error
	if v.Format == "json" {
		enc := json.NewEncoder(env.Stdout)
		enc.SetIndent("", "  ")
		err = enc.Encode(settings)
	} else {
		err = config.WriteYAML(env.Stdout, settings, v.Origin)
	}
	if err != nil {
		return env.fail(exitError, "%v", err)
	}
	if wrong != nil {
		return env.fail(exitUsage, "%v", wrong)
	}
	return exitOK
}
