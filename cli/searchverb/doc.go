// Package searchverb has the verb search: it asks a node for pages by their text. It starts no goroutine.
package searchverb
