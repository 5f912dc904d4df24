// Package command has what all verbs share: the environment of one command
// (Env), the exit codes, the progress line, and the flags of the
// settings. A verb is a type with flags as fields and a method Run; package cli
// registers the verbs and parses the command line.
//
// The package starts no goroutine but the one of Env.UntilSignal, which ends with
// the context that it returns.
package command
