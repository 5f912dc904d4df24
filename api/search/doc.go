// Package search encodes search results in the API's formats other than its own JSON: Atom and JSON
// Feed. It also writes the OpenSearch description document, by which browsers learn how to search a
// node, and reads the parameters of a search request.
//
//	query.go        parameters
//	feed.go         Atom (RFC 4287) and JSON Feed 1.1
//	description.go  OpenSearch 1.1
//
// Text of pages and queries is escaped by encoding/xml and encoding/json. The package starts no
// goroutine.
package search
