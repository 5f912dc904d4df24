// Package siterules sets the rules for sites for the API and for the dashboard, and edits their
// text: a form adds, changes or removes one rule, and everything else in the text stays as it was
// written, comments too.
//
// # Editing
//
// [Read] finds the lines of each rule in a text that config.ParseSites accepts. A change works on
// lines: those of a field whose value changes are replaced, a new field follows the last line of
// its rule, a new rule the last line of the text. A rule that is written within braces is written
// anew. The text that results is read again, and refused when any other rule has changed: so a way
// of writing that this package does not know is never damaged.
//
// # Setting
//
// [Set] replaces the rules with the version of the settings that it has looked at, so that nobody's
// change is lost. It tries again when some other setting was changed meanwhile.
//
// The package starts no goroutine and keeps nothing.
package siterules
