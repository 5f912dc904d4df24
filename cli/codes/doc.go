// Package codes has the verb explain, which explains a code that the program prints, and writes
// docs/codes.md. The table of codes is in package api/codes.
//
// The package starts no goroutine.
package codes
