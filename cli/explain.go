package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"crawlnode/api/client"
	"crawlnode/api/plaintext"
	"crawlnode/cli/command"
	flags "crawlnode/cli/remote"
	"crawlnode/cli/seedlist"
	"crawlnode/config"
	"crawlnode/crawl"
	"crawlnode/node"
)

// report is how a verb writes what it was told.
type report struct {
	Output string `short:"o" group:"output" enum:"text,json" default:"text" placeholder:"text|json" help:"text or json."`
}

// writeReport writes v as JSON, or as text by the given function.
func writeReport[T any](o *report, env *Env, v T, text func(io.Writer, T) error) error {
	if o.Output == "json" {
		enc := json.NewEncoder(env.Stdout)
		enc.SetIndent("", "  ")
		return enc.Encode(v)
	}
	return text(env.Stdout, v)
}

// urlsVerbs are the verbs about URLs.
type urlsVerbs struct {
	Why     urlsWhyVerb     `cmd:"" help:"Tell why a URL is, or is not, crawled."`
	List    urlsListVerb    `cmd:"" help:"List the stored URLs, by state, host, pattern or status."`
	Recrawl urlsRecrawlVerb `cmd:"" help:"Fetch known URLs again now: some, those of a host, or those of a pattern."`
}

// Help gives the examples of the verbs.
func (*urlsVerbs) Help() string {
	return command.Examples("crawlnode urls why https://docs.example.org/guide/",
		"crawlnode urls list --state failed", "crawlnode urls recrawl --host docs.example.org")
}

// urlsWhyVerb explains one URL.
type urlsWhyVerb struct {
	source `embed:""`
	report `embed:""`
	URL    string `arg:"" name:"url" help:"The URL, in any spelling."`
}

// Help gives the examples of the verb and says what it tells.
func (*urlsWhyVerb) Help() string {
	return command.Examples("crawlnode urls why https://docs.example.org/guide/",
		"crawlnode urls why http://example.org/?a=1 --data-dir crawlnode-data/n1 -o json") + `

It tells the canonical form, whose partition the host is in, what the scope and
robots.txt say and by which rule, how far the URL has come, and where its capture
stands; when it was visited, what had changed then, and when it is visited again.
Any node answers; it asks the holder of the partition.`
}

func (v *urlsWhyVerb) Run(ctx context.Context, env *Env) int {
	return v.Answer(ctx, env, func(ctx context.Context, c flags.Answers) error {
		r, err := c.DescribeURL(ctx, v.URL, -1)
		if err != nil {
			return err
		}
		return writeReport(&v.report, env, r, plaintext.WriteURL)
	})
}

// hostsVerbs are the verbs about hosts.
type hostsVerbs struct {
	Show hostsShowVerb `cmd:"" help:"Show what a host's queue and politeness look like."`
}

// Help gives the examples of the verbs.
func (*hostsVerbs) Help() string { return (*hostsShowVerb)(nil).Help() }

// hostsShowVerb describes one host.
type hostsShowVerb struct {
	source `embed:""`
	report `embed:""`
	Host   string `arg:"" name:"host" help:"Host name or IP address, without scheme and port."`
}

// Help gives the examples of the verb.
func (*hostsShowVerb) Help() string {
	return command.Examples("crawlnode hosts show docs.example.org",
		"crawlnode hosts show docs.example.org --data-dir crawlnode-data/n1 -o json") + `

It tells when the host may be asked next and why not before, what is queued, and
what is kept of its robots.txt.`
}

func (v *hostsShowVerb) Run(ctx context.Context, env *Env) int {
	return v.Answer(ctx, env, func(ctx context.Context, c flags.Answers) error {
		r, err := c.DescribeHost(ctx, v.Host)
		if err != nil {
			return err
		}
		return writeReport(&v.report, env, r, plaintext.WriteHost)
	})
}

