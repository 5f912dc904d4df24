// Package botauth signs requests so that a web server can tell who sent them: Web Bot Auth
// (draft-ietf-webbotauth-httpsig-protocol), a profile of HTTP Message Signatures (RFC 9421).
//
// A Signer has a key pair of Ed25519 (RFC 8032) and the https address that publishes the public
// half. Each request gets three header fields:
//
//	Signature-Agent: sig1="https://bot.example"
//	Signature-Input: sig1=("@authority" "signature-agent";key="sig1");created=…;keyid="…";…
//	Signature:       sig1=:…:
//
// A signature covers the host that the request goes to, so nobody who receives it can show it to
// another host; it lives for a quarter of an hour and has a nonce of its own. The key's id is its
// JWK thumbprint (RFC 7638, with RFC 8037 appendix A.3).
//
// A Directory is what the address publishes: the public keys as a JWK Set (RFC 7517), and the
// signature of each over the host that was asked and the body's digest (RFC 9530), so that nobody
// can publish another's keys as their own.
//
// The package is pure: time and randomness are arguments, and it reads and writes no file. It
// serialises the few structured fields (RFC 9651) that it needs itself, because all of them are
// made here, of known bytes; it parses none.
package botauth
