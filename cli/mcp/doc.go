// Package mcp has the verb mcp: a server of the Model Context Protocol on standard input and
// output, by which a language model, or the program around it, asks a cluster. The official SDK
// knows the protocol and package stdio carries its messages; this package has the tools.
//
//	tool            asks                                       role
//	search          GET /api/v1/search                         read
//	fetch_archived  GET /api/v1/urls, the capture's record     read
//	why             GET /api/v1/urls                           read
//	status          GET /status                                read
//	add_seeds       POST /api/v1/seeds; only with --write      operate
//
// With --data-dir the same is asked of what nodes have left; each call opens the directories.
//
// The node decides what the token allows. Without --write the tool that changes something is not
// there: a call to it is one of an unknown tool. Each answer has a text, for a model, and the same
// as structured content, for a program. What fails is the answer of the tool (isError), with what
// to do, and the next call asks the node again.
//
// # Text of the web
//
// Whoever writes a page writes to the model that reads it. What comes from the web stands, in
// texts, between two marks with a number that is drawn anew for each answer, so no page can end its
// part; in structured content it stands below a member named "untrusted". Characters that are not
// shown are removed from it: control sequences, and those by which text is hidden from people.
//
// # Bounds
//
//	what                         bound
//	calls that work              8; others wait, within their time
//	pages that are read          2 of these
//	time of a call               30 s
//	text of fetch_archived       64 KiB, and where to read on
//	page that it is made of      10 MiB
//	results of search            50; titles of 300 bytes, snippets of 1,000
//	questions about them         8; asked only where the crawl obeys owners
//	text of why and of errors    16 KiB, 2 KiB
//	URLs of add_seeds            1,000; reported as invalid: 20
//	nodes and reasons of status  50, 20
//
// A session ends ten seconds after a signal at the latest, also when its client reads nothing.
// Calls that wait are bounded by stdio.MaxOpen, and their arguments by stdio.MaxLine.
package mcp
