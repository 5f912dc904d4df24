// Package css finds the references of a style sheet: url(...), and the strings of @import and
// image-set().
//
// [Refs] never fails: it reads any bytes, in one pass and in time linear in their length. A library
// divides them into the tokens of the CSS Syntax standard; this package says which of them are
// references. Comments and other strings have none. Passed over are a url( whose name has escapes
// of digits, a url() with modifiers, one at whose middle the sheet was cut, and those of
// @namespace, which name no resource.
//
// The package has no state and does no I/O.
package css
