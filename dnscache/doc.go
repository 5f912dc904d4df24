// Package dnscache resolves host names to addresses, with as few queries to the name
// servers as possible.
//
// The life of a look-up:
//
//	Lookup(host)
//	  IP literal, localhost, hosts file   answered at once, without a query
//	  entry still good                    answered from memory (hit, negative hit)
//	  a flight for the name is under way  wait for it
//	  otherwise                           take a slot, start a flight, wait
//
//	flight: A, then AAAA if there is no A (or both, by option)
//	  each query: the servers in order of health, UDP with EDNS0 1232 octets,
//	  TCP when the answer was truncated, a second round after time-outs
//	  CNAMEs followed inside an answer and by further queries, within bounds
//	  -> positive entry:  TTL of the shortest link of the chain, clamped
//	  -> negative entry:  NXDOMAIN or no address; TTL from the SOA (RFC 2308), clamped
//	  -> failure:         an expired positive entry is served again (RFC 8767) for
//	                      up to StaleFor; else the failure itself is kept for a
//	                      few seconds (RFC 9520), after each that follows twice as
//	                      long, up to 5 minutes, so that a dead server is not
//	                      asked once per URL
//
// If no server answers a look-up, and none has answered any query since the look-up
// began, all are asked at once for the root servers. If there is no reply either, it is
// an outage of the servers and says nothing about the name. Until one of them replies,
// one look-up at a time tries again, after pauses of 1 s to 15 s; the others are answered
// immediately, with an expired address or ErrOutage.
//
// What is bounded, and what happens when it is full:
//
//	entries   MaxEntries; the one not used for longest is dropped, among those of the
//	          same owner if that has an eighth
//	flights   Concurrency; Lookup waits for a slot
//	queries   PerServer for each server, fewer for a rate-limiting one (window.go); the
//	          flight waits, or asks the next healthy server
//	answers   MaxAddrs addresses of a name are kept, the first ones
//	chains    16 names and 8 queries; beyond that the name counts as not found
//	flight    LookupTimeout in all, whatever the servers do; Timeout more when all are silent
//
// Two classes of error: ErrNotFound (the name has no address: an answer) and
// ErrFailed (no server could answer: try again later). ErrOutage and ErrLimited are
// ErrFailed for which the name is not to blame. Any other error of Lookup is the
// caller's own context.
//
// No entry is renewed before it expires: a caller that needs an address ahead of a visit
// looks it up then, as the scheduler does. So a name costs one query for each lifetime of
// its address in which it is needed. AAAA is asked for only if there is no A.
//
// The package does not judge addresses: a name that points into a private network is
// answered like any other, and the caller must check before it connects. It validates no
// DNSSEC, follows no delegation from the root and uses no search list: a host name is
// always complete.
package dnscache
