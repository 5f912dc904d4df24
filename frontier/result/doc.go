// Package result computes the new record of a URL at the end of a visit: what the visit has found,
// and what remains of earlier visits. It is pure: it reads no store and no clock, and keeps no
// state.
//
// It does not plan the next visit: the frontier's Planner does. The frontier's writer calls it.
package result
