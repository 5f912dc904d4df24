// Package graph has the verbs for the link graph of crawls on disk: graph rank computes its exact
// PageRank. Package output/linkgraph reads the graph, importance/pagerank computes the ranks; here
// are the flags, the progress line and the three output formats.
//
// A verb needs no node and starts no goroutine but the one that waits for a signal.
package graph
