// Package keyfile reads and makes the files of cluster keys and tokens for programs that call the API:
// the verbs of the command line. A node's own key is package node's.
//
// It keeps nothing in memory. Errors name the file and the remedy; what a person gave wrong is a datadir.ErrUsage.
package keyfile
