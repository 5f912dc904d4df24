package pipeline

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"crawlnode/crawl"
	"crawlnode/web/fetcher"
	"crawlnode/web/scope"
)

// TestGuessedScheme tries http in place of https for a seed without a scheme, if its server speaks
// no TLS: as robots.txt is read and as the page is, and never for another failure or another URL.
func TestGuessedScheme(t *testing.T) {
	t.Parallel()
	failed := func(c fetcher.Category, err error) error {
		return &fetcher.Error{Category: c, Contacted: true, Err: fmt.Errorf("connecting: %w", err)}
	}
	refused := failed(fetcher.Connect, syscall.ECONNREFUSED)
	const http = "http://a.test/x guess d0 h0 b0"
	for _, c := range []struct {
		name string
		url  string
		via  crawl.Via
		err  error
		kind crawl.Kind
		want string // the target
	}{
		{"refused", "https://a.test/x", crawl.ViaGuess, refused, crawl.Blocked, http},
		{"plain HTTP", "https://a.test/x", crawl.ViaGuess, failed(fetcher.TLS, tls.RecordHeaderError{}), crawl.Blocked, http},
		{"a port of its own", "https://a.test:81/", crawl.ViaGuess, refused, crawl.Blocked, "http://a.test:81/ guess d0 h0 b0"},
		{"http is excluded", "https://a.test/no", crawl.ViaGuess, refused, crawl.HostFailed, ""},
		{"a bad certificate", "https://a.test/x", crawl.ViaGuess, failed(fetcher.TLS, x509.UnknownAuthorityError{}), crawl.HostFailed, ""},
		{"no route", "https://a.test/x", crawl.ViaGuess, failed(fetcher.Connect, syscall.EHOSTUNREACH), crawl.HostFailed, ""},
		{"both are refused", "http://a.test/x", crawl.ViaGuess, refused, crawl.URLFailed, ""},
		{"a seed with a scheme", "https://a.test/x", crawl.ViaSeed, refused, crawl.HostFailed, ""},
		{"a link", "https://a.test/x", crawl.ViaLink, refused, crawl.HostFailed, ""},
	} {
		for _, robots := range []bool{false, true} {
			b := newBench(t, scope.Options{Mode: "page", Exclude: []string{"prefix:http://a.test/no"}})
			b.fail(c.url, c.err)
			origin := url(t, c.url).Origin()
			b.fail(origin+"/robots.txt", c.err)
			b.visit(c.url, func(v *crawl.Visit) {
				if v.Item.Via = c.via; robots {
					v.Robots = nil
				}
			})
			r, o := b.one()
			if o.Kind != c.kind || r.Kind != c.kind || !r.Requested || o.Category == 0 {
				t.Errorf("%s, robots.txt %v: outcome %+v, response %+v", c.name, robots, o, r)
			}
			if c.want == "" {
				wantTargets(t, o.Targets)
				continue
			}
			wantTargets(t, o.Targets, c.want)
			if to := strings.Replace(c.url, "https", "http", 1); !strings.HasSuffix(o.Reason, "; "+to+
				" is tried in its place") || o.ScopeAlias != "page:"+to || !o.Targets[0].Again {
				t.Errorf("%s, robots.txt %v: %q, scope %q", c.name, robots, o.Reason, o.ScopeAlias)
			}
		}
	}
}
