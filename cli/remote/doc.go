// Package remote is how a verb reaches a node: its address, the cluster's key or a token, and the
// exit codes of what goes wrong. It starts no goroutine.
package remote
