// Package ended answers the questions of a running node from the data directories of nodes that do
// not run: one URL, one host, lists of URLs, the status, the nodes, the settings. The answers are
// the documents of the API.
//
// Package inspect answers for URLs, hosts and the scope, over the stores on disk; package status
// makes the status from the directories. What only a running node knows (rates, open requests,
// health) is left out, and the state says that no node runs.
//
// Open locks the directories against a start of their nodes, and changes nothing in them. With the
// directories of several nodes of one cluster each partition is read from the newest copy.
//
// One goroutine uses a Node. The package starts none.
package ended
