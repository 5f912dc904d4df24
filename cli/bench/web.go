package bench

import (
	"context"
	"encoding/json"
	"io"
	"strconv"
	"time"

	"crawlnode/cli/command"
	"crawlnode/simweb"
)

// webSize is the shape of a synthetic web.
type webSize struct {
	WebSeed      uint64 `name:"seed" default:"1" help:"Chooses the web."`
	Hosts        int    `default:"200" help:"Hosts."`
	PagesPerHost int    `default:"50" help:"Mean number of pages of a host."`
	Even         bool   `help:"All hosts are of one size, not by a power law."`
	Links        int    `default:"40" help:"Links on a page."`
	PageBytes    int    `default:"20000" help:"Bytes of a page."`
}

// webWire is how a synthetic web is reached.
type webWire struct {
	Addrs        int           `default:"1" help:"Addresses that the hosts share."`
	Latency      time.Duration `default:"0s" help:"What every answer takes at least."`
	TLS          bool          `name:"tls" help:"https only, and HTTP/2 where the client offers it."`
	HTTP1        bool          `name:"http1" help:"With --tls: no HTTP/2."`
	Agent        string        `default:"crawlnode" help:"The product token that robots.txt lets in where others are kept out; *: nobody is."`
	ConnRequests int           `default:"0" help:"Requests after which the server closes a connection; 0: it keeps them."`
}

// webAddresses is the first line that the simweb verb prints.
type webAddresses struct {
	HTTP      string   `json:"http"`
	DNS       string   `json:"dns"`
	Domain    string   `json:"domain"`
	Authority string   `json:"authority,omitempty"` // the certificate to trust, in PEM
	Seeds     []string `json:"seeds"`
}

// WebVerb serves a synthetic web until its standard input ends. It prints
// its addresses as one JSON line, and at the end the judge's report as another.
type WebVerb struct {
	webSize `embed:""`
	webWire `embed:""`
	Listen  string        `default:"127.0.0.1:0" placeholder:"ADDR" help:"HTTP address, on loopback or in 198.18.0.0/15."`
	DNSPort uint16        `name:"dns-port" placeholder:"PORT" help:"Of the name server at the same address (default: any)."`
	Delay   time.Duration `placeholder:"DURATION" help:"The gap that the crawler promised; the report counts smaller ones."`
}

// Help gives the examples of the verb.
func (*WebVerb) Help() string {
	return command.Examples("crawlnode simweb --hosts 20 < /dev/tty", "sleep 60 | crawlnode simweb --pages-per-host 100 --tls --conn-requests 5")
}

// Run serves the web.
func (v *WebVerb) Run(ctx context.Context, env *command.Env) int {
	ctx, cancel := env.UntilSignal(ctx)
	defer cancel()
	web, err := simweb.New(v.config())
	if err != nil {
		return env.Fail(command.ExitUsage, "%v", err)
	}
	server, err := web.Listen(v.Listen)
	if err != nil {
		return env.Fail(command.ExitError, "%v", err)
	}
	out := json.NewEncoder(env.Stdout)
	_ = out.Encode(webAddresses{server.HTTP.String(), server.DNS.String(), web.Domain(), string(server.Authority), web.Seeds()}) // the reader tells by its absence
	go func() {                                                                                                                  // ends with standard input, or with the process
		_, _ = io.Copy(io.Discard, env.Stdin)
		cancel()
	}()
	if err := server.Run(ctx); err != nil {
		return env.Fail(command.ExitError, "%v", err)
	}
	_ = out.Encode(web.Report())
	return command.ExitOK
}

// config is the web that the flags describe.
func (v *WebVerb) config() simweb.Config {
	c := simweb.Config{
		Seed: v.WebSeed, Hosts: v.Hosts, PagesPerHost: v.PagesPerHost, LinksPerPage: v.Links, PageBytes: v.PageBytes,
		Addrs: v.Addrs, Latency: v.Latency, TLS: v.TLS, HTTP1: v.HTTP1, ConnRequests: v.ConnRequests, Agent: v.Agent,
		DNSPort: int(v.DNSPort), Delay: v.Delay,
	}
	if v.Even {
		c.Skew = -1
	}
	return c
}

// args are the flags that make the simweb verb serve this web.
func (s *webSize) args() []string {
	return []string{
		"--seed", strconv.FormatUint(s.WebSeed, 10), "--hosts", strconv.Itoa(s.Hosts), "--pages-per-host", strconv.Itoa(s.PagesPerHost),
		"--links", strconv.Itoa(s.Links), "--page-bytes", strconv.Itoa(s.PageBytes), "--even=" + strconv.FormatBool(s.Even),
	}
}

func (w *webWire) args() []string {
	return []string{
		"--addrs", strconv.Itoa(w.Addrs), "--latency", w.Latency.String(), "--tls=" + strconv.FormatBool(w.TLS),
		"--agent", w.Agent, "--http1=" + strconv.FormatBool(w.HTTP1), "--conn-requests", strconv.Itoa(w.ConnRequests),
	}
}
