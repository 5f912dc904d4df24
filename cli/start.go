package cli

import (
	"context"
	"slices"
	"time"

	"crawlnode/cli/command"
	"crawlnode/cli/seedlist"
	"crawlnode/config"
	"crawlnode/node"
)

// startVerb runs a node.
type startVerb struct {
	command.AllSettings `embed:""`
	profiling           `embed:""`
	measuring           `embed:""`
}

// Help gives the examples of the verb.
func (*startVerb) Help() string {
	return command.Examples(
		"crawlnode --name n1",
		"crawlnode --name n2 --join 127.0.0.1:27296 --contact me@example.org --seed "+
			"https://docs.example.org/",
	) + "\n\nEvery flag is also an environment variable, CRAWLNODE_<FLAG>, " +
		"and a line of the file of --config."
}

func (v *startVerb) Run(ctx context.Context, env *Env) int {
	cfg, err := v.Load(env, v.Flags())
	if err != nil {
		return env.Fail(command.ExitUsage, "%v", err)
	}
	seeds, err := seedlist.ReadUnless(env.Signals, env, cfg.Seeds, cfg.SeedFiles)
	if err != nil {
		return env.Fail(seedlist.ExitCode(err), "--seeds: %v", err)
	}
	seedlist.GuessSchemes(seeds)
	s := &session{
		env:     env,
		cfg:     cfg,
		seeds:   seeds,
		carried: v.carried(env),
		reload:  func() (config.Config, error) { return v.Load(env, v.Flags()) },
		given:   config.Given(v.Input(env, v.Flags())),
		bare:    v.Bare,
	}
	s.onOpen = s.banner
	var watch *crawlWatch
	if cfg.ExitWhenDone {
		watch = &crawlWatch{env: env, started: time.Now()}
		s.onOpen = func(info node.Info) { s.banner(info); watch.info = info }
		s.beside = watch.run
	}
	stopProfile, err := v.profiling.start()
	if err != nil {
		return env.Fail(command.ExitError, "%v", err)
	}
	code := s.run(ctx)
	if err := stopProfile(); err != nil {
		env.Fail(command.ExitError, "--profile: %v", err) // the node's own end is what counts
	}
	if watch != nil && s.finished != "" {
		watch.summary(code, s.finished)
	}
	return s.uploaded(code)
}

// ownSettings are the settings that two nodes on one machine cannot share, or that
// apply to one start only, or that the other gets from the cluster and whose file may not be where
// it runs, or whose addresses may let a caller in: the banner stands in logs.
var ownSettings = []string{"name", "data-dir", "http", "gossip", "rpc", "frontier-addr",
	"debug-addr", "advertise", "join", "seed", "seeds", "exit-when-done", "focus", "focus-min",
	"webhook"}

// carried are the arguments of this command line with which another node of the cluster
// is started too. The environment's settings reach that node without them.
func (v *startVerb) carried(env *Env) []string {
	var args []string
	if v.ConfigFile != "" {
		args = append(args, "--config", v.ConfigFile)
	}
	settings, _ := config.Explain(v.Input(env, v.Flags())) // what is wrong was told
	for _, s := range settings {
		listens := slices.Contains([]string{"http", "gossip", "rpc", "frontier-addr"}, s.Name)
		beyond := listens && len(s.Values) == 1 && !config.IsLoopback(s.Values[0])
		switch {
		case s.Origin != config.OriginFlag, slices.Contains(ownSettings, s.Name) && !beyond:
		case s.Kind == config.KindSwitch:
			args = append(args, "--"+s.Name+"="+s.Values[0])
		default:
			for _, value := range s.Values {
				args = append(args, "--"+s.Name, value)
			}
		}
	}
	return args
}
