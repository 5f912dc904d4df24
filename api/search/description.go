package search

import (
	"encoding/xml"
	"net/http"
)

// description is an OpenSearch description document.
type description struct {
	XMLName     xml.Name         `xml:"http://a9.com/-/spec/opensearch/1.1/ OpenSearchDescription"`
	ShortName   string           `xml:"ShortName"`
	Description string           `xml:"Description"`
	Encoding    string           `xml:"InputEncoding"`
	URLs        []descriptionURL `xml:"Url"`
}

type descriptionURL struct {
	Type     string `xml:"type,attr"`
	Template string `xml:"template,attr"`
}

// WriteDescription writes how to ask the node at base.
func WriteDescription(w http.ResponseWriter, base string) {
	w.Header().Set("Content-Type", "application/opensearchdescription+xml; charset=utf-8")
	writeXML(w, description{
		ShortName:   "crawlnode",
		Description: "Pages that the crawl has fetched",
		Encoding:    "UTF-8",
		URLs: []descriptionURL{
			{"text/html", base + "/search?query={searchTerms}"},
			{"application/atom+xml", base + "/api/v1/search?query={searchTerms}&format=atom"},
			{"application/json", base + "/api/v1/search?query={searchTerms}"},
		},
	})
}
