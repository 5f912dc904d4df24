// Command structure prints the size of the packages at some commits, as tables for
// docs/results/structure.md:
//
//	go run ./integration/structure db5862a HEAD
//	go run ./integration/structure -report docs/results/structure.md db5862a HEAD
//
// The second form writes the report itself, and keeps text that people have added to it.
// It reads Go files from git, without tests and generated code.
package main
