package cli

import (
	"context"
	"net"
	"path/filepath"
	"sync/atomic"
	"testing"
)

// TestNotifier plays the service manager.
//
//race:meets
func TestNotifier(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "notify")
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer manager.Close()
	heard := func() string {
		var b [200]byte
		n, err := manager.Read(b[:])
		if err != nil {
			t.Fatal(err)
		}
		return string(b[:n])
	}
	env := map[string]string{"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "30000"}
	n := newNotifier(&Env{Lookup: func(k string) (string, bool) { v, ok := env[k]; return v, ok }})
	var ready atomic.Bool
	leaving, ended := make(chan struct{}), make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer close(ended)
		n.run(ctx, func() (bool, string) { return ready.Load(), "" }, leaving)
	}()
	// until waits for a word; before it only the watchdog may be answered.
	until := func(want string) {
		t.Helper()
		for {
			got := heard()
			if got == want {
				return
			}
			if got != "WATCHDOG=1" {
				t.Fatalf("heard %q, want %q", got, want)
			}
		}
	}
	until("WATCHDOG=1")
	until("WATCHDOG=1") // not ready yet
	ready.Store(true)
	until("READY=1")
	close(leaving)
	until("STOPPING=1")
	until("WATCHDOG=1") // it leaves, and lives
	cancel()
	<-ended
}

func TestNoNotifier(t *testing.T) {
	t.Parallel()
	if n := newNotifier(&Env{Lookup: func(string) (string, bool) { return "", false }}); n != nil {
		t.Error("tells nobody")
	}
	env := map[string]string{"NOTIFY_SOCKET": "@x", "WATCHDOG_USEC": "30000", "WATCHDOG_PID": "1"}
	if n := newNotifier(&Env{
		Lookup: func(k string) (string, bool) { v, ok := env[k]; return v, ok },
	}); n.watchdog != 0 {
		t.Error("answers a watchdog that is another process's")
	}
}
