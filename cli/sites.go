package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"crawlnode/api/client"
	"crawlnode/api/plaintext"
	"crawlnode/cli/command"
	flags "crawlnode/cli/remote"
	"crawlnode/config"
	"crawlnode/crawl"
)

// sitesVerbs are the verbs about the rules for sites: they show, replace, edit and test the YAML
// text that crawlnode crawl-config knows as the setting sites. The rules themselves are judged by
// package config, here or in the node that is asked.
type sitesVerbs struct {
	Show sitesShowVerb `cmd:"" help:"Print the rules for sites, as YAML."`
	Set  sitesSetVerb  `cmd:"" help:"Replace the rules for sites on all nodes by those of a file."`
	Test sitesTestVerb `cmd:"" help:"Tell which rules for sites apply to a URL, and what follows."`
	Edit sitesEditVerb `cmd:"" help:"Edit the rules for sites in an editor, and set them if they were changed."`
}

// Help gives the examples of the verbs.
func (*sitesVerbs) Help() string {
	return command.Examples("crawlnode sites set rules.yaml",
		"crawlnode sites test https://docs.example.org/guide/") + `

The rules give some hosts, domains or URLs another delay, header, log-in, proxy,
depth and more than the rest of the crawl: docs/sites.md.`
}

// sitesShowVerb prints the rules.
type sitesShowVerb struct {
	source `embed:""`
}

// Help gives the examples of the verb.
func (*sitesShowVerb) Help() string {
	return command.Examples("crawlnode sites show > rules.yaml",
		"crawlnode sites show --data-dir crawlnode-data/n1")
}

// Run prints the rules.
func (v *sitesShowVerb) Run(ctx context.Context, env *Env) int {
	return v.Answer(ctx, env, func(ctx context.Context, c flags.Answers) error {
		text, err := c.Sites(ctx)
		if err != nil {
			return err
		}
		if text == "" {
			env.Fail(0, "there are no rules for sites")
		}
		_, err = io.WriteString(env.Stdout, text)
		return err
	})
}

// sitesSetVerb replaces the rules.
type sitesSetVerb struct {
	remote `embed:""`
	File   string `arg:"" placeholder:"FILE" help:"YAML file of rules; - is stdin. An empty one takes all rules away."`
}

// Help gives the examples of the verb and says what happens.
func (*sitesSetVerb) Help() string {
	return command.Examples("crawlnode sites set rules.yaml",
		"crawlnode sites set - --addr 127.0.0.1:27305 < rules.yaml") + `

The rules hold on all nodes at once, for each request from then on; the node that is
asked reads them first. A file with a mistake changes nothing: each mistake is told
with its line, and the exit code is 2.`
}

// Run sends the file.
func (v *sitesSetVerb) Run(ctx context.Context, env *Env) int {
	text, err := readSites(env, v.File)
	if err != nil {
		return env.Fail(command.ExitUsage, "%v", err)
	}
	return v.ask(ctx, env, func(ctx context.Context, c *client.Client) error {
		return setSites(ctx, env, c, text, "")
	})
}

// setSites sets rules and says so. With a tag nothing is changed unless the rules are still those.
func setSites(ctx context.Context, env *Env, c *client.Client, text, tag string) error {
	report, err := c.SetSites(ctx, text, tag)
	if err != nil {
		return plainSitesError(err)
	}
	if len(report.Untold) > 0 {
		env.Fail(0, "did not answer and will follow when they can be reached: %s",
			strings.Join(report.Untold, ", "))
	}
	if text == "" {
		_, err = fmt.Fprintln(env.Stdout, "there are no rules for sites any more, on all nodes")
		return err
	}
	_, err = fmt.Fprintf(env.Stdout, "the rules for sites hold on all nodes: %s\n",
		config.SitesName(text))
	return err
}

// plainSitesError leaves out the name of the setting before each mistake of a file: there is no
// other.
func plainSitesError(err error) error {
	failed := (*client.Error)(nil)
	if !errors.As(err, &failed) {
		return err
	}
	shorter := *failed
	shorter.Detail = strings.ReplaceAll(failed.Detail, "\nsites: line ", "\nline ")
	return &shorter
}

// readSites reads a file of rules, or stdin.
func readSites(env *Env, file string) (string, error) {
	if file != "-" {
		return config.SitesFrom(file)
	}
	text, err := io.ReadAll(io.LimitReader(env.Stdin, crawl.MaxSitesBytes+1))
	if err != nil {
		return "", fmt.Errorf("reading stdin: %w", err)
	}
	return string(text), nil
}

// sitesTestVerb tells what holds for a URL.
type sitesTestVerb struct {
	source `embed:""`
	File   string `group:"politeness" placeholder:"FILE" help:"Test the rules of this file in place of those that are set, which stay; - is stdin."`
	All    bool   `group:"output" help:"Show the values that no rule gives, too."`
	report `embed:""`
	URL    string `arg:"" name:"url" help:"The URL, in any spelling."`
}

// Help gives the examples of the verb and says whose rules count.
func (*sitesTestVerb) Help() string {
	return command.Examples("crawlnode sites test https://docs.example.org/guide/",
		"crawlnode sites test https://docs.example.org/guide/ --file rules.yaml --all") + `

It prints the rules that apply, in their order, and each value with the line that it
comes from. Any node answers. With --file the rules are tried beside the settings of
the crawl; when no node answers at the default address, beside the default settings.
Nothing is changed.`
}

// Run asks, or judges by itself.
func (v *sitesTestVerb) Run(ctx context.Context, env *Env) int {
	var text *string
	if v.File != "" {
		t, err := readSites(env, v.File)
		if err != nil {
			return env.Fail(command.ExitUsage, "--file: %v", err)
		}
		text = &t
	}
	return v.Answer(ctx, env, func(ctx context.Context, c flags.Answers) error {
		r, err := c.TestSites(ctx, v.URL, text)
		_, named := env.Lookup("CRAWLNODE_ADDR")
		named = named || v.Addr != ""
		if errors.Is(err, client.ErrUnreachable) && text != nil && !named {
			env.Fail(0, "no node answers: the rules are tried beside the default settings")
			return v.alone(env, *text)
		}
		if err != nil {
			return plainSitesError(err)
		}
		return v.write(env, r)
	})
}

// alone judges beside the default settings.
func (v *sitesTestVerb) alone(env *Env, text string) error {
	c := config.Default()
	settings := c.Settings(env.Version)
	r, err := config.SiteByText(&settings, text, v.URL)
	if err != nil {
		return err
	}
	return v.write(env, r)
}

func (v *sitesTestVerb) write(env *Env, r crawl.SiteReport) error {
	return writeReport(&v.report, env, r, func(out io.Writer, r crawl.SiteReport) error {
		return plaintext.WriteSite(out, &r, v.All)
	})
}
