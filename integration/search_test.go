package integration

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/simweb"
)

// search asks a node.
func (n *node) search(query string) (r crawl.SearchReport, err error) {
	return r, n.decode("/api/v1/search?"+url.Values{"query": {query}}.Encode(), &r)
}

// answer asks as a client does: what a busy node answers with an error, or in part, is asked again.
func (n *node) answer(t *testing.T, params url.Values) (r crawl.SearchReport) {
	t.Helper()
	until(t, time.Minute, func() string {
		r = crawl.SearchReport{}
		err := n.decode("/api/v1/search?"+params.Encode(), &r)
		if err != nil || r.Coverage != 1 {
			return fmt.Sprintf("%s, %s: coverage %v, %v", n.name, params.Encode(), r.Coverage, err)
		}
		return ""
	})
	return r
}

// searchable waits until every node finds all documents, and says so: the counts of the index are
// exact, and every answer covers all of it.
func (c *cluster) searchable(within time.Duration, documents int64) {
	c.t.Helper()
	until(c.t, within, func() string {
		for _, n := range c.living() {
			var s struct{ Index crawl.IndexStatus }
			if err := n.decode("/status", &s); err != nil {
				return fmt.Sprintf("%s: %v", n.name, err)
			}
			r, err := n.search(allPages)
			if err != nil {
				return fmt.Sprintf("%s: %v", n.name, err)
			}
			if s.Index.Documents != documents || s.Index.Waiting != 0 || r.Coverage != 1 {
				return fmt.Sprintf("%s: index %+v, coverage %v, total %d, want %d documents", n.name, s.Index,
					r.Coverage, r.Total, documents)
			}
		}
		return ""
	})
}

// allPages is a word of each page of the synthetic web.
const allPages = "page"

// firstTen are the first results of a question, which must be the same on every node.
func (c *cluster) firstTen(query string) (links []string) {
	c.t.Helper()
	until(c.t, time.Minute, func() string { // figures of other nodes are as old as their last renewals
		for i, n := range c.living() {
			r := n.answer(c.t, url.Values{"query": {query}})
			var own []string
			for _, h := range r.Results {
				own = append(own, h.Link)
			}
			if i > 0 && !slices.Equal(own, links) {
				return fmt.Sprintf("%q: %s finds\n%s\nand another node\n%s", query, n.name,
					strings.Join(own, "\n"), strings.Join(links, "\n"))
			}
			links = own
		}
		return ""
	})
	return links
}

// Three nodes index what they crawl. Each page that is done is in the index once, and every node
// answers alike: at the end of the crawl, after a node was killed and its disk is gone, after
// another one has joined, and after one has left.
func TestSearchOutlivesItsNodes(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	web, srv := serveSimweb(t, simweb.Config{
		Seed:         71,
		Hosts:        20,
		PagesPerHost: 15,
		Skew:         -1,
		Delay:        5 * time.Millisecond,
		LinksPerPage: 15,
		PageBytes:    6000,
	})
	c := simCluster(t, srv, 5*time.Millisecond, "--index", "on", "--partitions", "512")
	c.addReady(3)
	c.converged(30 * time.Second)
	c.nodes[0].seed(web.Seeds()...)
	c.finished(2 * time.Minute)
	documents := c.documents()
	c.searchable(time.Minute, documents)
	ten := c.firstTen(allPages)
	if len(ten) != 10 {
		t.Errorf("%d results on the first page: %v", len(ten), ten)
	}
	for _, h := range ten {
		c.firstTen(`"` + strings.TrimPrefix(h, "http://") + `" ` + allPages)
	}
	c.whole(time.Minute)

	killed := c.nodes[2]
	killed.signal(syscall.SIGKILL)
	<-killed.done
	if err := os.RemoveAll(killed.dir); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	c.searchable(2*time.Minute, documents)
	t.Logf("%d documents; coverage is 1 again after %v", documents,
		time.Since(began).Round(10*time.Millisecond))
	c.firstTen(allPages)

	c.add().ready()
	c.converged(time.Minute)
	c.searchable(2*time.Minute, documents)
	c.whole(time.Minute)
	leaver := c.nodes[1]
	leaver.signal(syscall.SIGTERM)
	if code := leaver.exit(t, leaveTime); code != 0 {
		t.Errorf("the node that leaves ends with exit code %d\n%s", code, tail(leaver.log, 10))
	}
	c.converged(time.Minute)
	c.searchable(2*time.Minute, documents)
	c.firstTen(allPages)
	c.stop()
}

// questions are n questions of one to three words that pages of the crawl have.
func (c *cluster) questions(n int) (queries []string) {
	c.t.Helper()
	r := c.living()[0].answer(c.t, url.Values{"query": {allPages}, "size": {"100"}})
	for _, h := range r.Results {
		words := strings.Fields(h.Snippet)
		for i := 0; i+3 < len(words) && len(queries) < n; i++ {
			queries = append(queries, strings.Join(words[i:i+1+len(queries)%3], " "))
		}
	}
	if len(queries) < n {
		c.t.Fatalf("only %d questions could be made of %d results", len(queries), len(r.Results))
	}
	return queries
}

