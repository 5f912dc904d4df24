package gossip

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
)

// SetKeys changes the keys: from now on packets are encrypted with use, and accepted
// when encrypted with use or one of also. It may be called at any time, by one
// goroutine at a time. A node that had no key cannot get one.
func (g *Gossip) SetKeys(use []byte, also ...[]byte) error {
	ring := g.keys
	if ring == nil {
		return errors.New("membership: this node was opened without a key")
	}
	all := append([][]byte{use}, also...)
	if t, ok := g.transport.(*netTransport); ok {
		if err := t.filter.setKeys(all); err != nil {
			return fmt.Errorf("membership: the gossip keys: %w", err)
		}
	}
	forget := func() error { // from the last to the first: RemoveKey moves the later ones in place
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
