package cli

import (
	"context"

	"crawlnode/config"
)

// startVerb runs a node. The groups stand one by one, because a parser of
// command lines must not call the Validate of a whole config.Config.
type startVerb struct {
	layered    `embed:""`
	profiling  `embed:""`
	measuring  `embed:""`
	Node       config.Node       `embed:""`
	Cluster    config.Cluster    `embed:""`
	Scope      config.Scope      `embed:""`
	Politeness config.Politeness `embed:""`
	Output     config.Output     `embed:""`
	Limits     config.Limits     `embed:""`
}

// Help gives the examples of the verb.
func (*startVerb) Help() string {
	return examples(
		"crawlnode --name n1",
		"crawlnode --name n2 --join 127.0.0.1:27296 --contact me@example.org --seed https://docs.example.org/",
	) + "\n\nEvery flag is also an environment variable, CRAWLNODE_<FLAG>, and a line of the file of --config."
}

func (v *startVerb) run(ctx context.Context, env *Env) int {
	cfg, err := v.load(env, config.Config{
		Node: v.Node, Cluster: v.Cluster, Scope: v.Scope, Politeness: v.Politeness, Output: v.Output, Limits: v.Limits,
	})
	if err != nil {
		return env.fail(exitUsage, "%v", err)
	}
	seeds, err := readSeeds(env, cfg.Seeds, cfg.SeedFiles)
	if err != nil {
		return env.fail(exitUsage, "%v", err)
	}
	s := &session{env: env, cfg: cfg, seeds: seeds, reload: v.reloadLevel, bare: v.Bare}
	s.onOpen = s.banner
	stopProfile, err := v.profiling.start()
	if err != nil {
		return env.fail(exitError, "%v", err)
	}
	code := s.run(ctx)
	if err := stopProfile(); err != nil {
		env.fail(exitError, "--profile: %v", err) // the node's own end is what counts
	}
	return code
}

// reloadLevel reads the settings again and returns the log level, the one
// setting that a node can change while it runs without the cluster's consent.
func (v *startVerb) reloadLevel(env *Env) (string, error) {
	cfg, err := v.load(env, config.Config{
		Node: v.Node, Cluster: v.Cluster, Scope: v.Scope, Politeness: v.Politeness, Output: v.Output, Limits: v.Limits,
	})
	return cfg.LogLevel, err
}
