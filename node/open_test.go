package node

import (
	"errors"
	"path/filepath"
	"testing"
)

// Two nodes without names on one machine get different names and directories;
// an Open that fails leaves nothing locked or bound.
func TestOpenLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	c := testConfig(t, "one")
	first, err := Open(Options{Config: c, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Options{Config: c, Version: "test"}); !errors.Is(err, ErrStorage) {
		t.Errorf("the same directory twice: %v", err)
	}
	if ok, why := first.Ready(); ok || why == "" {
		t.Errorf("ready before Run: %v, %q", ok, why)
	}
	if _, err := first.AddSeeds(t.Context(), nil); !errors.Is(err, ErrNotReady) {
		t.Errorf("seeds before Run: %v", err)
	}
	if _, err := first.Ring(t.Context()); !errors.Is(err, ErrNotReady) {
		t.Errorf("the ring before Run: %v", err)
	}
	first.draining.Store(true) // waiting for /readyz would never end now
	if _, err := first.AddSeeds(t.Context(), nil); !errors.Is(err, ErrLeaving) {
		t.Errorf("seeds while it leaves: %v", err)
	}
	first.close()
	first.http.Close()
	bad := c
	bad.DNS = []string{"not an address"}
	if _, err := Open(Options{Config: bad, Version: "test"}); !errors.Is(err, ErrUsage) {
		t.Errorf("a bad name server: %v", err)
	}
	bad = c
	bad.HTTP = "192.0.2.1:80" // no address of this machine
	if _, err := Open(Options{Config: bad, Version: "test"}); !errors.Is(err, ErrUsage) {
		t.Errorf("a foreign address: %v", err)
	}
	bad = c
	bad.ClusterKeyFile = filepath.Join(c.DataDir, "no such key")
	if _, err := Open(Options{Config: bad, Version: "test"}); !errors.Is(err, ErrUsage) {
		t.Errorf("no key file: %v", err)
	}
	second, err := Open(Options{Config: c, Version: "test"})
	if err != nil {
		t.Fatalf("after those: %v", err)
	}
	if second.id != first.id {
		t.Errorf("the id changed from %s to %s", first.id, second.id)
	}
	second.close()
	second.http.Close()
}
