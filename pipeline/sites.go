package pipeline

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"crawlnode/crawl"
	"crawlnode/settings/sites"
	"crawlnode/web/cookies"
	"crawlnode/web/fetcher"
	"crawlnode/web/proxy"
	"crawlnode/web/urlnorm"
)

// This file applies the rules for sites (package sites) to visits and their requests.

// Means are what rules for sites need of this node. The methods are called by many workers at once,
// and must not block for long.
type Means interface {
	// Secret is the value of a secret; false: this node has none of that name.
	Secret(name string) (value string, ok bool)
	// CookieFile are the cookies for a host of the file whose path is the value of a secret; false:
	// this node has no such file.
	CookieFile(name string, host crawl.Host, now time.Time) (jar cookies.Jar, ok bool)
	// HasAddress reports whether connections can come from an address of this machine.
	HasAddress(a netip.Addr) bool
	// Lacks notes that a host waits because this node lacks something: secret:NAME, an address, or
	// WorkingProxy.
	Lacks(host crawl.Host, what string)
}

// WorkingProxy is what a host waits for when none of its proxies works.
const WorkingProxy = "a working proxy"

// failure classifies a request without an answer, and notes when the node's proxies are to blame.
func (w *worker) failure(err error, host crawl.Host, at time.Time) (crawl.Response, crawl.Outcome) {
	r, o := failure(err, host, at)
	if o.Category == crawl.ErrProxy && o.Kind == crawl.Aborted && w.p.o.Means != nil {
		w.p.o.Means.Lacks(host, WorkingProxy)
	}
	return r, o
}

// lacksPause is the pause of a host that waits for something that this node lacks. A changed
// secrets file is noticed as late.
const lacksPause = 10 * time.Second

// of is the rules for a URL: with the settings of its site, if rules for sites match it.
func (r *Rules) of(u urlnorm.URL) *Rules {
	if r.Sites == nil {
		return r
	}
	if r.crawl != nil {
		r = r.crawl
	}
	site := r.Sites.Of(u)
	if site == nil {
		return r
	}
	own := *r
	own.Settings, own.site, own.crawl = *site.Settings, site, r
	if site.From("render") != nil { // it says which pages are shown
		own.RenderMatch = nil
	}
	return &own
}

// lacking is what a visit needs and this node does not have; "": nothing.
func (w *worker) lacking(host crawl.Host, rules *Rules) string {
	site, means := rules.site, w.p.o.Means
	lacks := func(secret string) bool {
		if means == nil {
			return true
		}
		_, ok := means.Secret(secret)
		return !ok
	}
	if site != nil {
		if site.Source.IsValid() && (means == nil || !means.HasAddress(site.Source)) {
			return site.Source.String()
		}
		for _, name := range site.Secrets {
			if lacks(name) {
				return "secret:" + name
			}
		}
		if site.CookiesFile != "" {
			if _, ok := means.CookieFile(site.CookiesFile, host, time.Now()); !ok {
				return "secret:" + site.CookiesFile // its file cannot be read
			}
		}
	}
	for _, text := range rules.Settings.Proxies {
		p, err := proxy.Parse(text)
		switch {
		case err != nil: // of a newer release: without it the request would go the direct way
			return WorkingProxy
		case p.Secret != "" && lacks(p.Secret):
			return "secret:" + p.Secret
		}
	}
	return ""
}

// withheld ends a visit before any request: the host is left to a node that has what it needs.
func (w *worker) withheld(ctx context.Context, v crawl.Visit, what string) error {
	if w.p.o.Means != nil {
		w.p.o.Means.Lacks(v.Host, what)
	}
	return w.finish(ctx, v, crawl.Response{Kind: crawl.Aborted, RetryAfter: lacksPause},
		crawl.Outcome{Kind: crawl.Aborted, FetchedAt: time.Now(),
			Reason: fmt.Sprintf("a rule for sites needs %s, which this node lacks", what)})
}

// keepsSecrets reports whether nobody on the way learns what a request for u carries: TLS with a
// certificate that is right, or an address inside --allow-net. A plain http URL that goes over
// proxies is not safe: an HTTP proxy may find another address.
func keepsSecrets(u urlnorm.URL, v *crawl.Visit, s *crawl.Settings) bool {
	if s.Allowed(v.Addr) && (u.Scheme() == "https" || len(s.Proxies) == 0) {
		return true
	}
	return u.Scheme() == "https" && !s.TLSRecord
}

// equip gives a request for u what the rules of its site say. Secrets go only where nobody on the
// way learns them, unless their rule allows it.
func (w *worker) equip(r *fetcher.Request, u urlnorm.URL, v *crawl.Visit, rules *Rules) {
	for _, text := range rules.Settings.Proxies {
		if p, err := proxy.Parse(text); err == nil { // lacking has found the others
			r.Proxies = append(r.Proxies, p)
		}
	}
	site, means := rules.site, w.p.o.Means
	if means != nil {
		r.ProxyUser = means.Secret
	}
	if site == nil {
		return
	}
	r.Source = site.Source
	safe := keepsSecrets(u, v, &rules.Settings)
	if !safe {
		w.p.tellUnsafe(site, u)
	}
	for _, h := range site.Headers {
		header := fetcher.Header{Name: h.Name, Value: h.Value, Secret: h.Secret != ""}
		if header.Secret {
			value, ok := means.Secret(h.Secret)
			if !ok || !safe && !h.Insecure {
				continue
			}
			header.Value = value
		}
		r.Headers = append(r.Headers, header)
	}
	if site.Auth.Scheme != "" && (safe || site.AuthInsecure) {
		if value, ok := means.Secret(site.Auth.Secret); ok {
			r.Authorization = authorization(site.Auth.Scheme, value)
		}
	}
}

// unsafeTold is how often at most the log says that secrets are left out.
const unsafeTold = time.Minute

// tellUnsafe notes in the log that a request goes without the secrets of its site.
func (p *Pipeline) tellUnsafe(site *sites.Site, u urlnorm.URL) {
	kept := site.Auth.Scheme != "" && !site.AuthInsecure ||
		site.CookiesFile != "" && !site.CookiesInsecure ||
		slices.ContainsFunc(site.Headers,
			func(h sites.Header) bool { return h.Secret != "" && !h.Insecure })
	now := time.Now().UnixNano()
	last := p.unsafe.Load()
	if !kept || now-last < int64(unsafeTold) || !p.unsafe.CompareAndSwap(last, now) {
		return
	}
	p.o.Log.Warn(
		"a request goes without the secrets of its rule for sites: others on the way could learn them; "+
			"they go over https with a right certificate, or with insecure: true in the rule", "origin",
		u.Origin())
}

// authorization is the value of an Authorization header.
func authorization(scheme, secret string) string {
	if scheme == sites.Basic {
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(secret))
	}
	return "Bearer " + secret
}

// cookieHeader is the value of the Cookie header of a request for u: what jar has for it, and what
// the cookie file of its site has. The file's are not part of any jar that is stored.
func (w *worker) cookieHeader(
	jar cookies.Jar,
	u urlnorm.URL,
	v *crawl.Visit,
	rules *Rules,
	now time.Time,
) string {
	site := rules.site
	if site == nil || site.CookiesFile == "" ||
		!site.CookiesInsecure && !keepsSecrets(u, v, &rules.Settings) {
		return jar.Header(u, now)
	}
	file, ok := w.p.o.Means.CookieFile(site.CookiesFile, v.Host, now)
	if !ok {
		return jar.Header(u, now)
	}
	return jar.With(file, now).Header(u, now)
}
