package membership

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
)

// secretKeys are all keys that gossip is read with, the one in use first; none without a
// key.
func (o *Options) secretKeys() [][]byte {
	if len(o.SecretKey) == 0 {
		return nil
	}
	return append([][]byte{o.SecretKey}, o.AlsoKeys...)
}

// SetKeys has gossip sent with one key from now on, and read with that one and also. At
// any time between Open and Close; by one goroutine. A node that had no key cannot get
// one.
func (m *Membership) SetKeys(use []byte, also ...[]byte) error {
	ring := m.gossip.keys
	if ring == nil {
		return errors.New("membership: this node was opened without a key")
	}
	all := append([][]byte{use}, also...)
	if t, ok := m.transport.(*netTransport); ok {
		if err := t.sieve.setKeys(all); err != nil {
			return fmt.Errorf("membership: the gossip keys: %w", err)
		}
	}
	forget := func() error { // from the last to the first: memberlist moves what stands behind in place
		keys := ring.GetKeys()
		for _, key := range slices.Backward(keys[1:]) {
			if !slices.ContainsFunc(all, func(k []byte) bool { return bytes.Equal(k, key) }) {
				if err := ring.RemoveKey(key); err != nil {
					return err
				}
			}
		}
		return nil
	}
	err := forget()
	for _, key := range all {
		err = errors.Join(err, ring.AddKey(key))
	}
	if err = errors.Join(err, ring.UseKey(use), forget()); err != nil {
		return fmt.Errorf("membership: the gossip keys: %w", err)
	}
	return nil
}
