// Package codes explains the codes that the program prints: the reasons of health, the
// states of nodes, hosts and URLs, why a crawl has ended, and so on. Its table is the source of
// `crawlnode explain`, of docs/codes.md, and of the titles in the dashboard. A code without an
// entry, and an entry without a code, fail the test of package cli/codes.
//
// The package starts no goroutine and reads nothing but its own table.
package codes
