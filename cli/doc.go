// Package cli is the command line: its verbs, their input and their output.
// Main runs one command line from beginning to end and returns its exit code;
// it reads no global state, so a test can call it like any function.
//
// The verbs are the fields of a struct in main.go. start, the default verb, runs a node; crawl runs
// one for some sites until the crawl ends. Two verbs are hidden: bench measures the cost of a page,
// and reference writes the generated documents in docs. Large verbs are packages below this one.
// Verbs share these packages:
//
//	command     streams, exit codes, the progress line, the flags of the settings
//	remote      how a verb reaches a node
//	seedlist    reads seeds
//	process     starts this program again
//
// start and crawl compose a node: flags become a config.Config, the node
// is opened, its API is served, seeds are added as soon as it takes part,
// and signals are passed on: the first drains, the second stops at once, a
// third gives up waiting. All other verbs end at the first signal.
//
// # Streams
//
// Standard output has what was asked for and nothing else; the banner, the
// log, progress and errors go to standard error. A progress line is drawn only
// on a terminal; log lines are printed above it. Text from other programs is escaped before it is
// printed.
//
// # Exit codes
//
// See the constants in cli/command; scripts depend on them.
package cli
