package clusterkey

import (
	"bytes"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strings"
)

const (
	prefix      = "crawlnode-key-1:"
	secretLen   = 32
	checksumLen = 4
	// maxFileBytes bounds what Load reads: a key file has 65 bytes.
	maxFileBytes = 4 << 10
)

// The names under which things are derived (the "info" of HKDF). They are part
// of the protocol: changing one shuts out nodes of other versions.
const (
	infoGossip   = "crawlnode gossip 1"
	infoToken    = "crawlnode api token 1"
	infoIdentity = "crawlnode tls identity 1"
	infoTokens   = "crawlnode scoped tokens 1"
)

// Key is a cluster's key with everything derived from it. The zero value is no key.
type Key struct {
	secret      [secretLen]byte
	gossip      [32]byte
	tokens      [32]byte // authenticates the tokens made with it
	token       string
	certificate tls.Certificate
	public      ed25519.PublicKey
}

// Generate makes a new key from the system's randomness.
func Generate() (Key, error) {
	var secret [secretLen]byte
	if _, err := rand.Read(secret[:]); err != nil {
		return Key{}, fmt.Errorf("make a cluster key: %w", err)
	}
	return derive(secret)
}

// Parse reads the text form. White space around it is ignored. Errors never contain the
// text.
func Parse(text string) (Key, error) {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return Key{}, errors.New("the cluster key is empty")
	case strings.ContainsAny(text, "\r\n"):
		return Key{}, errors.New(
			"this is no cluster key: it has more than one line; make one with: crawlnode keygen")
	case !strings.HasPrefix(text, prefix):
		return Key{}, fmt.Errorf(
			"this is no cluster key: it does not begin with %q; make one with: crawlnode keygen", prefix)
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(text[len(prefix):])
	if err != nil || len(raw) != secretLen+checksumLen {
		return Key{}, errors.New("the cluster key is truncated or altered: copy its file again")
	}
	secret := [secretLen]byte(raw)
	if sum := sha256.Sum256(secret[:]); !bytes.Equal(sum[:checksumLen], raw[secretLen:]) {
		return Key{}, errors.New(
			"the cluster key is altered (its checksum is wrong): copy its file again")
	}
	return derive(secret)
}

// Load reads a key file. A file that every user of the machine may read is refused:
// its key protects nothing.
func Load(path string) (Key, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Key{}, fmt.Errorf("read the cluster key: %w; make one with: crawlnode keygen", err)
	}
	if err != nil {
		return Key{}, fmt.Errorf("read the cluster key: %w", err)
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return Key{}, fmt.Errorf("read the cluster key: %w", err)
	}
	if !info.Mode().IsRegular() {
		return Key{}, fmt.Errorf("read the cluster key: %s is not a file", path)
	}
	if mode := info.Mode().Perm(); mode&0o007 != 0 && runtime.GOOS != "windows" {
		return Key{}, fmt.Errorf(
			"the cluster key in %s can be read by all users (mode %04o): chmod 600 %s", path, mode, path)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxFileBytes))
	if err != nil {
		return Key{}, fmt.Errorf("read the cluster key: %w", err)
	}
	key, err := Parse(string(text))
	if err != nil {
		return Key{}, fmt.Errorf("%s: %w", path, err)
	}
	return key, nil
}

// Save writes the key to a new file that only its owner may read. It never replaces a
// file: the old key could be the only copy of a cluster's.
func (k Key) Save(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("save the cluster key: %w", err)
	}
	_, err = file.WriteString(k.Text() + "\n")
	if err == nil {
		err = file.Sync()
	}
	if e := file.Close(); err == nil {
		err = e
	}
	if err != nil {
		return fmt.Errorf("save the cluster key: %w", err)
	}
	return nil
}

// derive computes everything that depends on the secret.
func derive(secret [secretLen]byte) (Key, error) {
	k := Key{secret: secret}
	var seed []byte
	for _, d := range []struct {
		info string
		use  func([]byte)
	}{
		{infoGossip, func(b []byte) { k.gossip = [32]byte(b) }},
		{infoToken, func(b []byte) { k.token = base64.RawURLEncoding.EncodeToString(b) }},
		{infoIdentity, func(b []byte) { seed = b }},
		{infoTokens, func(b []byte) { k.tokens = [32]byte(b) }},
	} {
		b, err := hkdf.Key(sha256.New, secret[:], nil, d.info, 32)
		if err != nil {
			return Key{}, fmt.Errorf("derive from the cluster key: %w", err)
		}
		d.use(b)
	}
	private := ed25519.NewKeyFromSeed(seed)
	k.public = private.Public().(ed25519.PublicKey)
	var err error
	if k.certificate, err = selfSigned(private); err != nil {
		return Key{}, fmt.Errorf("derive from the cluster key: %w", err)
	}
	return k, nil
}

// Text gives the secret in its text form, without end of line.
func (k Key) Text() string {
	sum := sha256.Sum256(k.secret[:])
	return prefix + base64.StdEncoding.EncodeToString(append(k.secret[:], sum[:checksumLen]...))
}

// GossipKey returns the 32 octets for AES-256 that encrypt membership messages.
func (k Key) GossipKey() []byte { return bytes.Clone(k.gossip[:]) }

// APIToken returns the token that the API demands: 43 characters that need no escaping
// in a header.
func (k Key) APIToken() string { return k.token }

// Fingerprint identifies the key for people without revealing it.
func (k Key) Fingerprint() string { return k.pin()[:16] }

// pinLen is how many octets of a digest identify the cluster in a token: to find another
// identity with the same octets takes 2^128 attempts.
const pinLen = 16

// pin is the digest of the cluster's identity.
func (k Key) pin() string { return pinOf(k.public) }

func pinOf(public ed25519.PublicKey) string {
	sum := sha256.Sum256(public)
	return hex.EncodeToString(sum[:pinLen])
}

// String keeps the secret out of logs.
func (k Key) String() string { return "cluster key " + k.Fingerprint() }

// GoString keeps it out of debug output.
func (k Key) GoString() string { return k.String() }
