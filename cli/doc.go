// Package cli is the command: the verbs, what a person types and what they
// read. Main runs one command line from begin to end and returns its exit code;
// it reads no global state, so a test can run it like a function.
//
//	start    a node (the default verb)         crawl   one node, some sites, ends by itself
//	status   what the cluster does             demo    three nodes, a synthetic web, one node lost
//	seeds    hand URLs to a running cluster    nodes   list, drain, forget
//	urls     why one is crawled or not; list   hosts   one host's queue and politeness
//	scope    try a URL against the rules       pause   and resume the crawl
//	export   what the crawl has left behind    doctor  what keeps a node from working
//	replay   archived pages in a browser       cat     what was stored of a URL
//	config   the settings, and their origin    stop    ends a node, or all of a cluster
//	keygen, completion, version
//
// Three more verbs are hidden: simweb serves a synthetic web from a process of its
// own, bench measures what a page costs, and reference writes docs/cli.md and
// docs/configuration.md from the grammar and the settings.
//
// The verbs are registered here (main.go). Large ones are packages of their own
// below: demo, doctor, bench (with simweb), help (with completion and reference).
// What all share is in command, how they reach a node in remote; lists has the lists; seedlist reads seeds; process starts this program again.
//
// start and crawl put a node together: flags become a config.Config, the node
// is opened, its API is served, seeds are handed in as soon as it takes part,
// and signals are passed on: the first drains, the second stops at once, a
// third gives up waiting. All other verbs end at the first.
//
// # Streams
//
// Standard output carries what was asked for and nothing else; the banner, the
// log, progress and errors go to standard error. A progress line is drawn only
// on a terminal; what is logged meanwhile stands above it. Strings of other programs are escaped before they get there.
//
// # Exit codes
//
// See the constants in cli/command; they are part of the outside interface.
package cli
