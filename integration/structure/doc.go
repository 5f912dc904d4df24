// Command structure counts the packages of commits, as tables for docs/results/structure.md:
//
//	go run ./integration/structure -report docs/results/structure.md 9ee0cdf1 HEAD
//	go run ./integration/structure -commits 2026-11-24..9ee0cdf1
//
// The first form writes the tables of two commits into the report, and keeps the text that people
// have written below them. The second one tells how many commits of a time changed one folder, or
// one package, counted where each file is today. Both read Go files from git, without tests.
package main
