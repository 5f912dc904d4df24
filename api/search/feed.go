package search

import (
	"encoding/json"
	"encoding/xml"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"crawlnode/crawl"
)

// atomFeed and its parts are the elements of RFC 4287 that are used.
type atomFeed struct {
	XMLName xml.Name    `xml:"http://www.w3.org/2005/Atom feed"`
	ID      string      `xml:"id"`
	Title   string      `xml:"title"`
	Updated string      `xml:"updated"`
	Author  string      `xml:"author>name"`
	Links   []atomLink  `xml:"link"`
	Entries []atomEntry `xml:"entry"`
}

type atomLink struct {
	Rel  string `xml:"rel,attr"`
	Href string `xml:"href,attr"`
}

type atomEntry struct {
	ID      string   `xml:"id"`
	Title   string   `xml:"title"`
	Updated string   `xml:"updated"`
	Link    atomLink `xml:"link"`
	Summary string   `xml:"summary"`
}

// jsonFeed is JSON Feed 1.1.
type jsonFeed struct {
	Version string     `json:"version"`
	Title   string     `json:"title"`
	FeedURL string     `json:"feed_url"`
	Items   []jsonItem `json:"items"`
}

type jsonItem struct {
	ID           string `json:"id"`
	URL          string `json:"url"`
	Title        string `json:"title"`
	ContentText  string `json:"content_text"`
	DateModified string `json:"date_modified"`
	Language     string `json:"language,omitempty"`
}

// WriteFeed writes results as a feed. The time of an entry is that of its capture, that of the feed
// the latest of them.
func WriteFeed(w http.ResponseWriter, format, base string, r *crawl.SearchReport) {
	self := base + "/api/v1/search?" + url.Values{"query": {r.Query}, "format": {format}}.Encode()
	title := "Search: " + clean(r.Query)
	if format == JSONFeed {
		w.Header().Set("Content-Type", "application/feed+json")
		f := jsonFeed{
			Version: "https://jsonfeed.org/version/1.1",
			Title:   title,
			FeedURL: self,
			Items:   []jsonItem{},
		}
		for i := range r.Results {
			h := &r.Results[i]
			item := jsonItem{
				ID:           h.Link,
				URL:          h.Link,
				Title:        h.Title,
				ContentText:  h.Snippet,
				DateModified: stamp(h.FetchedAt),
			}
			if h.Lang != nil {
				item.Language = *h.Lang
			}
			f.Items = append(f.Items, item)
		}
		_ = json.NewEncoder(w).Encode(f) // the client has gone
		return
	}
	w.Header().Set("Content-Type", "application/atom+xml; charset=utf-8")
	f := atomFeed{ID: self, Title: title, Author: "crawlnode", Links: []atomLink{{"self", self}}}
	var newest time.Time
	for i := range r.Results {
		h := &r.Results[i]
		if h.FetchedAt.After(newest) {
			newest = h.FetchedAt
		}
		f.Entries = append(f.Entries, atomEntry{
			ID:      h.Link,
			Title:   clean(h.Title),
			Updated: stamp(h.FetchedAt),
			Link:    atomLink{"alternate", h.Link},
			Summary: clean(h.Snippet),
		})
	}
	f.Updated = stamp(newest)
	writeXML(w, f)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// clean leaves out what XML 1.0 does not have.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\t' && r != '\n' && unicode.IsControl(r) || r == 0xFFFE || r == 0xFFFF {
			return ' '
		}
		return r
	}, s)
}

func writeXML(w io.Writer, v any) {
	_, err := io.WriteString(w, xml.Header)
	if err == nil {
		_ = xml.NewEncoder(w).Encode(v) // the client has gone
	}
}
