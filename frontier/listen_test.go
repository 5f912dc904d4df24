package frontier

import (
	"errors"
	"testing"

	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/storage"
	"crawlnode/frontier/storage/storagetest"
)

// TestListen: a sink that is attached in the middle gets all that follows the number it
// is told, and nobody listens to what is not held.
func TestListen(t *testing.T) {
	storagetest.OnStores(t, func(t *testing.T, kv storage.KV, _ func() storage.KV) {
		r := startHolding(t, kv, 1, commit.Options{})
		r.add(link("http://h1.p0.test/1"))
		r.add(link("http://h1.p0.test/2"))
		m, _ := r.Meta(0)
		c := &caught{}
		seq, err := r.Listen(t.Context(), 0, m.Epoch, c.sink)
		if err != nil || seq != m.Seq {
			t.Fatalf("it listens from %d, %v; the partition is at %d", seq, err, m.Seq)
		}
		r.add(link("http://h1.p0.test/3"))
		if ms := c.take(); len(ms) != 1 || ms[0].Seq != seq+1 || ms[0].Epoch != m.Epoch {
			t.Errorf("it got %+v", ms)
		}
		if _, err := r.Listen(t.Context(), 0, m.Epoch+1, c.sink); !errors.Is(err, ErrGap) {
			t.Errorf("another epoch: %v", err)
		}
		r.become(0, layout.Released)
		if _, err := r.Listen(t.Context(), 0, m.Epoch, c.sink); !errors.Is(err, ErrGap) {
			t.Errorf("released: %v", err)
		}
	})
}
