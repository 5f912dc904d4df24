// Package graph holds the verbs about the graph of links that crawls have left on disk: graph rank
// computes its exact PageRank. Reading is the part of output/linkgraph, computing that of
// importance/pagerank; here are the flags, the progress line and the three forms of the answer.
//
// A verb needs no node and starts no goroutine but the one that waits for a signal.
package graph
