// Package recrawl has the verb that fetches known URLs again: urls recrawl. URLs are given, or
// found by reading the list of stored URLs page by page; the URLs of each page are sent to the
// cluster before the next page is read, so memory does not grow with the number of URLs. It starts
// no goroutine.
package recrawl
