package cli

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"crawlnode/simweb"
)

// webSize is the shape of a synthetic web.
type webSize struct {
	WebSeed      uint64 `name:"seed" default:"1" help:"Chooses the web."`
	Hosts        int    `default:"200" help:"Hosts."`
	PagesPerHost int    `default:"50" help:"Mean number of pages of a host."`
	Links        int    `default:"40" help:"Links on a page."`
	PageBytes    int    `default:"20000" help:"Bytes of a page."`
}

// webAddresses is the first line that the simweb verb prints.
type webAddresses struct {
	HTTP   string   `json:"http"`
	DNS    string   `json:"dns"`
	Domain string   `json:"domain"`
	Seeds  []string `json:"seeds"`
}

// simwebVerb serves a synthetic web until its standard input ends. It prints
// its addresses as one JSON line, and at the end the judge's report as another.
type simwebVerb struct {
	webSize `embed:""`
	Listen  string        `default:"127.0.0.1:0" placeholder:"ADDR" help:"HTTP address, on loopback or in 198.18.0.0/15."`
	DNSPort uint16        `name:"dns-port" placeholder:"PORT" help:"Of the name server at the same address (default: any)."`
	Delay   time.Duration `placeholder:"DURATION" help:"The gap that the crawler promised; the report counts smaller ones."`
}

// Help gives the examples of the verb.
func (*simwebVerb) Help() string {
	return examples("crawlnode simweb --hosts 20 < /dev/tty", "sleep 60 | crawlnode simweb --pages-per-host 100")
}

func (v *simwebVerb) run(ctx context.Context, env *Env) int {
	ctx, cancel := env.untilSignal(ctx)
	defer cancel()
	web, err := simweb.New(simweb.Config{Seed: v.WebSeed, Hosts: v.Hosts, PagesPerHost: v.PagesPerHost, LinksPerPage: v.Links, PageBytes: v.PageBytes,
		DNSPort: int(v.DNSPort), Delay: v.Delay})
	if err != nil {
		return env.fail(exitUsage, "%v", err)
	}
	server, err := web.Listen(v.Listen)
	if err != nil {
		return env.fail(exitError, "%v", err)
	}
	out := json.NewEncoder(env.Stdout)
	_ = out.Encode(webAddresses{server.HTTP.String(), server.DNS.String(), web.Domain(), web.Seeds()}) // the reader tells by its absence
	go func() {                                                                                        // ends with standard input, or with the process
		_, _ = io.Copy(io.Discard, env.Stdin)
		cancel()
	}()
	if err := server.Run(ctx); err != nil {
		return env.fail(exitError, "%v", err)
	}
	_ = out.Encode(web.Report())
	return exitOK
}
