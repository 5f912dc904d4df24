// Package snippet chooses the passage of a text that shows best why it was found, and marks the
// words in it. It is pure; what a word of the question is, is a function that it is given.
package snippet
