// Package egress decides which addresses the crawl may connect to. A page, a redirect or a DNS
// answer can name any address, so each one is judged: a crawler that connects to private networks
// on a stranger's word is a hole in them (SSRF).
//
//	rules.go     Rules: what this node's own flags, its listeners and its peers forbid
//	own.go       the addresses of this machine and of the peers
//	nat64.go     IPv4 addresses inside IPv6 ones
//	refusals.go  Refusal: an address that this node refuses, perhaps for lack of a setting
//	resolver.go  Resolver: of a host's addresses, those that may be connected to
//	names.go     logs failures of the name servers
//
// The Resolver leaves addresses out early, so that another one of the host is taken. The fetcher
// asks Rules.Judge again when it connects, with the port: that is the check that counts.
//
// What the cluster's settings allow (allow-net, a contact for public hosts) is judged as well, but
// can never open what Rules forbid: neither a setting nor a token nor a page changes those
// (docs/decisions/0181-denied-addresses.md).
//
// The package starts no goroutine; every method may be called from any. Interfaces, NAT64 prefixes
// and refusals are kept behind atomic pointers.
package egress
