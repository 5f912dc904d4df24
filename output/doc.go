// Package output writes the results of the crawl: the archive, and the files that are
// derived from pages (lists of pages, links and hosts, texts, the log of skipped URLs).
//
//	outputs.go  Outputs: opened, synced, counted and closed together
//	archive.go  what an archive file says of the crawl; URLs that were given up
//	derived.go  Derived: the pipeline's Deriver, which waits for room
//	patient.go  an archive that waits for room
//	shortage.go writes that wait for space although the system may report some
//
// The formats are those of output/archive and output/lists; this package decides what is opened and
// when it may be written. A write waits while the disk is nearly full, and is retried after the
// disk turned out to be full: a page is never done without its record and its lines. Waiting writes
// block the pipeline's workers, which stops the fetching.
//
// # Durability
//
// Sync makes what was written durable, the archive first. The node calls it once a second before
// it syncs the frontier, so a page that is done after a power cut has its record and its lines.
//
// No goroutine of its own. All methods may be called from any goroutine.
package output
