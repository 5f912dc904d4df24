package clusterkey

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

func mustKey(t *testing.T) Key {
	t.Helper()
	k, err := Generate()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestToken reads a token back, and refuses one that is altered anywhere, expired or
// another key's.
func TestToken(t *testing.T) {
	t.Parallel()
	k, now := mustKey(t), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	made, text, err := k.NewToken("read", time.Hour, now)
	if err != nil {
		t.Fatal(err)
	}
	got, err := k.ReadToken(text, now.Add(time.Hour-time.Second))
	if err != nil || got.Role != "read" || got.ID != made.ID ||
		!got.Expires.Equal(now.Add(time.Hour)) {
		t.Errorf("%+v, %v; want %+v", got, err, made)
	}
	if _, err := k.ReadToken(text, now.Add(time.Hour)); !errors.Is(err, ErrExpired) {
		t.Errorf("at its end: %v", err)
	}
	if _, err := mustKey(t).ReadToken(text, now); !errors.Is(err, ErrNotToken) {
		t.Errorf("by another key: %v", err)
	}
	for i := range len(text) {
		altered := []byte(text)
		altered[i] ^= 1
		if _, err := k.ReadToken(string(altered), now); !errors.Is(err, ErrNotToken) {
			t.Errorf("with octet %d altered: %v", i, err)
		}
	}
	for _, bad := range []string{"", ".", k.APIToken(), text + ".x",
		strings.Replace(text, ".read.", ".admin.", 1), strings.Repeat("a", 1000)} {
		if _, err := k.ReadToken(bad, now); !errors.Is(err, ErrNotToken) {
			t.Errorf("%.60q: %v", bad, err)
		}
	}
	for _, life := range []time.Duration{-1, 0, MaxTokenLife + time.Second} {
		if _, _, err := k.NewToken("read", life, now); err == nil {
			t.Errorf("a token for %v was made", life)
		}
	}
	if _, _, err := k.NewToken("a.b", time.Hour, now); err == nil {
		t.Error("a role with a dot was taken")
	}
}

// TestTokenPins lets the holder of a token talk to its cluster and to no other.
func TestTokenPins(t *testing.T) {
	t.Parallel()
	k := mustKey(t)
	_, text, err := k.NewToken("read", time.Hour, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	config, err := TokenTLS(text + "\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		key  Key
		ok   bool
	}{{"its own", k, true}, {"another", mustKey(t), false}} {
		near, far := net.Pipe()
		done := make(chan struct{})
		go func() {
			defer close(done)
			server := tls.Server(far, c.key.APITLS())
			_ = server.Handshake()
			_, _ = io.Copy(io.Discard, far)
		}()
		if err := tls.Client(near, config).Handshake(); (err == nil) != c.ok {
			t.Errorf("%s cluster: %v", c.name, err)
		}
		_ = near.Close()
		<-done
	}
	if _, err := TokenTLS(k.APIToken()); err == nil {
		t.Error("the key's own token pins nothing and was taken")
	}
}
