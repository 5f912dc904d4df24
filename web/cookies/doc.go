// Package cookies keeps the cookies that one host has set, as bytes that can be stored with a
// URL or with the host's state.
//
// A Jar belongs to one host and never speaks to another: the Domain attribute, which would let
// cookies go to the host's relatives, only decides whether a cookie is accepted. What is set, kept
// and sent follows RFC 6265bis as far as it concerns one host: names, values and attributes as
// section 5.6 reads them, domain and public suffix rules as net/http/cookiejar has them, default paths, path
// matching, Secure, expiry, and the __Secure- and __Host- prefixes. HttpOnly and SameSite concern
// scripts and other sites' pages, of which there are none here.
//
// A Jar is bounded (Limits): what does not fit is not kept, the oldest cookies go first.
package cookies
