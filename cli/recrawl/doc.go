// Package recrawl has the verb that fetches known URLs again: urls recrawl. URLs are named, or found by
// reading the list of stored URLs page by page; each page's are handed back to the cluster before the
// next is read, so memory does not grow with the number of URLs. It starts no goroutine.
package recrawl
