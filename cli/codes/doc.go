// Package codes is the verb explain, which tells what a code of the program means, and the
// reference docs/codes.md. The table of the codes is in package api/codes.
//
// The package starts no goroutine.
package codes
