package clusterkey

import (
	"crypto/tls"
	"slices"
	"sync/atomic"
)

// Ring is the keys of a node while its cluster goes from one to another: it shows and
// sends the first and takes all. It is safe for concurrent use; what was made of it
// follows each Set.
type Ring struct{ keys atomic.Pointer[[]Key] }

// NewRing makes a ring; also are the keys that are taken beside the one in use.
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

// Keys are those that are taken, the one in use first. They are not to be changed.
func (r *Ring) Keys() []Key { return *r.keys.Load() }

// ServerTLS is Key's, for all keys of the ring: who dials names the identity it wants.
func (r *Ring) ServerTLS() *tls.Config {
	c := r.APITLS()
	c.ClientAuth = tls.RequireAnyClientCert
	c.VerifyConnection = r.verify
	return c
}

// APITLS is Key's, for all keys of the ring.
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

// ClientTLS is Key's, for the key in use, and at the next try, after the other side has
// shown another identity, for the next one: it may be a step behind, or ahead.
func (r *Ring) ClientTLS(try int) *tls.Config {
	keys := r.Keys()
	return keys[try%len(keys)].ClientTLS()
}

// Takes reports whether the other side of a connection has shown an identity that is
// still taken.
func (r *Ring) Takes(state tls.ConnectionState) bool { return r.verify(state) == nil }

// Shows reports whether the other side has shown the identity that this node shows first.
func (r *Ring) Shows(state tls.ConnectionState) bool {
	public, err := identityOf(state)
	return err == nil && public.Equal(r.Keys()[0].public)
}

func (r *Ring) verify(state tls.ConnectionState) error {
	public, err := identityOf(state)
	if err == nil && !slices.ContainsFunc(r.Keys(), func(k Key) bool { return public.Equal(k.public) }) {
		err = errOtherKey
	}
	return err
}
