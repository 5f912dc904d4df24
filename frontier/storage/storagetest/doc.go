// Package storagetest helps to test what stands on a storage.KV: it runs a test on each
// kind of store, ends stores as kill -9 does, copies their files, and makes writes fail.
package storagetest
