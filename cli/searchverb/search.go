package searchverb

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"crawlnode/api/client"
	"crawlnode/api/plaintext"
	"crawlnode/cli/command"
	"crawlnode/cli/remote"
	"crawlnode/crawl"
	"crawlnode/local/datadir"
)

// Verb asks for pages.
type Verb struct {
	remote.Flags `embed:""`
	Number       int      `name:"number" short:"n" group:"limits" default:"10" placeholder:"N" help:"Results, 1 to 100."`
	Page         int      `group:"limits" default:"1" placeholder:"N" help:"Page of results, from 1."`
	Output       string   `short:"o" group:"output" enum:"text,json" default:"text" placeholder:"text|json" help:"text or json."`
	DataDir      string   `name:"data-dir" group:"output" placeholder:"DIR" help:"Ask the index in this folder, made by crawlnode index or by a node, which need not run."`
	Words        []string `arg:"" name:"words" help:"What to search for."`
}

// Help gives the examples of the verb and says how to ask.
func (*Verb) Help() string {
	return command.Examples("crawlnode search badger compaction",
		`crawlnode search '"value log" host:docs.example.org' -n 20 -o json`) + `

Any node answers for all. The crawl needs --index on. Words must all occur;
"a phrase" as it stands, -word not. title: host: site: lang: filetype: before:
and after: narrow the search, prefix* finds all words that begin so. Put -- in
front of words that begin with a minus. The last line says when the answer does
not cover the whole index.`
}

// Run asks.
func (v *Verb) Run(ctx context.Context, env *command.Env) int {
	q := crawl.SearchQuery{Query: strings.Join(v.Words, " "), Page: v.Page, Size: v.Number}
	switch {
	case strings.TrimSpace(q.Query) == "":
		return env.Fail(command.ExitUsage, "search: give words to search for")
	case v.Number < 1 || v.Number > crawl.MaxSearchSize:
		return env.Fail(command.ExitUsage, "-n: %d must be from 1 to %d", v.Number, crawl.MaxSearchSize)
	case v.Page < 1:
		return env.Fail(command.ExitUsage, "--page: %d must be 1 or more", v.Page)
	}
	if v.DataDir != "" {
		report, err := Offline(ctx, v.DataDir, q)
		if addr, ok, unknown := remote.Running(err, []string{v.DataDir}); ok {
			if unknown != nil || v.Addr != "" {
				return env.Fail(command.ExitUsage, "--data-dir: %v", cmp.Or(unknown, err))
			}
			env.Fail(0, "a node runs on %s: it is asked, at %s", v.DataDir, addr)
			v.Addr = addr
			return v.ask(ctx, env, q)
		}
		if err == nil {
			err = v.show(env, report)
		}
		switch {
		case errors.Is(err, datadir.ErrUsage):
			return env.Fail(command.ExitUsage, "--data-dir: %v", err)
		case err != nil:
			return env.Fail(command.ExitStorage, "%v", err)
		}
		return command.ExitOK
	}
	return v.ask(ctx, env, q)
}

func (v *Verb) ask(ctx context.Context, env *command.Env, q crawl.SearchQuery) int {
	return v.Ask(ctx, env, func(ctx context.Context, c *client.Client) error {
		report, err := c.Search(ctx, q)
		if err != nil {
			return remote.OrDataDir(err)
		}
		return v.show(env, report)
	})
}

func (v *Verb) show(env *command.Env, r *crawl.SearchReport) error {
	if v.Output != "json" {
		return write(env.Stdout, r, (v.Page-1)*v.Number)
	}
	enc := json.NewEncoder(env.Stdout)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}

// write writes results for people; before is the number of results on earlier pages.
func write(w io.Writer, r *crawl.SearchReport, before int) error {
	var b strings.Builder
	for i := range r.Results {
		h := &r.Results[i]
		fmt.Fprintf(&b, "%d. %s\n   %s\n", before+i+1, plaintext.Escape(h.Title),
			plaintext.Escape(h.Link))
		if h.Snippet != "" {
			fmt.Fprintf(&b, "   %s\n", plaintext.Escape(strings.Join(strings.Fields(h.Snippet), " ")))
		}
		for _, u := range h.AlsoAt {
			fmt.Fprintf(&b, "   also at %s\n", plaintext.Escape(u))
		}
	}
	if r.DidYouMean != nil {
		fmt.Fprintf(&b, "did you mean: %s\n", plaintext.Escape(*r.DidYouMean))
	}
	about := ""
	if !r.TotalExact {
		about = "more than "
	}
	fmt.Fprintf(&b, "%s%d found in %.3f s", about, r.Total, r.Seconds)
	if r.Coverage < 0.9995 {
		fmt.Fprintf(&b, "; the answer covers %.1f %% of the index", 100*r.Coverage)
	}
	b.WriteString("\n")
	_, err := io.WriteString(w, b.String())
	return err
}
