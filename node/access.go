package node

import (
	"crypto/tls"
	"net"

	"crawlnode/clusterkey"
)

// Access is what a program needs to reach the API of a cluster with a key.
type Access struct {
	Token string
	TLS   *tls.Config
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

// NewKeyFile makes a cluster key and stores it in a new file that only its owner
// may read. It returns the key's fingerprint.
func NewKeyFile(path string) (fingerprint string, err error) {
	k, err := clusterkey.Generate()
	if err != nil {
		return "", err
	}
	if err := k.Save(path); err != nil {
		return "", storageError("store the key", err)
	}
	return k.Fingerprint(), nil
}

// HTTPListener is bound and waits for the API to be served on it; with a cluster
// key it speaks TLS.
func (n *Node) HTTPListener() net.Listener {
	if n.keys.key == nil {
		return n.http
	}
	return tls.NewListener(n.http, n.keys.key.APITLS())
}
