// Package decide says which pages need a browser, and why. It is pure.
//
// [Look] reads signs in the HTML: little text beside scripts, an empty root of an application, a noscript
// that asks for JavaScript, the marks of frameworks, an address with a hash-bang. [Auto] weighs them.
//
// A [Learner] corrects that by what rendering has added to the first pages of a template. It keeps 4,096 templates at most,
// less than 2 MB; those that were not asked for for longest are forgotten, and learnt again.
package decide
