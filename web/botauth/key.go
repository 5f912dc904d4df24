package botauth

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
)

// MaxKeys is how many keys there may be at a time: the one that signs, and the one before or after
// it.
const MaxKeys = 2

// pemType is the label of PKCS #8 in PEM (RFC 7468, section 10).
const pemType = "PRIVATE KEY"

// Key is a key pair of Ed25519. Its private half is never printed.
type Key struct {
	private    ed25519.PrivateKey
	thumbprint string
}

// NewKey makes the key of a seed of 32 random bytes (RFC 8032, section 5.1.5).
func NewKey(seed [ed25519.SeedSize]byte) Key { return keyOf(ed25519.NewKeyFromSeed(seed[:])) }

func keyOf(private ed25519.PrivateKey) Key {
	// The members of RFC 7638, section 3.2, for an OKP key (RFC 8037, section 2), in their order.
	sum := sha256.Sum256([]byte(`{"crv":"Ed25519","kty":"OKP","x":"` + x(private) + `"}`))
	return Key{private, base64.RawURLEncoding.EncodeToString(sum[:])}
}

// x is the public half as RFC 8037, section 2, writes it.
func x(private ed25519.PrivateKey) string {
	public, ok := private.Public().(ed25519.PublicKey)
	if !ok {
		panic("BUG: the public half of an Ed25519 key is no Ed25519 key")
	}
	return base64.RawURLEncoding.EncodeToString(public)
}

// ID is the key's JWK thumbprint (RFC 7638), which Signature-Input calls keyid.
func (k Key) ID() string { return k.thumbprint }

// String names the key by its public half.
func (k Key) String() string { return "bot key " + k.thumbprint }

// GoString is String: %#v prints no private key.
func (k Key) GoString() string { return k.String() }

// PEM is the key as its file has it: PKCS #8 (RFC 8410) in PEM.
func (k Key) PEM() []byte {
	der, err := x509.MarshalPKCS8PrivateKey(k.private)
	if err != nil {
		panic("BUG: an Ed25519 key cannot be written: " + err.Error())
	}
	return pem.EncodeToMemory(&pem.Block{Type: pemType, Bytes: der})
}

// ParseKeys reads a key file: one block of PEM, or two while a key is replaced. The first key
// signs; the public halves of both are published.
func ParseKeys(text []byte) ([]Key, error) {
	begun := bytes.Count(text, []byte("-----BEGIN "))
	var keys []Key
	for {
		block, rest := pem.Decode(text)
		if block == nil {
			break
		}
		text = rest
		k, err := parseBlock(block)
		if err != nil {
			return nil, fmt.Errorf("key %d: %w", len(keys)+1, err)
		}
		if len(keys) > 0 && keys[0].thumbprint == k.thumbprint {
			return nil, errors.New("both keys are the same: leave one out")
		}
		if keys = append(keys, k); len(keys) > MaxKeys {
			return nil, fmt.Errorf(
				"there are more than %d keys: keep the one that signs and the one before or after it", MaxKeys)
		}
	}
	switch {
	case len(keys) < begun: // pem.Decode skips what it cannot read, which may be the key that signs
		return nil, fmt.Errorf("%d of %d blocks of PEM are damaged: each needs its BEGIN and END lines",
			begun-len(keys), begun)
	case len(keys) == 0:
		return nil, errors.New(
			"there is no private key in PEM: make one with: crawlnode keygen --bot FILE")
	}
	return keys, nil
}

func parseBlock(block *pem.Block) (Key, error) {
	if block.Type != pemType {
		return Key{}, fmt.Errorf(
			"it is %q, not %q: give a private key of Ed25519 as PKCS #8, without a password", block.Type,
			pemType)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return Key{}, errors.New("it is not PKCS #8: make one with: crawlnode keygen --bot FILE")
	}
	private, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return Key{}, fmt.Errorf(
			"it is a %T, not a key of Ed25519: make one with: crawlnode keygen --bot FILE", parsed)
	}
	return keyOf(private), nil
}
