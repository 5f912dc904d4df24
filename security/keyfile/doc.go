// Package keyfile reads and creates the files of cluster keys and tokens, for nodes and for the
// verbs that call their API.
//
// It keeps nothing in memory. Errors name the file and the remedy; mistakes of a person are
// datadir.ErrUsage.
package keyfile
