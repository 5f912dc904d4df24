package access

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"time"

	"crawlnode/crawl"
	"crawlnode/security/clusterkey"
)

// Judge tells callers of the API apart by the secret that they show. It may be used from anywhere.
type Judge struct {
	ring    *clusterkey.Ring
	revoked func(id string) bool
}

// NewJudge judges by the cluster's keys; revoked reports whether a token was revoked.
func NewJudge(ring *clusterkey.Ring, revoked func(id string) bool) *Judge {
	return &Judge{ring: ring, revoked: revoked}
}

// Asker is the caller with a secret: the key itself, or a token made with it.
// While the key is being replaced both keys count, with the tokens of both.
func (j *Judge) Asker(secret string, now time.Time) (asker crawl.Caller, err error) {
	for _, k := range j.ring.Keys() {
		if asker, err = j.askerBy(&k, secret, now); !errors.Is(err, clusterkey.ErrNotToken) {
			break
		}
	}
	return asker, err
}

// askerBy judges by one key.
func (j *Judge) askerBy(k *clusterkey.Key, secret string, now time.Time) (crawl.Caller, error) {
	if subtle.ConstantTimeCompare([]byte(secret), []byte(k.APIToken())) == 1 {
		return crawl.Caller{ID: crawl.KeyCaller, Role: crawl.RoleAdmin}, nil
	}
	t, err := k.ReadToken(secret, now)
	if errors.Is(err, clusterkey.ErrExpired) {
		return crawl.Caller{}, fmt.Errorf(
			"%w: the token %s has expired: make another one with crawlnode keygen --role %s",
			crawl.ErrForbidden, t.ID, t.Role)
	}
	if err != nil {
		return crawl.Caller{}, err
	}
	if j.revoked(t.ID) {
		return crawl.Caller{}, fmt.Errorf("%w: the token %s was revoked", crawl.ErrForbidden, t.ID)
	}
	role, err := crawl.ParseRole(t.Role)
	if err != nil {
		return crawl.Caller{}, fmt.Errorf("%w: the token is of a newer release: %w", crawl.ErrForbidden,
			err)
	}
	return crawl.Caller{ID: t.ID, Role: role}, nil
}
