// Package filters has the filters and the cache that a frontier keeps in memory to avoid look-ups
// in the store:
//
//	SeenCache   hashes of URLs whose record exists, of all partitions; bounded
//	URLs        Bloom filter of one partition's URLs and hosts
//	Payloads    Bloom filter of the payloads that one partition remembers
//
// A filter says new, which is certain, or maybe, which is then looked up in the store. A hit in the
// cache is certain too. The cache and the URL filters belong to the frontier's writer. A payload
// filter may be read by any goroutine without a lock.
//
// The URL filters are saved in one file at a clean stop (file.go), and otherwise rebuilt from the
// keys (ReadURLs).
package filters
