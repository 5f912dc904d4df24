package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strconv"
	"time"

	"crawlnode/cli/command"
	"crawlnode/simweb"
)

// webSize is the shape of a synthetic web.
type webSize struct {
	WebSeed      uint64  `name:"seed" group:"scope" placeholder:"N" default:"1" help:"Chooses the web."`
	Hosts        int     `group:"scope" placeholder:"N" default:"200" help:"Hosts."`
	PagesPerHost int     `group:"scope" placeholder:"N" default:"50" help:"Mean number of pages of a host."`
	Even         bool    `group:"scope" help:"All hosts are of one size, not by a power law."`
	Links        int     `group:"scope" placeholder:"N" default:"40" help:"Links on a page."`
	PageBytes    int     `group:"scope" placeholder:"N" default:"20000" help:"Bytes of a page."`
	SizeSpread   float64 `group:"scope" placeholder:"N" default:"0" help:"Deviation of the logarithm of the pages' sizes, whose median is then --page-bytes; 0: all are of one size."`
	NaturalText  bool    `group:"scope" help:"Words are as frequent as those of a language, so that pages compress as texts do."`
	Gzip         int     `group:"scope" placeholder:"N" default:"0" help:"Pages in a thousand that are sent compressed to clients that accept it."`
}

// webWire is how a synthetic web is reached.
type webWire struct {
	Addrs        int           `group:"node" placeholder:"N" default:"1" help:"Addresses that the hosts share."`
	Latency      time.Duration `group:"node" placeholder:"DURATION" default:"0s" help:"What every answer takes at least."`
	TLS          bool          `name:"tls" group:"node" help:"https only, and HTTP/2 where the client offers it."`
	HTTP1        bool          `name:"http1" group:"node" help:"With --tls: no HTTP/2."`
	Agent        string        `group:"politeness" placeholder:"NAME" default:"crawlnode" help:"The product token that robots.txt lets in where others are kept out; *: nobody is."`
	ConnRequests int           `group:"node" placeholder:"N" default:"0" help:"Requests after which the server closes a connection; 0: it keeps them."`
}

// webAddresses is the first line that the simweb verb prints.
type webAddresses struct {
	HTTP      string   `json:"http"`
	DNS       string   `json:"dns"`
	Domain    string   `json:"domain"`
	Authority string   `json:"authority,omitempty"` // the certificate to trust, in PEM
	Seeds     []string `json:"seeds"`
}

// WebVerb serves a synthetic web. To a program it prints its addresses as one JSON line,
// and at the end the judge's report as another; to a person it says how to crawl it.
type WebVerb struct {
	webSize `embed:""`
	webWire `embed:""`
	Listen  string        `group:"node" default:"127.0.0.1:0" placeholder:"ADDR" help:"HTTP address, on loopback or in 198.18.0.0/15."`
	DNSPort uint16        `name:"dns-port" group:"node" placeholder:"PORT" help:"Of the name server at the same address (default: any)."`
	Delay   time.Duration `group:"politeness" placeholder:"DURATION" help:"The gap that the crawler promised; the report counts smaller ones."`
}

// Help gives the examples of the verb.
func (*WebVerb) Help() string {
	return command.Examples("crawlnode simweb --listen 127.0.0.1:8080 --dns-port 8053 --hosts 20",
		"sleep 60 | crawlnode simweb --pages-per-host 100 --tls --conn-requests 5") + `

A web to try things on, without the internet: each page is made from its address. It serves until it is
interrupted or, when standard input is a pipe or a file, until that ends. It tells how to crawl it.`
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
	person := command.IsTerminal(env.Stdout)
	out := json.NewEncoder(env.Stdout)
	if person {
		fmt.Fprint(env.Stdout, v.howTo(web, server))
	} else {
		// the reader tells by its absence
		_ = out.Encode(webAddresses{server.HTTP.String(), server.DNS.String(), web.Domain(),
			string(server.Authority), web.Seeds()})
	}
	if endsByItself(env.Stdin) {
		go func() { // ends with standard input, or with the process
			_, _ = io.Copy(io.Discard, env.Stdin)
			cancel()
		}()
	}
	if err := server.Run(ctx); err != nil {
		return env.Fail(command.ExitError, "%v", err)
	}
	report := web.Report()
	if person {
		fmt.Fprintf(env.Stdout, "%d of %d reachable pages were fetched, %d of them twice\n",
			report.Reachable-report.Missing, report.Reachable, report.Duplicates)
	} else {
		_ = out.Encode(report)
	}
	return command.ExitOK
}

// howTo says what to type in another terminal.
func (v *WebVerb) howTo(web *simweb.Web, server *simweb.Server) string {
	loopback := netip.MustParsePrefix("127.0.0.0/8")
	allow := netip.PrefixFrom(server.HTTP.Addr(), server.HTTP.Addr().BitLen())
	if loopback.Contains(server.HTTP.Addr()) {
		allow = loopback
	}
	return fmt.Sprintf(`a synthetic web of %d hosts; to crawl it, in another terminal:

  export CRAWLNODE_DNS=%s CRAWLNODE_ALLOW_NET=%s
  crawlnode crawl %s --contact me@example.org

Ctrl-C ends it.
`, v.Hosts, server.DNS, allow, web.Seeds()[0])
}

// endsByItself says whether a standard input ends when its writer does. A terminal does not, and
// a program in the background must not read from it; /dev/null has ended before it began.
func endsByItself(stdin io.Reader) bool {
	file, ok := stdin.(*os.File)
	if !ok {
		return true
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice == 0
}

// config is the web that the flags describe.
func (v *WebVerb) config() simweb.Config {
	c := simweb.Config{
		Seed: v.WebSeed, Hosts: v.Hosts, PagesPerHost: v.PagesPerHost, LinksPerPage: v.Links,
		PageBytes:  v.PageBytes,
		SizeSpread: v.SizeSpread, NaturalText: v.NaturalText, Gzip: v.Gzip,
		Addrs: v.Addrs, Latency: v.Latency, TLS: v.TLS, HTTP1: v.HTTP1, ConnRequests: v.ConnRequests,
		Agent:   v.Agent,
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
		"--seed", strconv.FormatUint(s.WebSeed, 10), "--hosts", strconv.Itoa(s.Hosts), "--pages-per-host",
		strconv.Itoa(s.PagesPerHost),
		"--links", strconv.Itoa(s.Links), "--page-bytes", strconv.Itoa(s.PageBytes),
		"--even=" + strconv.FormatBool(s.Even),
		"--size-spread", strconv.FormatFloat(s.SizeSpread, 'g', -1, 64),
		"--natural-text=" + strconv.FormatBool(s.NaturalText), "--gzip", strconv.Itoa(s.Gzip),
	}
}

func (w *webWire) args() []string {
	return []string{
		"--addrs", strconv.Itoa(w.Addrs), "--latency", w.Latency.String(),
		"--tls=" + strconv.FormatBool(w.TLS),
		"--agent", w.Agent, "--http1=" + strconv.FormatBool(w.HTTP1), "--conn-requests",
		strconv.Itoa(w.ConnRequests),
	}
}
