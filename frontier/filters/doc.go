// Package filters holds what a frontier keeps in memory to spare look-ups in the store:
//
//	SeenCache   hashes of URLs whose record exists, of all partitions; bounded
//	URLs        Bloom filter of one partition's URLs and hosts
//	Payloads    Bloom filter of the payloads that one partition remembers
//
// A filter says new, which is sure, or maybe, which is confirmed in the store. None of them
// decides alone that a URL is dropped. The cache and the URL filters belong to the
// frontier's writer. A payload filter may be read by any goroutine without a lock.
//
// The URL filters are saved in one file at a clean stop (file.go), and made from the keys
// otherwise (ReadURLs).
package filters
