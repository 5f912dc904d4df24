// Package keyfile reads and makes the files of cluster keys and tokens for nodes and for programs that
// call their API, the verbs of the command line.
//
// It keeps nothing in memory. Errors name the file and the remedy; what a person gave wrong is a datadir.ErrUsage.
package keyfile