// Every node answers the same questions alike. Then one of them is stopped, as by a machine that
// hangs: the answers of the others become whole, from its replicas, while it still hangs. How long
// one takes is judged in virtual time (search.TestStalledNodesDoNotHoldTheAnswer): here a busy
// machine may slow all of them.
func TestSearchWithAStalledNode(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	web, srv := serveSimweb(t,
		simweb.Config{Seed: 74, Hosts: 20, PagesPerHost: 15, Skew: -1, LinksPerPage: 15, PageBytes: 6000})
	c := simCluster(t, srv, 0, "--index", "on", "--partitions", "512")
	c.addReady(3)
	c.converged(30 * time.Second)
	c.nodes[0].seed(web.Seeds()...)
	c.finished(2 * time.Minute)
	c.searchable(time.Minute, c.documents())
	c.whole(time.Minute)
	queries := c.questions(200)
	alike, found := 0, 0
	for _, q := range queries {
		var first []string
		same := true
		for i, n := range c.nodes {
			r := n.answer(t, url.Values{"query": {q}})
			var links []string
			for _, h := range r.Results {
				links = append(links, h.Link)
			}
			if i == 0 {
				first = links
			}
			same = same && slices.Equal(links, first)
		}
		if same {
			alike++
		}
		if len(first) > 0 {
			found++
		}
	}
	t.Logf("%d of %d questions have the same first ten on all nodes, %d have any", alike, len(queries),
		found)
	if alike*100 < 98*len(queries) || found*100 < 98*len(queries) {
		t.Errorf("of %d questions %d have the same first ten on all nodes, and %d have any result",
			len(queries), alike, found)
	}

	c.nodes[2].signal(syscall.SIGSTOP)
	defer c.nodes[2].signal(syscall.SIGCONT)
	again := 0
	for _, q := range queries[:20] {
		asked := 0
		until(t, time.Minute, func() string {
			asked++
			r, err := c.nodes[0].search(q)
			switch {
			case err != nil || r.Coverage != 1:
				// a replica that is behind may answer, and figures of the cluster may be older
				return fmt.Sprintf("%q: coverage %v with a stalled node, asked %d times: %v", q, r.Coverage,
					asked, err)
			case len(r.Results) == 0:
				t.Errorf("%q: an answer that is whole has no results", q)
			}
			return ""
		})
		again += asked - 1
	}
	t.Logf("with a stalled node 20 questions were asked %d times more, until the answers were whole",
		again)
	c.nodes[2].signal(syscall.SIGCONT)
	c.stop()
}

// documents counts the pages that are done and were delivered, by the list of URLs. Every page of a
// synthetic web without quirks is HTML.
func (c *cluster) documents() (n int64) {
	c.t.Helper()
	for _, u := range c.living()[0].lines("state=done&status=2xx") {
		if !strings.HasSuffix(u, ".xml") && !strings.HasSuffix(u, ".txt") {
			n++
		}
	}
	if n == 0 {
		c.t.Fatal("no page is done")
	}
	return n
}

// lines are the URLs of a list.
func (n *node) lines(query string) (urls []string) {
	n.c.t.Helper()
	code, body, err := n.get("/api/v1/urls?format=csv&" + query)
	if err != nil || code != http.StatusOK {
		n.c.t.Fatalf("list: status %d, %v", code, err)
	}
	for line := range strings.Lines(string(body)) {
		if u, _, ok := strings.Cut(line, ","); ok && strings.HasPrefix(u, "http") {
			urls = append(urls, u)
		}
	}
	return urls
}

// A kill in the middle of a crawl costs the index nothing: after the restart it is exact.
func TestIndexIsExactAfterAKill(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	web, srv := serveSimweb(t, simweb.Config{
		Seed:         72,
		Hosts:        12,
		PagesPerHost: 25,
		Skew:         -1,
		Delay:        20 * time.Millisecond,
		LinksPerPage: 15,
		PageBytes:    6000,
	})
	c := simCluster(t, srv, 20*time.Millisecond, "--index", "on", "--partitions", "512")
	c.addReady(1)
	n := c.nodes[0]
	n.seed(web.Seeds()...)
	for _, pages := range []int{60, 150} {
		atPage(t, web, pages)
		n.signal(syscall.SIGKILL)
		<-n.done
		n.start()
		n.ready()
	}
	c.finished(2 * time.Minute)
	c.searchable(time.Minute, c.documents())
	if code, _, err := n.get("/api/v1/search?query=%20"); code != http.StatusBadRequest || err != nil {
		t.Errorf("an empty query is answered with %d, %v", code, err)
	}
	if code, body, err := n.get("/search?query=" + allPages); code != http.StatusOK || err != nil ||
		!strings.Contains(string(body), "archived copy") {
		t.Errorf("the search page: %d, %v", code, err)
	}
	c.stop()
}

// Without an index nothing of one is written while pages are crawled, and a question is refused
// with the remedy.
func TestNoIndexCostsNothing(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	web, srv := serveSimweb(t, simweb.Config{Seed: 73, Hosts: 2, PagesPerHost: 4})
	c := simCluster(t, srv, 0)
	c.addReady(1)
	c.nodes[0].seed(web.Seeds()...)
	c.finished(2 * time.Minute)
	c.documents() // some were delivered
	var s struct{ Index crawl.IndexStatus }
	if err := c.nodes[0].decode("/status", &s); err != nil || s.Index.Documents != 0 ||
		s.Index.Bytes != 0 || s.Index.Waiting != 0 {
		t.Errorf("the status has an index: %+v, %v", s.Index, err)
	}
	code, body, err := c.nodes[0].get("/api/v1/search?query=x")
	if err != nil || code != http.StatusConflict || !strings.Contains(string(body), "index=on") {
		t.Errorf("a question is answered with %d, %v: %s", code, err, body)
	}
	if _, err := os.Stat(c.nodes[0].dir + "/index"); !os.IsNotExist(err) {
		t.Errorf("the folder of the index is there: %v", err)
	}
	c.stop()
}
