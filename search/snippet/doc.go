// Package snippet chooses the passage of a text that shows best why it was found, and marks the
// matching words in it. It is pure; the caller passes the function that recognises words of the
// query.
package snippet