// scopeVerbs are the verbs about the scope.
type scopeVerbs struct {
	Test scopeTestVerb `cmd:"" help:"Tell whether a URL belongs to the crawl, and by which rule."`
}

// Help gives the examples of the verbs.
func (*scopeVerbs) Help() string { return (*scopeTestVerb)(nil).Help() }

// scopeTestVerb judges one URL by the running cluster's rules or by flags.
type scopeTestVerb struct {
	command.Layered `embed:""`
	source          `embed:""`
	report          `embed:""`
	URL             string       `arg:"" name:"url" help:"The URL, in any spelling."`
	Depth           int          `group:"scope" placeholder:"N" default:"-1" help:"Links from a seed at which it is judged (default: as the cluster found it; 0 for a seed, else 1)."`
	Scope           config.Scope `embed:""`
	MaxDepth        int          `name:"max-depth" group:"limits" placeholder:"N" default:"0" help:"Links followed from a seed; 0: no limit."`
}

// Help gives the examples of the verb and says whose rules count.
func (*scopeTestVerb) Help() string {
	return command.Examples(
		"crawlnode scope test https://docs.example.org/guide/",
		"crawlnode scope test https://docs.example.org/a.zip --seed https://docs.example.org/ "+
			"--exclude '*.zip'",
	) + `

Without a flag of the scope the rules are those of the running cluster, or of the
crawl in --data-dir. With
--seed, --scope, --include, --exclude, --exclude-file, --max-depth or --config
they are those of the flags, and no node is asked: so a rule can be tried out
before a crawl.`
}

// ownRules are the flags that make a scope of their own.
var ownRules = []string{"seed", "seeds", "scope", "include", "exclude", "exclude-file", "max-depth",
	"config"}

func (v *scopeTestVerb) Run(ctx context.Context, env *Env) int {
	for _, flag := range ownRules {
		if v.Given[flag] {
			return v.judge(env)
		}
	}
	return v.Answer(ctx, env, func(ctx context.Context, c flags.Answers) error {
		r, err := c.ExplainURL(ctx, v.URL, v.Depth)
		if errors.Is(err, client.ErrUnreachable) {
			return fmt.Errorf("%w; or name the rules by flags, beginning with --seed", err)
		}
		if err != nil {
			return err
		}
		return writeReport(&v.report, env, r, plaintext.WriteScope)
	})
}

// judge judges by the flags alone.
func (v *scopeTestVerb) judge(env *Env) int {
	// The seeds of the command line are only judged by; to load them would ask
	// for all that a crawl needs, a contact among it.
	flags := v.Scope
	flags.Seeds, flags.SeedFiles = nil, nil
	delete(v.Given, "seed")
	delete(v.Given, "seeds")
	cfg, err := v.Load(env, config.Config{Groups: config.Groups{
		Scope: flags, Limits: config.Limits{MaxDepth: v.MaxDepth}}})
	if err != nil {
		return env.Fail(command.ExitUsage, "%v", err)
	}
	inputs, err := seedlist.Read(env, append(v.Scope.Seeds, cfg.Seeds...),
		append(v.Scope.SeedFiles, cfg.SeedFiles...))
	if err != nil {
		return env.Fail(command.ExitUsage, "--seeds: %v", err)
	}
	if len(inputs) == 0 && cfg.Mode != "any" {
		return env.Fail(command.ExitUsage,
			"--scope %s is relative to the seeds: name one with --seed URL, or say --scope any", cfg.Mode)
	}
	seeds := make([]string, len(inputs))
	for i, s := range inputs {
		seeds[i] = s.URL
	}
	var r *crawl.URLReport
	if r, err = node.JudgeScope(cfg.Settings(env.Version), seeds, v.URL, v.Depth); err != nil {
		return env.Fail(exitCode(err), "%v", err)
	}
	if err := writeReport(&v.report, env, r, plaintext.WriteScope); err != nil {
		return env.Fail(command.ExitError, "%v", err)
	}
	return command.ExitOK
}
