package frontier

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/listing"
	"crawlnode/frontier/storage"
	"crawlnode/frontier/storage/storagetest"
)

// TestListOfChanges visits pages again: the list of changes has those with other content, with the
// time of the visit that found it, for as long as nothing newer is found; also after a restart.
func TestListOfChanges(t *testing.T) {
	storagetest.OnStores(t, func(t *testing.T, kv storage.KV, reopen func() storage.KV) {
		r := startHolding(t, kv, 1, commit.Options{})
		visits := map[string][]byte{"h1": {1, 1, 1}, "h2": {1, 2, 2}, "h3": {1, 2, 3}, "h4": {1, 1, 2}}
		for round := range 3 {
			for name, digests := range visits {
				l := link("http://" + name + ".p0.test/")
				l.Target.Again, l.Target.Via = round > 0, crawl.ViaSeed
				r.add(l)
				o := good(digests[round])
				o.ETag, o.FetchedAt = "", day.Add(time.Duration(round)*time.Hour)
				r.visit(0, name+".p0.test", o)
			}
		}
		r.must(r.stop())
		r = start(t, reopen(), commit.Options{})
		for _, c := range []struct {
			since time.Time
			want  string
		}{
			{time.Time{}, "[h2 1 h3 2 h4 2]"}, {day.Add(time.Hour), "[h2 1 h3 2 h4 2]"},
			{day.Add(time.Hour + 1), "[h3 2 h4 2]"}, {day.Add(3 * time.Hour), "[]"},
		} {
			var got []string
			q := crawl.URLQuery{Changed: true, Since: c.since}
			for _, l := range r.listAll(0, q, listing.Budget{Lines: 2, Bytes: 1 << 20},
				func() *running { return r }) {
				name := string(l.Host[:len(l.Host)-len(".p0.test")])
				got = append(got, fmt.Sprint(name, " ", int(l.ChangedAt.Sub(day).Hours())))
			}
			if slices.Sort(got); fmt.Sprint(got) != c.want {
				t.Errorf("since %v: %v, want %s", c.since, got, c.want)
			}
		}
	})
}

// TestBrokenLinks lists the URLs that lead nowhere, with the pages that link to them: on the same
// host, on another one, queued, inline, and a seed that no page links to.
func TestBrokenLinks(t *testing.T) {
	storagetest.OnStores(t, func(t *testing.T, kv storage.KV, _ func() storage.KV) {
		r := startHolding(t, kv, 1, commit.Options{})
		from := func(raw, page string) crawl.Routed {
			l := link(raw)
			l.Target.From = page
			return l
		}
		const page, there = "http://h1.p0.test/page", "http://h40.p1.test/page"
		guessed := link("http://h6.p0.test/sitemap.xml")
		guessed.Target.Via = crawl.ViaSitemapFile
		r.add(link(page))
		r.visit(0, "h1.p0.test", fetched)
		r.add(from("http://h1.p0.test/404", page), from("http://h2.p0.test/500", there),
			link("http://h3.p0.test/seed"),
			from("http://h4.p0.test/dead", page), from("http://h5.p0.test/fine", page), guessed,
			from("http://h7.p0.test/guess", page), from("http://h8.p0.test/inline", there),
			from("http://h9.p0.test/secret", page))
		answers := func(host string, status int) {
			o := fetched
			o.Status = status
			r.visit(0, host, o)
		}
		answers("h1.p0.test", 404)
		answers("h2.p0.test", 500)
		answers("h3.p0.test", 410)
		answers("h5.p0.test", 204)
		answers("h6.p0.test", 404)
		dead := func(host, reason string, kind crawl.Kind) {
			r.visit(0, host, crawl.Outcome{Kind: kind, Reason: reason, FetchedAt: day})
		}
		dead("h4.p0.test", "dns: no such host", crawl.URLFailed)
		dead("h7.p0.test", "tls: no; http://h7.p0.test/guess"+crawl.TriedInItsPlace, crawl.URLFailed)
		dead("h9.p0.test", "robots.txt of http://h9.p0.test says Disallow: /", crawl.Refused)
		list := func(q crawl.URLQuery) map[string]string {
			got := map[string]string{}
			for _, l := range r.listAll(0, q, listing.Budget{Lines: 2, Bytes: 1 << 20},
				func() *running { return r }) {
				got[l.URL] = "-"
				if l.Referrer != nil {
					got[l.URL] = *l.Referrer
				}
			}
			return got
		}
		for _, state := range []string{crawl.ListBroken, crawl.ListFailed} {
			links := list(crawl.URLQuery{State: state, Referrer: true})
			storagetest.Compare(t, "broken links, asked for as "+state, links, map[string]string{
				"http://h1.p0.test/404": page, "http://h2.p0.test/500": there,
				"http://h3.p0.test/seed": "-", "http://h4.p0.test/dead": page,
			})
		}
		storagetest.Compare(t, "given up", list(crawl.URLQuery{State: crawl.ListFailed}),
			map[string]string{
				"http://h4.p0.test/dead": "-", "http://h7.p0.test/guess": "-",
			})
		storagetest.Compare(t, "queued", list(crawl.URLQuery{State: crawl.ListQueued, Referrer: true}),
			map[string]string{
				"http://h8.p0.test/inline": there,
			})
	})
}
