package simweb

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"
)

// Config describes a web. The zero value of a field means its default; the
// zero value of a quirk means that there is none of it.
type Config struct {
	// Seed chooses the web. The same Config gives the same web, byte for byte.
	Seed uint64
	// Hosts is the number of hosts that answer (default 20).
	Hosts int
	// PagesPerHost is the mean number of pages of a host (default 50), traps
	// not counted. The largest host has many times more, the smallest one.
	PagesPerHost int
	// Skew is the exponent of the power law of host sizes (default 0.7;
	// negative: all hosts are of one size).
	Skew float64
	// LinksPerPage is the number of links on a page (default 20). About a
	// sixth of them lead to pages that come later in the host's tree.
	LinksPerPage int
	// PageBytes is the size of a page before compression (default 20,000). A
	// page whose links need more is longer.
	PageBytes int
	// SizeSpread makes sizes differ: the deviation of the logarithm of a page's size, whose median is
	// then PageBytes; a page is at most 16 times smaller or larger. 0: all are of one size.
	SizeSpread float64
	// NaturalText makes sentences of 20,000 words that are as frequent as those of a language (Zipf's
	// law), in place of 3,000 words that are all as frequent, which compress less than texts do.
	NaturalText bool
	// Domain is the last part of every host name (default "sim.test").
	Domain string
	// SeedHosts is the number of hosts whose start page is in Seeds (default
	// and most: Hosts).
	SeedHosts int
	// Addrs is the number of addresses, from the listener's on, that the hosts
	// share (default 1, most 200).
	Addrs int
	// Doors is the number of ways into the web (default 1, most 100). Each has
	// addresses and a name server of its own, so that clients which ask different
	// name servers can be told apart for sure (Request.Door).
	Doors int
	// DNSPort is the port of every door's name server (default any that is free).
	DNSPort int
	// Thin leaves out every second way to a page: each host except those of the seeds is linked
	// from one page of an earlier host, and on every other host the pages form one chain. Losing a
	// URL then loses everything after it. CrossHost is ignored.
	Thin bool

	// CrossHost is the number of links in a thousand that point at another
	// host (default 100; negative: none).
	CrossHost int

	// Pages in a thousand that are: a redirect; a 404; under /private/, which
	// the robots.txt of most hosts forbids; in the sitemap and nowhere else;
	// in a charset other than UTF-8; sent gzipped to who takes it; slow by
	// SlowBy; answered with 429 and Retry-After, or with 503, when first asked.
	Redirects, Missing, Private, Hidden, Charsets, Gzip, Slow, RateLimited, Unavailable int

	// SlowBy is how long a slow page takes (default 200 ms).
	SlowBy time.Duration
	// RetryAfter is what a 429 asks for, rounded up to seconds (default 1 s).
	RetryAfter time.Duration
	// TrapPages is the length of the calendar on one host in eight.
	TrapPages int
	// DeadHosts have names, are linked to, and have no address.
	DeadHosts int
	// CrawlDelay is named in the robots.txt of one host in four.
	CrawlDelay time.Duration

	// Changes make pages change with time. Zero: none ever does.
	Changes Changes

	// Agent is the crawler's product token in robots.txt (default "crawlnode"); with
	// "*" no host keeps others out.
	Agent string
	// Latency is the minimum time of every answer.
	Latency time.Duration
	// TLS serves the web over TLS only, with a certificate of an authority that Listen makes
	// (Server.Authority), and over HTTP/2 if the client supports it, unless HTTP1 is set. It
	// changes only the scheme of the links.
	TLS, HTTP1 bool
	// ConnRequests is the number of requests after which the server closes a
	// connection; 0: it keeps them.
	ConnRequests int

	// Delay is the crawler's promised gap; smaller gaps are counted as Report.TooSoon. It does not
	// change the web.
	Delay time.Duration
	// Who, when set, names the client behind a new connection. It is called
	// once per connection of a Server, possibly from many goroutines.
	Who func(remote netip.AddrPort) string
	// OnRequest, when set, is called at the end of each request, from the
	// goroutine that served it.
	OnRequest func(Request)
}

// Request is one request as the server saw it.
type Request struct {
	Host       string // without port
	URL        string // as it was asked for, absolute
	Status     int
	Start, End time.Time
	Remote     string // host:port of the client
	Who        string // what Config.Who said of the connection
	Door       int    // the way in that the client took, from 0 on
	Answered   bool   // a page got an answer with a final status, and the client waited for it
}

