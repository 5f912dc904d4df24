package clusterkey

import (
	"crypto/tls"
	"slices"
	"sync/atomic"
)

// Ring holds the keys of a node while its cluster replaces its key: the node presents the
// first one and accepts all. It is safe for concurrent use; the TLS configurations made
// from it follow each Set.
type Ring struct{ keys atomic.Pointer[[]Key] }

// NewRing makes a ring; also are the keys that are accepted beside the one in use.
func NewRing(use Key, also ...Key) *Ring {
	r := &Ring{}
	r.Set(use, also...)
	return r
}

// Set replaces all keys.
func (r *Ring) Set(use Key, also ...Key) {
	keys := append([]Key{use}, also...)
	r.keys.Store(&keys)
}

// Keys returns the accepted keys, the one in use first. The caller must not change them.
func (r *Ring) Keys() []Key { return *r.keys.Load() }

// ServerTLS is Key.ServerTLS for all keys of the ring: the dialing side names the
// identity that it expects.
func (r *Ring) ServerTLS() *tls.Config {
	c := r.APITLS()
	c.ClientAuth = tls.RequireAnyClientCert
	c.VerifyConnection = r.verify
	return c
}

// APITLS is Key.APITLS for all keys of the ring.
func (r *Ring) APITLS() *tls.Config {
	c := baseTLS()
	c.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		keys := r.Keys()
		for i := range keys {
			if nameOf(keys[i].pin()) == hello.ServerName {
				return &keys[i].certificate, nil
			}
		}
		return &keys[0].certificate, nil
	}
	return c
}

// ClientTLS is Key.ClientTLS for the key in use. If the other side presents another
// identity, the next attempt expects that of the next key: the other side may be one step
// behind, or ahead.
func (r *Ring) ClientTLS(try int) *tls.Config {
	keys := r.Keys()
	return keys[try%len(keys)].ClientTLS()
}

// Takes reports whether the other side of a connection has presented an identity that is
// still accepted.
func (r *Ring) Takes(state tls.ConnectionState) bool { return r.verify(state) == nil }

// Shows reports whether the other side has presented the identity of the key in use.
func (r *Ring) Shows(state tls.ConnectionState) bool {
	public, err := identityOf(state)
	return err == nil && public.Equal(r.Keys()[0].public)
}

func (r *Ring) verify(state tls.ConnectionState) error {
	public, err := identityOf(state)
	if err == nil && !slices.ContainsFunc(r.Keys(),
		func(k Key) bool { return public.Equal(k.public) }) {
		err = errOtherKey
	}
	return err
}
