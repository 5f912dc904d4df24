// Package decide says which pages need a browser, and why. It is pure.
//
// [Look] reads signs in the HTML: little text beside scripts, an empty root of an application, a noscript
// that asks for JavaScript, the marks of frameworks, an address with a hash-bang. [Auto] weighs them.
package decide
