package cli

import (
	"context"
	"net/url"
	"path/filepath"
	"time"

	"crawlnode/cli/command"
	"crawlnode/cli/pagefiles"
	"crawlnode/cli/seedlist"
	"crawlnode/cli/seedwatch"
	"crawlnode/config"
	"crawlnode/crawl"
)

// crawlVerb runs one node until its crawl has ended.
type crawlVerb struct {
	command.Layered `embed:""`
	URLs            []string          `arg:"" optional:"" name:"url" help:"Where to begin; a host name without a scheme means https."`
	Node            config.Node       `embed:""`
	Scope           config.Scope      `embed:""`
	Politeness      config.Politeness `embed:""`
	Output          config.Output     `embed:""`
	Limits          config.Limits     `embed:""`
	Rendering       config.Rendering  `embed:""`
	Files           string            `name:"output" group:"output" placeholder:"DIR" help:"When the crawl has ended, also write the pages as files to this folder, with relative links and a manifest."`
	Summary         string            `short:"o" group:"output" enum:"text,json" default:"text" placeholder:"text|json" help:"How the result is written when the crawl has ended: text or json."`
	Again           bool              `group:"scope" help:"Fetch the seeds once more that an earlier run has fetched, and follow what is new there."`
}

// Help gives the examples of the verb.
func (*crawlVerb) Help() string {
	return command.Examples(
		"crawlnode crawl https://docs.example.org/ --contact me@example.org --max-pages 500",
		"crawlnode crawl https://docs.example.org/ --contact me@example.org --output site --assets",
	) + "\n\nWithout --data-dir the pages lie under crawlnode-data/crawl-<first host>. " +
		"The same command goes on where the last one was stopped;" +
		"\nother flags take effect then, and a line says which. A crawl that has ended says so: " +
		"--again fetches its seeds once more." +
		"\nIt makes one pass and ends: --recrawl is a flag of crawlnode start." +
		"\nWith --output DIR the pages are written as files too, when the crawl has ended " +
		"or was interrupted; crawlnode export files does it later." +
		"\nWhen no seed can be fetched it says why and stops within 20 seconds, with exit code 1." +
		"\nWhen an object store (--upload) has not got all files at the end, " +
		"it says why and ends with exit code 1; the files stay on the disk." +
		"\nWhen the disk stays nearly full for a minute it stops, with exit code 6; " +
		"with space there again the same command goes on."
}

func (v *crawlVerb) Run(ctx context.Context, env *Env) int {
	result := env.Stdout
	if v.Summary == "json" { // then nothing else stands there
		aside := *env
		aside.Stdout = env.Stderr
		env = &aside
	}
	flags := config.Config{Groups: config.Groups{Node: v.Node, Scope: v.Scope,
		Politeness: v.Politeness, Output: v.Output, Limits: v.Limits, Rendering: v.Rendering}}
	flags.ExitWhenDone = true
	flags.Recrawl = crawl.RecrawlOff // one pass, whatever the environment says
	flags.Seeds = append(flags.Seeds, v.URLs...)
	if len(flags.Seeds)+len(flags.SeedFiles) == 0 {
		return env.Fail(command.ExitUsage, "no URL was given: crawlnode crawl https://example.org/ "+
			"--contact me@example.org, or --seeds FILE with one a line")
	}
	forced := []string{"exit-when-done", "seed", "recrawl"}
	if flags.Name == "" {
		flags.Name = v.name()
		forced = append(forced, "name")
	}
	in := v.Input(env, flags, forced...)
	load := func() (config.Config, error) {
		in.Default = func(c *config.Config) { c.LogLevel = "warn" } // the progress line says the rest
		return config.Load(in)
	}
	cfg, err := load()
	if err != nil {
		return env.Fail(command.ExitUsage, "%v", err)
	}
	seeds, err := seedlist.ReadUnless(env.Signals, env, cfg.Seeds, cfg.SeedFiles)
	if err != nil {
		return env.Fail(seedlist.ExitCode(err), "--seeds: %v", err)
	}
	seedlist.GuessSchemes(seeds)
	if seeds = seedlist.Valid(env, seeds); len(seeds) == 0 { // before anything is made on disk
		return env.Fail(command.ExitUsage,
			"no seed can be crawled: give URLs such as https://example.org/")
	}
	var files *pagefiles.Output
	if v.Files != "" {
		if cfg.Store != "warc" {
			return env.Fail(command.ExitUsage,
				"--output: needs what --store warc keeps: the files are made of it")
		}
		var code int
		if files, code = pagefiles.Open(env, v.Files, cfg.DataDirFor(cfg.Name)); code != command.ExitOK {
			return code
		}
		defer files.Close()
		files.Limit(int64(cfg.MaxBody))
	}
	line := command.NewProgress(env.Stderr)
	around := *env
	around.Stderr = line // what is logged stands above the line
	watch := &crawlWatch{env: &around, line: line, started: time.Now(), batch: true}
	watch.seeds = seedwatch.New(seeds, watch.started)
	s := &session{
		env:           &around,
		cfg:           cfg,
		seeds:         seeds,
		mustFinish:    true,
		beside:        watch.run,
		onOpen:        watch.open,
		reload:        load,
		given:         config.Given(in),
		resetFailures: true,
	}
	watch.leaving = s.isLeaving
	s.adopt = s.tellChanges
	if v.Again {
		s.seeds = onceMore(seeds)
	} else {
		s.isOver = s.wasOver
	}
	code := watch.exitCode(s.run(ctx), s.finished)
	code = watch.countLost(ctx, code, s.finished, seeds)
	watch.findBroken(ctx)
	if v.Summary == "json" && watch.last != nil {
		if err := watch.writeJSON(result, s.finished); err != nil && code == command.ExitOK {
			code = env.Fail(command.ExitError, "the result cannot be written: %v", err)
		}
	} else {
		watch.summary(code, s.finished)
	}
	dir := watch.info.DataDir
	return s.uploaded(files.AfterCrawl(ctx, code, dir, commandLine(ownCommand(env.Executable),
		"export", "files", "--data-dir", dir, "--output", v.Files)))
}

// name names the node after the first site, or after the list of sites.
func (v *crawlVerb) name() string {
	switch {
	case len(v.URLs) > 0:
		return crawlName(v.URLs[0])
	case len(v.Scope.Seeds) > 0:
		return crawlName(v.Scope.Seeds[0])
	}
	file := filepath.Base(v.Scope.SeedFiles[0])
	if file == "-" {
		file = "list"
	}
	return config.NameFrom("crawl-" + file)
}

// crawlName names the node after the first site.
func crawlName(first string) string {
	host := "site"
	if seedlist.LacksScheme(first) {
		first = "https://" + first
	}
	if u, err := url.Parse(first); err == nil && u.Hostname() != "" {
		host = u.Hostname()
	}
	return config.NameFrom("crawl-" + host)
}