// Quirky returns c with a few of all quirks: a web like the real one. Quirks that c already sets
// stay unchanged.
func (c Config) Quirky() Config {
	for _, q := range []struct {
		field *int
		value int
	}{
		{&c.Redirects, 30}, {&c.Missing, 20}, {&c.Private, 30}, {&c.Hidden, 20}, {&c.Charsets, 40},
		{&c.Gzip, 500}, {&c.Slow, 3}, {&c.RateLimited, 2}, {&c.Unavailable, 2}, {&c.TrapPages, 30}, {&c.DeadHosts, 2},
	} {
		*q.field = cmp.Or(*q.field, q.value)
	}
	return c
}

// withDefaults sets the defaults.
func (c Config) withDefaults() Config {
	c.Hosts = cmp.Or(c.Hosts, 20)
	c.PagesPerHost = cmp.Or(c.PagesPerHost, 50)
	c.Skew = max(cmp.Or(c.Skew, 0.7), 0)
	c.LinksPerPage = cmp.Or(c.LinksPerPage, 20)
	c.PageBytes = cmp.Or(c.PageBytes, 20_000)
	c.Domain = cmp.Or(c.Domain, "sim.test")
	c.SeedHosts = min(cmp.Or(c.SeedHosts, c.Hosts), c.Hosts)
	c.Addrs = cmp.Or(c.Addrs, 1)
	c.Doors = cmp.Or(c.Doors, 1)
	c.CrossHost = max(cmp.Or(c.CrossHost, 100), 0)
	if c.Thin {
		c.CrossHost = 0
	}
	c.SlowBy = cmp.Or(c.SlowBy, 200*time.Millisecond)
	c.RetryAfter = cmp.Or(c.RetryAfter, time.Second)
	c.Agent = cmp.Or(c.Agent, "crawlnode")
	c.Changes = c.Changes.withDefaults(time.Now())
	return c
}

// validate lists everything that is wrong with c.
func (c Config) validate() error {
	var errs []error
	atLeast := func(name string, v, least int) {
		if v < least {
			errs = append(errs, fmt.Errorf("config: %s is %d, must be at least %d", name, v, least))
		}
	}
	atLeast("Hosts", c.Hosts, 1)
	atLeast("PagesPerHost", c.PagesPerHost, 1)
	atLeast("LinksPerPage", c.LinksPerPage, 1)
	atLeast("PageBytes", c.PageBytes, 1)
	if !(c.SizeSpread >= 0 && c.SizeSpread <= maxSizeSpread) {
		errs = append(errs,
			fmt.Errorf("config: SizeSpread is %v, must be from 0 to %v", c.SizeSpread, maxSizeSpread))
	}
	atLeast("SeedHosts", c.SeedHosts, 1)
	atLeast("Addrs", c.Addrs, 1)
	atLeast("TrapPages", c.TrapPages, 0)
	atLeast("DeadHosts", c.DeadHosts, 0)
	atLeast("ConnRequests", c.ConnRequests, 0)
	if c.Addrs > maxAddrs {
		errs = append(errs, fmt.Errorf("config: Addrs is %d, must be at most %d", c.Addrs, maxAddrs))
	}
	atLeast("Doors", c.Doors, 1)
	if c.Doors > maxDoors {
		errs = append(errs, fmt.Errorf("config: Doors is %d, must be at most %d", c.Doors, maxDoors))
	}
	if kinds := c.Redirects + c.Missing + c.Private + c.Hidden; kinds > 900 {
		errs = append(errs, fmt.Errorf(
			"config: Redirects, Missing, Private and Hidden sum to %d in a thousand, must be at most 900",
			kinds))
	}
	if total := int64(c.Hosts) * int64(c.PagesPerHost+c.TrapPages); total > maxPages {
		errs = append(errs, fmt.Errorf("config: %d pages, must be at most %d", total, maxPages))
	}
	if c.Domain != strings.ToLower(c.Domain) || strings.HasPrefix(c.Domain, ".") {
		errs = append(errs,
			fmt.Errorf("config: Domain is %q, must be lower case and not begin with a dot", c.Domain))
	}
	errs = append(errs, c.Changes.validate())
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("simweb: %w", err)
	}
	return nil
}
