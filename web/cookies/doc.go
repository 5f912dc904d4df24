// Package cookies keeps the cookies that one host has set, as bytes that can be stored with a
// URL or with the host's state.
//
//	cookies.go  Jar: what answers set, and what requests send
//	parse.go    reads and writes one cookie
//	given.go    a jar of cookies that no answer has set, such as those of a cookie file
//
// A Jar belongs to one host, and its cookies are sent to no other: the Domain attribute, which
// would send cookies to sibling hosts as well, only decides whether a cookie is accepted and which
// one it replaces. What is set, kept and sent follows RFC 6265bis (draft 22, whose sections are
// cited) as far as it concerns one host: names, values and attributes as section 5.6 reads them,
// domains and public suffixes, default paths, path matching, Secure, which plain http can neither
// set nor hide, expiry with a limit of 400 days, the __Secure- and __Host- prefixes, and the order
// of the header. Ports have no cookies of their own.
//
// HttpOnly concerns scripts, which see no cookies here. A crawler asks for a page as somebody does
// who types its address, so cookies of every SameSite go with it. The visit of a part does not know
// the page that asks for it: package render lets no page ask for parts of a site whose rules give
// it a log-in that the page's own do not have. SameSite=None without Secure is refused.
//
// A Jar is bounded (Limits): cookies that are too large are refused, and a full Jar drops the
// oldest, first of those that may be sent over plain http.
package cookies
