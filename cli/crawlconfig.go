package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"crawlnode/api/client"
	"crawlnode/api/plaintext"
	"crawlnode/cli/command"
	flags "crawlnode/cli/remote"
	"crawlnode/config"
	"crawlnode/crawl"
)

// crawlConfVerbs are the verbs about the crawl's settings.
type crawlConfVerbs struct {
	Show crawlConfShowVerb `cmd:"" help:"Show the crawl's settings."`
	Set  crawlConfSetVerb  `cmd:"" help:"Change settings on all nodes while the crawl runs."`
}

// Help gives the examples of the verbs.
func (*crawlConfVerbs) Help() string {
	return command.Examples("crawlnode crawl-config show", "crawlnode crawl-config set delay=2s")
}

// crawlConfShowVerb shows the settings.
type crawlConfShowVerb struct {
	source `embed:""`
	report `embed:""`
}

// Help gives the examples of the verb.
func (*crawlConfShowVerb) Help() string {
	return command.Examples("crawlnode crawl-config show",
		"crawlnode crawl-config show --addr 127.0.0.1:27305 -o json")
}

func (v *crawlConfShowVerb) Run(ctx context.Context, env *Env) int {
	return v.Answer(ctx, env, func(ctx context.Context, c flags.Answers) error {
		r, err := c.CrawlConfig(ctx)
		if err != nil {
			return err
		}
		return writeReport(&v.report, env, r, writeSettings)
	})
}

// crawlConfSetVerb changes some of them.
type crawlConfSetVerb struct {
	remote  `embed:""`
	report  `embed:""`
	Version string   `group:"limits" placeholder:"VERSION" help:"Change nothing unless the settings are still this version."`
	Changes []string `arg:"" name:"KEY=VALUE" sep:"none" help:"Settings as they are called on the command line. A KEY that stands twice makes a list; an empty VALUE empties one."`
}

// Help gives the examples of the verb and says what can be changed.
func (*crawlConfSetVerb) Help() string {
	return command.Examples(
		"crawlnode crawl-config set delay=2s max-pages=100000",
		"crawlnode crawl-config set focus=sql.focus focus-min=0.3",
		"crawlnode crawl-config set 'exclude=*.zip' 'exclude=regex:/calendar/' --addr 127.0.0.1:27305",
		"crawlnode crawl-config set sites=@rules.yaml proxy=socks5://127.0.0.1:1080",
	) + `

Everything of the scope, the politeness, the limits, the revisits and rendering, and
the index, can be changed, at once on all nodes:
` + changeable() + `
The other settings stay as they are.

A longer delay holds from the next request to each host on, a shorter one at once.
What a narrower scope
does not hold any more is refused when its turn comes; what a former one has
refused is found again only with the pages that link to it. A crawl that ended
because of --max-pages or --max-duration goes on when the limit is raised. With
focus=FILE the topic model is read here and sent to the nodes; what is queued
keeps its place. With sites=@FILE the rules for sites are read here: docs/sites.md.`
}

// changeable lists the settings that can be changed, in the order in which show writes them, in
// lines of 80 characters.
func changeable() string {
	text, line := "", ""
	for _, s := range config.ReportedSettings() {
		if !s.Changeable {
			continue
		}
		name := strings.ReplaceAll(s.Name, "_", "-")
		if len(line)+len(name) > 77 {
			text, line = text+line+"\n", ""
		}
		line += name + ", "
	}
	text += line
	return strings.TrimSuffix(strings.ReplaceAll(text, " \n", "\n"), ", ") + "."
}

func (v *crawlConfSetVerb) Run(ctx context.Context, env *Env) int {
	change, err := parseChanges(v.Changes)
	if err != nil {
		return env.Fail(command.ExitUsage, "%v", err)
	}
	change.Version = v.Version
	return v.ask(ctx, env, func(ctx context.Context, c *client.Client) error {
		before, err := c.CrawlConfig(ctx)
		if err != nil {
			return err
		}
		r, err := c.ChangeCrawl(ctx, change)
		if err != nil {
			return err
		}
		for _, line := range lostEntries(before.Settings, r.Settings) {
			env.Fail(0, "%s", line)
		}
		if len(r.Untold) > 0 {
			env.Fail(0, "did not answer and will follow when they can be reached: %s",
				strings.Join(r.Untold, ", "))
		}
		return writeReport(&v.report, env, r, writeSettings)
	})
}

