// Package codes explains the short codes that the program prints: the reasons of health, the
// exit codes, the categories of failed fetches, the reasons for which URLs are skipped, and the bottlenecks. Its
// table is the source of `crawlnode explain` and of docs/codes.md. A code without an entry, and
// an entry without a code, fail its test.
//
// The package starts no goroutine and reads nothing but its own table.
package codes
