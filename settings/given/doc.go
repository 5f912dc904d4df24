// Package given compares the flags of this start of a node with the settings that the crawl already
// has, from its founder (which may be an earlier start of this node) or from crawl-config. It tells
// the operator which flags are ignored, or, in a crawl of one node, makes them settings of the
// crawl.
//
// The package has no goroutine and no queue. Its functions read memory, and Adopt writes the crawl
// document.
package given
