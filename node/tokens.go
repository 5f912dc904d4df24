package node

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"time"

	"crawlnode/clusterkey"
	"crawlnode/crawl"
	"crawlnode/node/crawldoc"
)

// Access judges what callers of the API show; nil without a cluster key.
func (n *Node) Access() func(secret string) (crawl.Asker, error) {
	if n.keys.ring == nil {
		return nil
	}
	return func(secret string) (crawl.Asker, error) { return n.askerOf(secret, time.Now()) }
}

// askerOf tells who holds a secret: the key itself, or a token made with it.
// While the key is being replaced both keys count, with the tokens of both.
func (n *Node) askerOf(secret string, now time.Time) (asker crawl.Asker, err error) {
	for _, k := range n.keys.ring.Keys() {
		if asker, err = n.askerBy(&k, secret, now); !errors.Is(err, clusterkey.ErrNotToken) {
			break
		}
	}
	return asker, err
}

// askerBy judges by one key.
func (n *Node) askerBy(k *clusterkey.Key, secret string, now time.Time) (crawl.Asker, error) {
	if subtle.ConstantTimeCompare([]byte(secret), []byte(k.APIToken())) == 1 {
		return crawl.Asker{ID: crawl.KeyAsker, Role: crawl.RoleAdmin}, nil
	}
	t, err := k.ReadToken(secret, now)
	if errors.Is(err, clusterkey.ErrExpired) {
		return crawl.Asker{}, fmt.Errorf("%w: the token %s has expired: make another one with crawlnode keygen --role %s", crawl.ErrForbidden, t.ID, t.Role)
	}
	if err != nil {
		return crawl.Asker{}, err
	}
	if _, revoked := n.doc.Current().Doc.Revoked[t.ID]; revoked {
		return crawl.Asker{}, fmt.Errorf("%w: the token %s was revoked", crawl.ErrForbidden, t.ID)
	}
	role, err := crawl.ParseRole(t.Role)
	if err != nil {
		return crawl.Asker{}, fmt.Errorf("%w: the token is of a newer release: %w", crawl.ErrForbidden, err)
	}
	return crawl.Asker{ID: t.ID, Role: role}, nil
}

// RevokeToken ends a token: here, durably, and on every member that answers within
// controlPatience. One that nobody has made can be revoked as well.
func (n *Node) RevokeToken(ctx context.Context, id string) (crawl.RevokeReport, error) {
	report := crawl.RevokeReport{ID: id, Untold: []string{}}
	switch {
	case n.keys.ring == nil:
		return report, fmt.Errorf("%w: this cluster has no key, so it has no tokens", crawl.ErrRefused)
	case !clusterkey.IsTokenID(id):
		return report, &crawl.FieldErrors{Fields: []crawl.FieldError{{Field: "id", Detail: "is 16 hexadecimal digits, the third field of the token: cn1.<role>.<id>..."}}}
	case !n.synced.Load():
		return report, ErrNotReady
	}
	now := time.Now()
	full := false
	doc, err := n.doc.Change(func(d *crawldoc.Document) *crawldoc.Document {
		next := d.Revoke(id, n.id, now)
		if full = next != nil && len(next.Revoked) > crawldoc.MaxRevoked; full {
			return nil
		}
		return next
	})
	if err != nil {
		return report, err
	}
	if full {
		return report, fmt.Errorf("%w: %d tokens are revoked already: a new key ends them all: crawlnode nodes rotate-key (see its --help)", crawl.ErrRefused, crawldoc.MaxRevoked)
	}
	if doc != nil {
		n.log.Info("a token was revoked", "token", id)
		n.documentChanged()
	}
	ctx, cancel := context.WithTimeout(ctx, controlPatience)
	defer cancel()
	for _, m := range n.spread.tell(ctx) {
		report.Untold = append(report.Untold, m.Name)
	}
	return report, nil
}
