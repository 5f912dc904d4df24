// Package help tells people what can be typed: the help of each verb, the completion
// of a command line in a shell, the manual page, and the references docs/cli.md and
// docs/configuration.md. All are made from the parser's model, so that none of
// them can differ from what the parser accepts. It knows no verb but its own three.
package help
