// Package pagefiles writes pages as files for the verbs crawl --output and export files: it opens the
// folder, shows progress, says what was written and where, and turns errors into exit codes. What is
// written is decided by package mirror.
//
// Captures come from data directories of nodes (DataDirs) or from a running cluster (Cluster). The
// package starts one goroutine: the copy of a cluster's index, which ends before Entries returns.
package pagefiles
