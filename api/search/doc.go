// Package search has the forms in which the API gives search results beside its own JSON: Atom, JSON Feed, and the
// OpenSearch description document with which a browser asks a node. It also reads the parameters of a question.
//
//	query.go        parameters
//	feed.go         Atom (RFC 4287) and JSON Feed 1.1
//	description.go  OpenSearch 1.1
//
// What pages and people have written is escaped by encoding/xml and encoding/json. The package starts no goroutine.
package search
