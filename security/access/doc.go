// Package access judges callers of the API, and records what they changed.
//
//	judge.go  Judge: whose secret it is, the key's own or a token's, and which role it has
//	audit.go  Audit: the changes that this node was asked to make, on disk
//
// A token is made with the cluster key and stored nowhere: any node can check it. A revoked one
// is listed in the crawl document, so all members refuse it (packages crawldoc and spread).
//
// The package starts no goroutine and has no queue. A Judge reads memory only; an Audit writes and syncs
// its file in its caller, one caller at a time.
package access
