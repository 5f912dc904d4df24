package node

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/security/secrets"
)

// TestSecretThatCameIsNotMissing: a secret is missing until the file has it, and no longer. What a
// cookie file lacks is remembered until its host has looked again.
func TestSecretThatCameIsNotMissing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "secrets")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("jar=nowhere.txt\n")
	store, err := secrets.Open(path, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		m := newMeans(store)
		m.Lacks("a.test", "secret:later")
		m.Lacks("b.test", "secret:jar")
		if w := m.waiting(time.Now()); len(w) != 2 || m.lackedBy("a.test") != "secret:later" {
			t.Fatalf("waiting: %+v", w)
		}
		write("jar=nowhere.txt\nlater=x\n")
		if err := store.Reload(); err != nil {
			t.Fatal(err)
		}
		if w := m.waiting(time.Now()); len(w) != 1 || w[0].what != "secret:jar" ||
			m.lackedBy("a.test") != "" || m.lackedBy("b.test") != "secret:jar" {
			t.Errorf("after the secret came: %+v", w)
		}
		time.Sleep(lackRemembered + time.Second)
		if w := m.waiting(time.Now()); len(w) > 0 {
			t.Errorf("when nobody has asked again: %+v", w)
		}
	})
}
