// Package remote connects a verb to a node: it finds the address and the cluster's key or a token,
// and turns errors into exit codes. It starts no goroutine.
package remote
