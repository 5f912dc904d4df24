// Package s3test is an object store for tests: the part of the S3 protocol that uploads need, in memory, with faults. It checks no
// signature, but the digests that come with each body.
package s3test
