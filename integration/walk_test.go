package integration

import (
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// rules are how a link is read.
type rules int

const (
	// rfc3986 is how the lists were made: a backslash is a character of the path.
	rfc3986 rules = iota
	// browser reads a backslash as a slash, as WHATWG's URL standard says for http.
	browser
)

// walk crawls a site with a program that shares nothing with crawlnode: a tree
// parser, net/url and a queue. It returns the pages that answer 200 with
// text/html.
func (s *sites) walk(t *testing.T, site *site, how rules) []string {
	t.Helper()
	client := s.httpClient()
	seen := map[string]bool{site.start(): true}
	var found []string
	for queue := []string{site.start()}; len(queue) > 0; queue = queue[1:] {
		page, err := url.Parse(queue[0])
		if err != nil {
			t.Fatal(err)
		}
		// The real host goes into the Host header, so no name is looked up.
		req := &http.Request{Method: "GET", Host: page.Host, Header: http.Header{"User-Agent": {walker}},
			URL: &url.URL{
				Scheme:   "http",
				Host:     site.ip,
				Path:     page.Path,
				RawPath:  page.RawPath,
				RawQuery: page.RawQuery,
			}}
		resp, err := client.Do(req.WithContext(t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		isHTML := resp.StatusCode == 200 &&
			strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html")
		var links []string
		if location := resp.Header.Get("Location"); location != "" {
			links = []string{location}
		} else if isHTML {
			found = append(found, queue[0])
			tree, err := html.Parse(resp.Body)
			if err != nil {
				t.Fatalf("%s: %v", page, err)
			}
			page, links = collect(page, tree)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close() // it was read to the end
		for _, link := range links {
			if how == browser {
				link = strings.ReplaceAll(link, `\`, "/")
			}
			target, err := page.Parse(strings.TrimSpace(link))
			if err != nil || target.Scheme != "http" || target.Hostname() != site.host() ||
				target.Port() != "" {
				continue
			}
			target.Fragment, target.RawFragment, target.User = "", "", nil
			if target.Path == "" {
				target.Path = "/"
			}
			if u := target.String(); !seen[u] {
				seen[u] = true
				queue = append(queue, u)
			}
		}
	}
	slices.Sort(found)
	return found
}

// collect returns the links of a page and what they are relative to.
func collect(page *url.URL, tree *html.Node) (base *url.URL, links []string) {
	base = page
	based := false
	for n := range tree.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		for _, a := range n.Attr {
			switch n.Data + " " + a.Key {
			case "a href", "area href", "frame src", "iframe src":
				links = append(links, a.Val)
			case "base href":
				if b, err := page.Parse(a.Val); err == nil && !based {
					base, based = b, true
				}
			}
		}
	}
	return base, links
}

// The lists of pages agree with an independent walk of the installed sites.
func TestListsOfPages(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	s := startSites(t)
	for i := range s.all {
		t.Run(s.all[i].Name, func(t *testing.T) {
			sameSet(t, "walk", s.walk(t, &s.all[i], rfc3986), s.list(t, &s.all[i]))
		})
	}
}

// sameSet compares two sets of URLs and shows the first differences.
func sameSet(t *testing.T, what string, got, want []string) {
	t.Helper()
	inGot, inWant := map[string]bool{}, map[string]bool{}
	for _, u := range got {
		inGot[u] = true
	}
	var missing, extra []string
	for _, u := range want {
		inWant[u] = true
		if !inGot[u] {
			missing = append(missing, u)
		}
	}
	for u := range inGot {
		if !inWant[u] {
			extra = append(extra, u)
		}
	}
	slices.Sort(extra)
	if len(missing)+len(extra) > 0 {
		t.Errorf("%s: %d of %d missing, such as %v; %d too many, such as %v", what,
			len(missing), len(want), missing[:min(5, len(missing))], len(extra), extra[:min(5, len(extra))])
	}
}
