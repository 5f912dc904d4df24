// Package ended answers the questions of a running node from the data directories of nodes that do
// not run: one URL, one host, lists of URLs, the status, the nodes, the settings. The answers are
// the documents of the API.
//
// URLs, hosts and the scope are package inspect's, over the stores on disk; the status is package
// status's, from what the directories say of their nodes. What only a running node knows, rates,
// requests that are open, health, is left out, and the state says that no node runs.
//
// Open locks the directories against a start of their nodes, and changes nothing in them. With the
// directories of several nodes of one cluster each partition is read once, where it is newest.
//
// A Node is for one goroutine. The package starts none.
package ended