// lostEntries says what lists have lost by a change: what is given takes the place of the whole
// list.
func lostEntries(before, after crawl.SettingsReport) (lines []string) {
	for _, s := range before {
		now := after.List(s.Name)
		gone := slices.DeleteFunc(slices.Clone(before.List(s.Name)), func(e string) bool {
			return slices.Contains(now, e)
		})
		if len(gone) == 0 || len(now) == 0 { // an empty list was meant so
			continue
		}
		name := strings.ReplaceAll(s.Name, "_", "-")
		lines = append(lines, fmt.Sprintf("%s has no longer: %s; what is given replaces the whole list: "+
			"to keep an entry give it too, as in '%s=%s'", name, strings.Join(gone, ", "), name, gone[0]))
	}
	return lines
}

// parseChanges reads KEY=VALUE. What stands once is a text, which the node reads
// as it does on the command line; what stands more often is a list.
func parseChanges(pairs []string) (crawl.CrawlChange, error) {
	texts := map[string][]string{}
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		if key = strings.ReplaceAll(strings.TrimPrefix(key, "--"), "-", "_"); !ok || key == "" {
			return crawl.CrawlChange{}, fmt.Errorf("%q is not KEY=VALUE: write it like delay=2s", pair)
		}
		texts[key] = append(texts[key], value)
	}
	change := crawl.CrawlChange{Settings: map[string]json.RawMessage{}}
	for key, values := range texts {
		if key == "focus" && len(values) == 1 {
			text, err := topicText(values[0])
			if err != nil {
				return crawl.CrawlChange{}, err
			}
			values[0] = text
		}
		if key == "sites" && len(values) == 1 {
			text, err := sitesText(values[0])
			if err != nil {
				return crawl.CrawlChange{}, err
			}
			values[0] = text
		}
		var v any = values
		if len(values) == 1 {
			v = values[0]
		}
		raw, err := json.Marshal(v)
		if err != nil {
			return crawl.CrawlChange{}, fmt.Errorf("%s: %w", key, err)
		}
		change.Settings[key] = raw
	}
	return change, nil
}

// shownTopic is how crawl-config show writes a topic.
var shownTopic = regexp.MustCompile(`^[^/]+ \(sha256 [0-9a-f]{16}\)$`)

// topicText is the topic model of a file as the node takes it. What crawl-config show has written
// stays: it changes nothing.
func topicText(value string) (string, error) {
	if value == "" || shownTopic.MatchString(value) {
		return value, nil
	}
	topic, err := config.TopicFrom(value)
	if err != nil {
		return "", fmt.Errorf("focus: %w", err)
	}
	return topic.Text(), nil
}

// shownSites is how crawl-config show writes rules for sites.
var shownSites = regexp.MustCompile(`^[^ ]+ of rules, [0-9a-f]{16}$`)

// sitesText is the text of a file of rules for sites, @FILE. What crawl-config show has written
// stays.
func sitesText(value string) (string, error) {
	file, ok := strings.CutPrefix(value, "@")
	if !ok {
		if value == "" || strings.Contains(value, "\n") || shownSites.MatchString(value) {
			return value, nil
		}
		return "", fmt.Errorf("sites: %q is no list of rules: sites=@FILE sends those of a file", value)
	}
	text, err := config.SitesFrom(file)
	if err != nil {
		return "", fmt.Errorf("sites: %w", err)
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n" // by which it differs from a path
	}
	return text, nil
}

// writeSettings writes the settings as crawl-config set takes them, each on a line.
func writeSettings(w io.Writer, r crawl.CrawlReport) error {
	out := fmt.Sprintf("# version %s, the crawl is %s\n", plaintext.Escape(r.Version),
		plaintext.Escape(r.State))
	for _, s := range r.Settings {
		name := plaintext.Escape(strings.ReplaceAll(s.Name, "_", "-"))
		switch v := s.Value.(type) {
		case []string:
			if len(v) == 0 {
				out += name + "=\n"
			}
			for _, x := range v {
				out += name + "=" + plaintext.Escape(x) + "\n"
			}
		case nil:
			out += "# " + name + " is 200ms, and 0 inside allow-net\n"
		default:
			out += name + "=" + plaintext.Escape(fmt.Sprint(v)) + "\n"
		}
	}
	_, err := io.WriteString(w, out)
	return err
}
