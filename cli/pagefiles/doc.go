// Package pagefiles writes pages as files for the verbs crawl --output and export files: it opens
// the folder, shows progress, reports what was written and where, and turns errors into exit codes.
// Package mirror decides what is written.
//
// Captures come from data directories of nodes (DataDirs) or from a running cluster (Cluster). The
// package starts one goroutine: the copy of a cluster's index, which ends before Entries returns.
package pagefiles
