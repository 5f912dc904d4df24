// Package cookies keeps the cookies that one host has set, as bytes that can be stored with a
// URL or with the host's state.
//
// A Jar belongs to one host, and its cookies are sent to no other: the Domain attribute, which
// would send cookies to sibling hosts as well, only decides whether a cookie is accepted. What is
// set, kept and sent follows RFC 6265bis as far as it concerns one host: names, values and
// attributes as section 5.6 reads them, domain and public suffix rules as net/http/cookiejar has
// them, default paths, path matching, Secure, expiry, and the __Secure- and __Host- prefixes.
// HttpOnly and SameSite concern scripts and other sites' pages, of which there are none here.
//
// A Jar is bounded (Limits): cookies that are too large are refused, and a full Jar drops the
// oldest.
package cookies
