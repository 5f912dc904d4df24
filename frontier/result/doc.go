// Package result says what the end of a visit makes of a URL's record: what the visit has brought, and what an
// earlier one has brought and stays. It is pure: it reads no store and no clock, and keeps nothing.
//
// What is planned from it, with revisits, is the judge's (frontier: plan.go). The frontier's writer calls it.
package result
