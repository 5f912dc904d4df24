// Package access authenticates callers of the API, and keeps the audit log of the changes that they
// request.
//
//	judge.go  Judge: whether a secret is the cluster's or a token's, and its role
//	audit.go  Audit: the changes that were requested on this node, on disk
//
// A token is signed with the cluster key and stored nowhere: any node can verify it. Revoked tokens
// are listed in the crawl document, so all members refuse them (packages crawldoc and spread).
//
// The package starts no goroutine and has no queue. A Judge reads only memory; an Audit writes and
// syncs its file on the caller's goroutine, one caller at a time.
package access
