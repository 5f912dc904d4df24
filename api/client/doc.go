// Package client calls a node's HTTP API, for the command line. It knows
// the paths and documents of package api, and turns problems into errors with
// advice. It never follows a redirect or uses a proxy: requests go directly to the node.
// directly or not at all.
//
// Errors contain the unescaped text of the other side. Escape it before
// printing.
package client
