// Package css finds the references of a style sheet: url(...), and the strings of @import.
//
// [Refs] never fails: it reads any bytes as the CSS Syntax standard tokenizes them, as far as
// references need it, in one pass and in time linear in their length. Comments and other strings
// have no references. A function name that is written with escapes, strings within image-set(), and
// @namespace, which names no resource, are passed over.
//
// The package has no state and does no I/O.
package css
