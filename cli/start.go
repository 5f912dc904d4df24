package cli

import (
	"context"
	"slices"
	"time"

	"crawlnode/config"
	"crawlnode/node"
)

// startVerb runs a node.
type startVerb struct {
	allSettings `embed:""`
	profiling   `embed:""`
	measuring   `embed:""`
}

// Help gives the examples of the verb.
func (*startVerb) Help() string {
	return examples(
		"crawlnode --name n1",
		"crawlnode --name n2 --join 127.0.0.1:27296 --contact me@example.org --seed https://docs.example.org/",
	) + "\n\nEvery flag is also an environment variable, CRAWLNODE_<FLAG>, and a line of the file of --config."
}

func (v *startVerb) run(ctx context.Context, env *Env) int {
	cfg, err := v.load(env, v.flags())
	if err != nil {
		return env.fail(exitUsage, "%v", err)
	}
	seeds, err := readSeedsUnless(env.Signals, env, cfg.Seeds, cfg.SeedFiles)
	if err != nil {
		return env.fail(seedsCode(err), "--seeds: %v", err)
	}
	s := &session{env: env, cfg: cfg, seeds: seeds, carried: v.carried(env), reload: func() (config.Config, error) { return v.load(env, v.flags()) }, given: config.Given(v.input(env, v.flags())), bare: v.Bare}
	s.onOpen = s.banner
	var watch *crawlWatch
	if cfg.ExitWhenDone {
		watch = &crawlWatch{env: env, started: time.Now()}
		s.onOpen = func(info node.Info) { s.banner(info); watch.info = info }
		s.beside = watch.run
	}
	stopProfile, err := v.profiling.start()
	if err != nil {
		return env.fail(exitError, "%v", err)
	}
	code := s.run(ctx)
	if err := stopProfile(); err != nil {
		env.fail(exitError, "--profile: %v", err) // the node's own end is what counts
	}
	if watch != nil && s.finished != "" {
		watch.summary(code, s.finished)
	}
	return code
}

// ownSettings are those that two nodes on one machine cannot share, or that say
// what to do once.
var ownSettings = []string{"name", "data-dir", "http", "gossip", "rpc", "advertise", "join", "seed", "seeds", "exit-when-done"}

// carried are the arguments of this command line that another node of the cluster
// is started with too. What the environment says is there for it as well.
func (v *startVerb) carried(env *Env) []string {
	var args []string
	if v.ConfigFile != "" {
		args = append(args, "--config", v.ConfigFile)
	}
	settings, _ := config.Explain(v.input(env, v.flags())) // what is wrong was told
	for _, s := range settings {
		beyond := (s.Name == "http" || s.Name == "gossip" || s.Name == "rpc") && len(s.Values) == 1 && !config.IsLoopback(s.Values[0])
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
