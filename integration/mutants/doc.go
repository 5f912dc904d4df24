// Command mutants measures whether the tests notice mistakes. It applies small
// deliberate mistakes to the rules of the cluster, one at a time, and runs the tests of the
// machines and then simulations, until one fails.
//
//	make mutants                         all of them; a row each in docs/results/mutants.md
//	go run ./integration/mutants -only fence-zero,grant-any-view
//
// A mutant is a hunk in mutants.txt: a name, a file, the lines to be replaced and what
// replaces them. The file is not changed: the go command reads the mutated text
// through an overlay. So mutants can run beside each other, and beside any work in the tree.
//
// # How a mutant is judged
//
//	tests       go test -short of the packages that decide, that of the file first
//	simulation  seeds and cases of TestSimSeed, each in a process of its own
//
// Quick tests come before slow ones. What fails counts when it fails a second time: a busy
// machine proves nothing. Packages that the mutant's file is no part of are not run.
//
// A mutant that does not compile, or whose lines do not stand exactly once in
// its file, ends the run with an error: it proves nothing. TestMutants finds the
// second in each check of a commit.
//
// It writes nothing but its report, and runs until it has ended or is interrupted.
package main
