// Package decide decides which pages need a browser, and says why. It is pure.
//
// [Look] finds signs in the HTML: little text beside scripts, an empty root element of an
// application, a noscript element that asks for JavaScript, traces of frameworks, a URL with a
// hash-bang. [Auto] decides by these signs.
//
// A [Learner] corrects that decision by what rendering has added to the first pages of a template.
// It keeps at most 4,096 templates, less than 2 MB; the least recently used are forgotten, and
// learnt again.
package decide
