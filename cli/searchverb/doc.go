// Package searchverb has the verbs search, which searches the index of a cluster or a folder for
// pages by their text, and index, which builds such a folder from archives. They start no
// goroutine.
package searchverb
