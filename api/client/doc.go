// Package client asks a node over its HTTP API, for the command line. It knows
// the paths and documents of package api, turns problems into errors that say
// what to do, and never follows a redirect or uses a proxy: a node is asked
// directly or not at all.
//
// Errors hold what the other side said as it was said. Whoever prints them
// escapes them first.
package client
