// Package cdx reads indexes of web archives, of this program and of others:
//
//	CDXJ   urlkey SP timestamp SP {"url":…,"mime":…,"status":…,"digest":…}: pywb, Common Crawl
//	CDX    fields with one separator between them, named by the first line, " CDX N b a m s k …";
//	       without that line N b a m s k and any others, as CDX servers answer
//
// A Reader takes an index line by line, plain or packed with gzip (also of several members, as
// Common Crawl's are). It keeps one line in memory, at most MaxLine bytes. What is wrong with a
// line is a LineError, after which the next line can be read; every other error is one of reading,
// and the last. Lines that have no capture (empty ones, comments, headers) are passed over.
//
// Record has what indexes agree on. Where in which file a capture stands is not read, and neither
// is the key: whoever needs one makes it from the URL.
package cdx
