// Package help documents the command line: the help of each verb, completion in a shell, the manual
// page, and the references in docs. All are generated from the parser's model, so that none of them
// can differ from what the parser accepts. It knows no verb but its own three.
package help
