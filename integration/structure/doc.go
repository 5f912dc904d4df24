// Command structure prints the size of the packages at some commits, as tables for
// docs/results/structure.md:
//
//	go run ./integration/structure db5862a HEAD
//	go run ./integration/structure -report docs/results/structure.md db5862a HEAD
//
// The second writes the report itself, and keeps what people have written into it.
// It reads Go files out of git, without tests and generated code, and runs nothing of them.
package main
