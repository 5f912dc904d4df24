package clusterkey

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Token gives one program or person a role in a cluster, for some time. Its text is
//
//	cn1.<role>.<id>.<expiry>.<pin>.<code>
//
// with the expiry in seconds of Unix time, the fingerprint of the cluster's identity, by
// which its holder recognises a node of the cluster, and an HMAC-SHA256 of all before it
// under a key derived from the cluster's. So every node can verify it and no list of
// tokens is kept; when the cluster's key is replaced, all its tokens become invalid. No
// part of it needs escaping in a header.
type Token struct {
	Role    string // a word of lower-case letters; what it allows is the API's matter
	ID      string // 16 hexadecimal digits
	Expires time.Time
}

// MaxTokenLife bounds how long a token may be valid. A revoked one must be remembered as
// long.
const MaxTokenLife = 366 * 24 * time.Hour

const (
	tokenVersion  = "cn1"
	maxTokenBytes = 256
	tokenFields   = 6
	idLen         = 8 // in octets
)

// Errors of ReadToken.
var (
	ErrNotToken = errors.New("this is no token of this cluster's key")
	ErrExpired  = errors.New("the token has expired")
)

// NewToken makes a token of a random id.
func (k Key) NewToken(role string, life time.Duration, now time.Time) (Token, string, error) {
	if role == "" || strings.Trim(role, "abcdefghijklmnopqrstuvwxyz") != "" {
		return Token{}, "", fmt.Errorf("a token's role is a word of lower-case letters, not %q", role)
	}
	if life < time.Second || life > MaxTokenLife {
		return Token{}, "", fmt.Errorf("a token is valid for 1s to %d days, not %v",
			MaxTokenLife/(24*time.Hour), life)
	}
	var id [idLen]byte
	if _, err := rand.Read(id[:]); err != nil {
		return Token{}, "", fmt.Errorf("make a token: %w", err)
	}
	t := Token{Role: role, ID: hex.EncodeToString(id[:]), Expires: now.Add(life).Truncate(time.Second)}
	body := strings.Join([]string{tokenVersion, t.Role, t.ID, strconv.FormatInt(t.Expires.Unix(), 10),
		k.pin()}, ".")
	return t, body + "." + k.codeOf(body), nil
}

// IsTokenID reports whether text could be the id of a token.
func IsTokenID(text string) bool {
	return len(text) == 2*idLen && strings.Trim(text, "0123456789abcdef") == ""
}

// codeOf authenticates a token's text.
func (k Key) codeOf(body string) string {
	mac := hmac.New(sha256.New, k.tokens[:])
	mac.Write([]byte(body))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// ReadToken verifies a token's text. For a token that was not made with this key its
// error gives no reason.
func (k Key) ReadToken(text string, now time.Time) (Token, error) {
	cut := strings.LastIndexByte(text, '.')
	if len(text) > maxTokenBytes || cut < 0 ||
		subtle.ConstantTimeCompare([]byte(text[cut+1:]), []byte(k.codeOf(text[:cut]))) != 1 {
		return Token{}, ErrNotToken
	}
	t, _, err := parseToken(text)
	if err == nil && !now.Before(t.Expires) {
		err = ErrExpired
	}
	return t, err
}

// parseToken reads the fields of a token, with the fingerprint of its cluster. Only a
// node can verify them.
func parseToken(text string) (t Token, pin string, err error) {
	parts := strings.Split(text, ".")
	if len(text) > maxTokenBytes || len(parts) != tokenFields || parts[0] != tokenVersion {
		return Token{}, "", ErrNotToken
	}
	seconds, err := strconv.ParseInt(parts[3], 10, 64)
	if err != nil || parts[1] == "" || parts[2] == "" || len(parts[4]) != 2*pinLen {
		return Token{}, "", ErrNotToken
	}
	return Token{Role: parts[1], ID: parts[2], Expires: time.Unix(seconds, 0).UTC()}, parts[4], nil
}

// TokenTLS returns the configuration with which the holder of a token, who has no key,
// reaches a node: it accepts only the cluster that the token was made for.
func TokenTLS(text string) (*tls.Config, error) {
	_, pin, err := parseToken(strings.TrimSpace(text))
	if err != nil {
		return nil, errors.New(
			"this is no token: make one with: crawlnode keygen --role read|operate|admin KEYFILE")
	}
	c := baseTLS()
	c.InsecureSkipVerify = true // exactly one fingerprint is accepted, which is checked
	c.ServerName = nameOf(pin)
	c.VerifyConnection = func(state tls.ConnectionState) error {
		public, err := identityOf(state)
		if err != nil {
			return err
		}
		if subtle.ConstantTimeCompare([]byte(pinOf(public)), []byte(pin)) != 1 {
			return errOtherKey
		}
		return nil
	}
	return c, nil
}
