// Package clusterkey derives from the one secret of a cluster everything that
// keeps strangers out of it.
//
// A key is 32 random octets, kept in a file of one line:
//
//	crawlnode-key-1:<base64 of the 32 octets and a checksum of 4>
//
// Everything else is derived from it with HKDF-SHA256 (RFC 5869), each value
// under a name of its own, so that none of them reveals anything about another or
// about the key:
//
//	gossip key   32 octets for the encryption of membership messages
//	API token    sent by programs as Bearer and by browsers as password
//	identity     an Ed25519 key with a self-signed certificate, for TLS
//	token code   signs tokens with fewer rights, each with a role, an id and an
//	             expiry (Token); their holders need no key
//
// All nodes of a cluster have the same identity: a connection between two nodes
// is TLS 1.3, and each side accepts only that public key of the other. No
// authority, name or date is checked, so nothing expires and a wrong clock does no
// harm. The key does not distinguish nodes, and does not protect from anyone who has
// it: a holder of the key is fully trusted.
//
// A Key is made once by Generate, Parse or Load, is immutable, and prints as its
// fingerprint; only Text returns the secret.
package clusterkey
