// Command mutants measures whether the tests notice mistakes. It applies small
// deliberate mistakes to the rules of the cluster, one at a time, and runs the tests of the
// machines and then simulations, until one fails.
//
//	make mutants                         all of them; a row each in docs/results/mutants.md
//	go run ./integration/mutants -only fence-zero,grant-any-view
//
// A mutant is a hunk in mutants.txt: a name, a file, the lines to be replaced and their
// replacement. The file is not changed: the go command reads the mutated text
// through an overlay. So mutants can run in parallel, and do not disturb work in the tree.
//
// # How a mutant is judged
//
//	tests       go test -short of the packages that decide, that of the file first
//	simulation  seeds and cases of TestSimSeed, each in a process of its own
//
// Quick tests run before slow ones. A failure counts only if it repeats, because a busy
// machine can cause one. Packages that do not depend on the mutant's file are not run.
//
// A mutant that does not compile, or whose lines do not occur exactly once in
// its file, proves nothing, and ends the run with an error. TestMutants finds the
// latter in each check of a commit.
//
// It writes nothing but its report.
package main
