// Package searchverb has the verbs search, which asks a node or a folder for pages by their text, and index, which makes
// such a folder of archives. They start no goroutine.
package searchverb
