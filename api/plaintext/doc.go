// Package plaintext formats the reports of a node for people: the status, a URL, a host, the nodes,
// as plain text with a label on each line. The HTTP API serves these texts where the caller asks
// for text, and the command line prints them, so that both say the same.
//
// The package is pure: a report in, text out. Text from the web or from other nodes is escaped
// (Escape), so that no control sequence in it reaches a terminal. Count and Bytes format numbers.
package plaintext
