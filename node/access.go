package node

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"time"

	"crawlnode/crawl"
	"crawlnode/security/access"
	"crawlnode/security/clusterkey"
)

// HTTPListener is bound and waits for the API to be served on it; with a cluster
// key it speaks TLS.
func (n *Node) HTTPListener() net.Listener {
	if n.keys.ring == nil {
		return n.http
	}
	return tls.NewListener(n.http, n.keys.ring.APITLS())
}

// APITLS is the identity of a listener for programs; nil without a cluster key: it speaks plain
// text.
func (n *Node) APITLS() *tls.Config {
	if n.keys.ring == nil {
		return nil
	}
	return n.keys.ring.APITLS()
}

// Access judges what callers of the API show; nil without a cluster key.
func (n *Node) Access() func(secret string) (crawl.Caller, error) {
	if n.keys.ring == nil {
		return nil
	}
	judge := access.NewJudge(n.keys.ring, func(id string) bool {
		_, revoked := n.doc.Current().Doc.Revoked[id]
		return revoked
	})
	return func(secret string) (crawl.Caller, error) { return judge.Asker(secret, time.Now()) }
}

// RecordChange writes down what this node was asked to change.
func (n *Node) RecordChange(e crawl.AuditEntry) { n.audit.Record(e) }

// RevokeToken ends a token on all members: spread.Spreader.Revoke. One that nobody has made
// can be revoked as well.
func (n *Node) RevokeToken(ctx context.Context, id string) (crawl.RevokeReport, error) {
	report := crawl.RevokeReport{ID: id, Untold: []string{}}
	switch {
	case n.keys.ring == nil:
		return report, fmt.Errorf("%w: this cluster has no key, so it has no tokens", crawl.ErrRefused)
	case !clusterkey.IsTokenID(id):
		return report, &crawl.FieldErrors{Fields: []crawl.FieldError{{
			Field:  "id",
			Detail: "is 16 hexadecimal digits, the third field of the token: cn1.<role>.<id>...",
		}}}
	}
	return n.spread.Revoke(ctx, id)
}
