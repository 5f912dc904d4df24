// Command structure prints the size of the packages at some commits, as tables for
// docs/results/structure.md:
//
//	go run ./integration/structure db5862a HEAD
//
// It reads Go files out of git, without tests and generated code, and runs nothing of them.
package main
