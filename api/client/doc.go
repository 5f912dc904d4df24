// Package client calls a node's HTTP API, for the command line. It knows
// the paths and documents of package api, and turns problem documents into errors with
// advice. It follows no redirect and uses no proxy: requests go directly to the node, or fail.
//
// Errors contain unescaped text of the server. Escape it before printing.
package client
