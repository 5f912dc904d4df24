package search

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"crawlnode/crawl"
)

// The forms of an answer; "" is the API's own JSON.
const (
	Atom     = "atom"
	JSONFeed = "jsonfeed"
)

// usualSize is how many results a page has when nothing is said.
const usualSize = 10

// maxPage bounds the page: later ones are empty in any case.
const maxPage = 1000

// Read reads a question. problem says what is wrong with it: only an empty one, and numbers that
// are none.
func Read(v url.Values) (q crawl.SearchQuery, format, problem string) {
	q = crawl.SearchQuery{Query: v.Get("query"), Page: 1, Size: usualSize}
	if strings.TrimSpace(q.Query) == "" {
		return q, "", "the query is empty: ask with ?query=WORDS"
	}
	for _, n := range []struct {
		name string
		to   *int
		most int
	}{{"page", &q.Page, maxPage}, {"size", &q.Size, crawl.MaxSearchSize}} {
		text := v.Get(n.name)
		if text == "" {
			continue
		}
		i, err := strconv.Atoi(text)
		if err != nil || i < 1 || i > n.most {
			return q, "", n.name + " must be a number from 1 to " + strconv.Itoa(n.most)
		}
		*n.to = i
	}
	switch format = v.Get("format"); format {
	case "json":
		format = ""
	case "", Atom, JSONFeed:
	default:
		return q, "", "format must be json, atom or jsonfeed"
	}
	return q, format, ""
}

// BaseOf is the address of the node as the client wrote it, such as http://127.0.0.1:27295.
func BaseOf(r *http.Request) string {
	u := url.URL{Scheme: "http", Host: r.Host}
	if r.TLS != nil {
		u.Scheme = "https"
	}
	return u.String()
}
