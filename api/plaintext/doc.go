// Package plaintext writes the reports of a node for people: `/status`, a URL, a host, the nodes, as
// plain text with a label on each line. The HTTP interface serves these texts where the caller asks for
// text, and the command line prints them, so that both say the same.
//
// The package is pure: a report in, text out. Whatever comes from the web or from another node is escaped
// (Escape), so that a terminal shows it and obeys nothing in it. Figures are written by Count and Bytes.
package plaintext
