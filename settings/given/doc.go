// Package given compares the flags of this start of a node with the settings that the crawl has already:
// from its founder, which may be an earlier start of this very node, or from crawl-config. It tells the operator
// which of them count for nothing, or makes them the crawl's, for a crawl of one node.
//
// No goroutine of its own, no queue; its calls read memory, and Adopt writes the crawl document.
package given
