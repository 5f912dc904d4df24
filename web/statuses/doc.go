// Package statuses reads lists of HTTP statuses as people write them, such as 200,301-308,404. It
// is pure, and a Set is a value that needs no memory of its own.
//
// It does not know what a list is for: which statuses may stand in it is the caller's to say.
package statuses
