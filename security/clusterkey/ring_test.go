package clusterkey

import (
	"crypto/tls"
	"fmt"
	"testing"
	"time"
)

// TestRing is the table of who reaches whom at each step of a change of keys.
func TestRing(t *testing.T) {
	t.Parallel()
	before, after, other := generate(t), generate(t), generate(t)
	steps := []*Ring{NewRing(before), NewRing(before, after), NewRing(after, before), NewRing(after)}
	for i, server := range steps {
		for j, client := range steps {
			reached := false
			for try := range len(client.Keys()) {
				_, err := dialogue(t, server.ServerTLS(), client.ClientTLS(try))
				reached = reached || err == nil
			}
			// Two that are at most a step apart reach each other, and one that came back with both
			// keys reaches those that are done.
			if want := !(i == 0 && j == 3 || i == 3 && j == 0); reached != want {
				t.Errorf("a node at step %d reaches one at step %d: %v, want %v", j, i, reached, want)
			}
		}
		for j, key := range []Key{before, after, other} {
			_, err := dialogue(t, server.APITLS(), key.ClientTLS())
			if want := j == 0 && i < 3 || j == 1 && i > 0; (err == nil) != want {
				t.Errorf("who has key %d reaches the API of a node at step %d: %v", j, i, err)
			}
			if a, _ := dialogue(t, server.ServerTLS(), forged(key, before)); j == 2 && a == nil {
				t.Errorf("step %d: another key is taken", i)
			}
		}
	}
}

// forged shows the identity of k and takes any.
func forged(k, wanted Key) *tls.Config {
	c := k.ClientTLS()
	c.ServerName = nameOf(wanted.pin())
	c.VerifyConnection = nil
	return c
}

// TestRingFollows: a configuration that was made before a change judges by what is now.
func TestRingFollows(t *testing.T) {
	t.Parallel()
	before, after := generate(t), generate(t)
	r := NewRing(before)
	server := r.ServerTLS()
	try := func(k Key) bool {
		a, b := dialogue(t, server, k.ClientTLS())
		return a == nil && b == nil
	}
	got := fmt.Sprint(try(before), try(after))
	r.Set(before, after)
	got += fmt.Sprint(" ", try(before), try(after))
	r.Set(after)
	got += fmt.Sprint(" ", try(before), try(after))
	if got != "true false true true false true" {
		t.Error(got)
	}
	if _, text, err := before.NewToken("read", time.Hour, time.Now()); err != nil {
		t.Fatal(err)
	} else if c, err := TokenTLS(text); err != nil {
		t.Fatal(err)
	} else if _, err := dialogue(t, r.APITLS(), c); err == nil {
		t.Error("the holder of a token of the old key takes the new identity")
	}
}
