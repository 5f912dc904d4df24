// Package s3test is an in-memory object store for tests, with faults: it implements the part of the
// S3 protocol that uploads need. It verifies the digest of each body, but no signatures.
package s3test
