package node

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"strings"
	"time"

	"crawlnode/clusterkey"
	"crawlnode/crawl"
	"crawlnode/node/access"
	"crawlnode/node/datadir"
)

// Access is what a program needs to reach the API of a cluster with a key.
type Access struct {
	Token string
	TLS   *tls.Config
}

// maxTokenFile bounds what is read of a file with a token, which has some 150 bytes.
const maxTokenFile = 4 << 10

// LoadToken reads a file with a token, as keygen --role prints it, for a program that
// calls the API and has no key.
func LoadToken(file string) (Access, error) {
	f, err := os.Open(file)
	if err != nil {
		return Access{}, usageError(fmt.Errorf("read the token: %w", err))
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxTokenFile))
	if err != nil {
		return Access{}, usageError(fmt.Errorf("read the token: %w", err))
	}
	token := strings.TrimSpace(string(text))
	tls, err := clusterkey.TokenTLS(token)
	if err != nil {
		return Access{}, usageError(fmt.Errorf("%s: %w", file, err))
	}
	return Access{Token: token, TLS: tls}, nil
}

// NewToken makes a token of a role with the key in a file. It keeps nothing.
func NewToken(keyFile string, role crawl.Role, life time.Duration) (token clusterkey.Token, text string, err error) {
	k, err := clusterkey.Load(keyFile)
	if err == nil {
		token, text, err = k.NewToken(role.String(), life, time.Now())
	}
	if err != nil {
		err = usageError(err)
	}
	return token, text, err
}

// LoadAccess reads a cluster key file for a program that calls the API. Without
// a file there is nothing to show, and the zero Access is right.
func LoadAccess(keyFile string) (Access, error) {
	if keyFile == "" {
		return Access{}, nil
	}
	k, err := clusterkey.Load(keyFile)
	if err != nil {
		return Access{}, usageError(err)
	}
	return Access{Token: k.APIToken(), TLS: k.ClientTLS()}, nil
}

// LoadKeyText reads a cluster key file whole, for the order that replaces the key.
func LoadKeyText(keyFile string) (string, error) {
	k, err := clusterkey.Load(keyFile)
	if err != nil {
		return "", usageError(err)
	}
	return k.Text(), nil
}

// NewKeyFile makes a cluster key and stores it in a new file that only its owner
// may read. It returns the key's fingerprint.
func NewKeyFile(path string) (fingerprint string, err error) {
	k, err := clusterkey.Generate()
	if err != nil {
		return "", err
	}
	switch err := k.Save(path); {
	case errors.Is(err, fs.ErrExist):
		return "", usageError(fmt.Errorf("%s is there already and stays as it is: give another FILE, or say --keep if it is the key of this cluster", path))
	case errors.Is(err, fs.ErrNotExist):
		return "", usageError(fmt.Errorf("%w: make its folder first, or give another FILE", err))
	case err != nil:
		return "", datadir.Failed("store the key", err)
	}
	return k.Fingerprint(), nil
}

// HTTPListener is bound and waits for the API to be served on it; with a cluster
// key it speaks TLS.
func (n *Node) HTTPListener() net.Listener {
	if n.keys.ring == nil {
		return n.http
	}
	return tls.NewListener(n.http, n.keys.ring.APITLS())
}

// Access judges what callers of the API show; nil without a cluster key.
func (n *Node) Access() func(secret string) (crawl.Asker, error) {
	if n.keys.ring == nil {
		return nil
	}
	judge := access.NewJudge(n.keys.ring, func(id string) bool {
		_, revoked := n.doc.Current().Doc.Revoked[id]
		return revoked
	})
	return func(secret string) (crawl.Asker, error) { return judge.Asker(secret, time.Now()) }
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
		return report, &crawl.FieldErrors{Fields: []crawl.FieldError{{Field: "id", Detail: "is 16 hexadecimal digits, the third field of the token: cn1.<role>.<id>..."}}}
	}
	return n.spread.Revoke(ctx, id)
}
