// Package storagetest helps to test users of a storage.KV: it runs a test on each
// kind of store, ends stores as kill -9 does, copies their files, and makes writes fail.
package storagetest
