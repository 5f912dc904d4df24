package worker

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"time"

	"crawlnode/api/client"
	"crawlnode/api/plaintext"
	"crawlnode/cli/command"
	"crawlnode/cli/remote"
	"crawlnode/crawl"
	"crawlnode/local/datadir"
	"crawlnode/security/keyfile"
	"crawlnode/web/botauth"
	"crawlnode/web/fetcher"
)

// Verb fetches pages for a running cluster.
type Verb struct {
	remote.Flags `embed:""`
	WorkerID     string `name:"worker-id" group:"node" placeholder:"NAME" help:"Name of this worker (default: host name and process)."`
	Fetchers     int    `group:"node" default:"64" placeholder:"N" help:"Concurrent fetches, 1 to 1000."`
	ExitWhenDone bool   `name:"exit-when-done" group:"node" help:"Exit when the cluster's crawl has ended."`
	BotKey       string `name:"bot-key" group:"politeness" placeholder:"FILE" help:"Sign every request with this key, that of the nodes. With --bot-agent."`
	BotAgent     string `name:"bot-agent" group:"politeness" placeholder:"URL" help:"https address that publishes the key, as the nodes have it."`
}

// Help gives the examples of the verb and says what it does.
func (*Verb) Help() string {
	return command.Examples("crawlnode worker --addr 127.0.0.1:27295",
		"crawlnode worker --addr 127.0.0.1:27295 --fetchers 200 --exit-when-done") + `

Fetches pages that the cluster leases, one of a host at a time, and reports their
links. Any node can be asked; it gives out the hosts of all nodes. Start the nodes
with --fetch off to leave all pages to workers. Pages are not archived. Addresses
that are not public are fetched only where the crawl's --allow-net has them.

It works until it is interrupted, or with --exit-when-done until the crawl has
ended. docs/workers.md says how to write such a worker in any language.`
}

const (
	// patience is how long one question for URLs waits.
	patience = 5 * time.Second
	// pause is how long the worker waits after a failed request.
	pause = time.Second
)

// Run fetches until a signal comes.
func (v *Verb) Run(ctx context.Context, env *command.Env) int {
	if v.Fetchers < 1 || v.Fetchers > crawl.MaxLeaseBatch {
		return env.Fail(command.ExitUsage, "--fetchers: %d is not from 1 to %d", v.Fetchers,
			crawl.MaxLeaseBatch)
	}
	if v.WorkerID == "" {
		name, err := os.Hostname()
		if err != nil {
			name = "worker"
		}
		v.WorkerID = fmt.Sprintf("%s-%d", name[:min(len(name), 100)], os.Getpid())
	}
	signer, err := v.signer()
	if err != nil {
		return env.Fail(remote.ExitCode(err), "%v", err)
	}
	return v.Ask(ctx, env, func(ctx context.Context, c *client.Client) error {
		f, err := newFetcher(ctx, c, v.Fetchers, signer)
		if err != nil {
			return err
		}
		return v.work(ctx, env, c, f)
	})
}

// signer signs the worker's requests; nil: none is signed.
func (v *Verb) signer() (*botauth.Signer, error) {
	if (v.BotKey == "") != (v.BotAgent == "") {
		return nil, datadir.Usage(errors.New("--bot-key and --bot-agent: give both or neither"))
	}
	keys, err := keyfile.LoadBotKeys(v.BotKey)
	if keys == nil || err != nil {
		return nil, err
	}
	agent, err := botauth.ParseAgent(v.BotAgent)
	if err != nil {
		return nil, datadir.Usage(fmt.Errorf("--bot-agent: %q: %w", v.BotAgent, err))
	}
	return botauth.NewSigner(keys[0], agent), nil
}

// newFetcher makes a fetcher with the crawl's settings.
func newFetcher(
	ctx context.Context,
	c *client.Client,
	fetchers int,
	signer *botauth.Signer,
) (*fetcher.Fetcher, error) {
	report, err := c.CrawlConfig(ctx)
	if err != nil {
		return nil, err
	}
	var allowed []netip.Prefix
	for _, text := range report.Settings.List("allow_net") {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("the crawl's allow_net: %w", err)
		}
		allowed = append(allowed, p)
	}
	return fetcher.New(fetcher.Options{
		Signer:    signer,
		UserAgent: report.Settings.Text("user_agent"), MaxIdleConns: 4 * fetchers,
		TLSRecord: report.Settings.Text("tls_verify") == "record",
		Allowed: func(a netip.Addr) bool {
			for _, p := range allowed {
				if p.Contains(a.Unmap()) {
					return true
				}
			}
			return false
		}}), nil
}

// cluster is what a worker asks; *client.Client is one.
type cluster interface {
	NextURLs(context.Context, crawl.NextQuery) (crawl.WorkerLease, error)
	SendResults(context.Context, crawl.WorkerResults) (crawl.ResultsReport, error)
}

// work asks for URLs, fetches them and reports, until ctx ends.
func (v *Verb) work(ctx context.Context, env *command.Env, c cluster, f pageFetcher) error {
	pages := 0
	defer func() {
		fmt.Fprintf(env.Stdout, "worker: %s fetched\n", plaintext.CountOf(int64(pages), "URL"))
	}()
	for ctx.Err() == nil {
		lease, err := ask(ctx, c, crawl.NextQuery{Worker: v.WorkerID, Most: v.Fetchers, Wait: patience})
		switch {
		case err != nil && ctx.Err() != nil:
			return nil
		case err != nil && !passes(err):
			return err
		case err != nil:
			crawl.Wait(ctx, pause)
		case len(lease.URLs) > 0:
			b := &batch{fetcher: f, send: c.SendResults, lease: lease}
			n, err := b.run(context.WithoutCancel(ctx)) // what was leased is reported
			if pages += n; err != nil {
				return err
			}
		case v.ExitWhenDone && lease.CrawlState == crawl.CrawlFinished:
			return nil
		}
	}
	return nil
}

// ask asks for URLs. A question that is open when ctx ends is not broken off: the node may have
// leased URLs by then, whose hosts would wait for the lease's end. It has a little more time than
// the node takes when it has none.
func ask(ctx context.Context, c cluster, q crawl.NextQuery) (crawl.WorkerLease, error) {
	asking, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(q.Wait+pause, cancel) })()
	return c.NextURLs(asking, q)
}

// passes reports whether a failed request may succeed later: nobody answers, or the node asks to
// wait.
func passes(err error) bool {
	if failed := (*client.Error)(nil); errors.As(err, &failed) {
		return failed.Code == http.StatusTooManyRequests || failed.Code >= http.StatusInternalServerError
	}
	return true
}
