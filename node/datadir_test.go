package node

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"crawlnode/config"
)

func TestDataDir(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a", "b")
	d, err := openDataDir(path)
	if err != nil {
		t.Fatal(err)
	}
	if v, pid := readLine(d.join("VERSION")), readLine(d.join("pid")); v != "crawlnode-data 3" || pid != strconv.Itoa(os.Getpid()) {
		t.Errorf("VERSION %q, pid %q", v, pid)
	}
	_, err = openDataDir(path)
	var locked *lockedError
	if !errors.As(err, &locked) || !errors.Is(err, ErrStorage) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), strconv.Itoa(os.Getpid())) {
		t.Errorf("a directory in use: %v", err)
	}
	d.Close()
	if _, err := os.Stat(d.join("pid")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the pid file stays: %v", err)
	}
	d, err = openDataDir(path)
	if err != nil {
		t.Fatalf("the second start: %v", err)
	}
	d.Close()
}

func TestDataDirRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file, text string
		says       string // "" is no error
	}{
		"nothing":               {"lock", "", ""},
		"a disk's own folder":   {"lost+found", "", ""},
		"a start cut off":       {"VERSION.tmp", "crawln", ""},
		"an empty VERSION":      {"VERSION", "", "VERSION"},
		"ours":                  {"VERSION", "crawlnode-data 3\n", ""},
		"older":                 {"VERSION", "crawlnode-data 2\n", ""},
		"somebody else's":       {"photo.jpg", "x", "photo.jpg"},
		"another program's":     {"VERSION", "16\n", "not a data directory"},
		"newer":                 {"VERSION", "crawlnode-data 4\n", "its data format is 4, this program reads up to 3"},
		"not even a number":     {"VERSION", "crawlnode-data one\n", "not a data directory"},
		"binary":                {"VERSION", "\x00\x01\xff", "not a data directory"},
		"another's with a pid":  {"pidfile", "1", "pidfile"},
		"a file for an archive": {"warc", "x", "warc"},
		"a volume for one":      {"warc/lost+found", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := t.TempDir()
			if err := os.MkdirAll(filepath.Dir(filepath.Join(path, c.file)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(path, c.file), []byte(c.text), 0o644); err != nil {
				t.Fatal(err)
			}
			d, err := openDataDir(path)
			if err == nil {
				d.Close()
			}
			switch {
			case c.says == "" && err != nil:
				t.Error(err)
			case c.says != "" && (!errors.Is(err, ErrStorage) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), path)):
				t.Errorf("got %v", err)
			}
		})
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := openDataDir(file); !errors.Is(err, ErrStorage) {
		t.Errorf("a file: %v", err)
	}
}

func TestWriteFileSyncedReplaces(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	for _, text := range []string{"one\n", "a longer two\n", ""} {
		if err := writeFileSynced(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != text {
			t.Errorf("%q, %v", b, err)
		}
	}
	if free, err := freeBytes(filepath.Dir(path)); err != nil || free <= 0 {
		t.Errorf("%d bytes are free, %v", free, err)
	}
}

// tripleConfig asks for three ports of which the first two triples are taken.
func tripleConfig(t *testing.T) (config.Config, []net.Listener) {
	t.Helper()
	c := config.Default()
	for range 50 {
		free, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		base := free.Addr().(*net.TCPAddr).Port
		if base > 60000 {
			free.Close()
			continue
		}
		c.HTTP, c.Gossip, c.RPC = at(base), at(base+1), at(base+2)
		// The first triple's API port is taken by free; of the second, the gossip
		// port, and only for UDP.
		u, err := net.ListenPacket("udp", at(base+11))
		if err != nil {
			free.Close()
			continue
		}
		t.Cleanup(func() { _ = free.Close(); _ = u.Close() })
		return c, []net.Listener{free}
	}
	t.Fatal("no free ports")
	return c, nil
}

func at(port int) string { return fmt.Sprint("127.0.0.1:", port) }

func port(t *testing.T, addr string) int {
	t.Helper()
	_, p, err := net.SplitHostPort(addr)
	n, err2 := strconv.Atoi(p)
	if err != nil || err2 != nil {
		t.Fatal(addr, err, err2)
	}
	return n
}

func TestTakenPortsMoveUpTogetherAndAreRemembered(t *testing.T) {
	t.Parallel()
	dir, err := openDataDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	c, taken := tripleConfig(t)
	b, err := listenTriple(&c, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	http, gossip, rpc := port(t, b.http.Addr().String()), port(t, b.gossip), port(t, b.rpc.Addr().String())
	shift := http - port(t, c.HTTP)
	if shift < 20 || shift%10 != 0 || gossip != http+1 || rpc != http+2 {
		t.Errorf("asked for %s, %s, %s; got %d, %d, %d", c.HTTP, c.Gossip, c.RPC, http, gossip, rpc)
	}
	b.http.Close()
	b.rpc.Close()
	// Free again, and still the remembered ones are taken.
	for _, l := range taken {
		l.Close()
	}
	b, err = listenTriple(&c, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := port(t, b.http.Addr().String()); got != http {
		t.Errorf("the next start listens on %d, not on %d again", got, http)
	}
	b.http.Close()
	b.rpc.Close()
	// Other flags invalidate the memory.
	c.HTTP = "127.0.0.1:0"
	b, err = listenTriple(&c, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := dir.loadAddresses(); !err || got.HTTP != b.http.Addr().String() || got.HTTP == at(http) {
		t.Errorf("after other flags: %+v", got)
	}
	b.http.Close()
	b.rpc.Close()

	c.HTTP = "192.0.2.1:80" // no address of this machine
	if _, err := listenTriple(&c, dir, nil); !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), "192.0.2.1") {
		t.Errorf("a foreign address: %v", err)
	}
}

func TestShifted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		addr string
		i    int
		want string
	}{
		{"127.0.0.1:27295", 0, "127.0.0.1:27295"}, {"127.0.0.1:27295", 3, "127.0.0.1:27325"}, {"[::1]:80", 1, "[::1]:90"},
		{"127.0.0.1:0", 5, "127.0.0.1:0"}, {"nonsense", 5, "nonsense"}, {":http", 1, ":http"},
	} {
		if got := shifted(c.addr, c.i); got != c.want {
			t.Errorf("%s by %d is %s, want %s", c.addr, c.i, got, c.want)
		}
	}
}

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
	first.close()
	first.http.Close()
	bad := c
	bad.DNS = []string{"not an address"}
	if _, err := Open(Options{Config: bad, Version: "test"}); !errors.Is(err, ErrUsage) {
		t.Errorf("a bad name server: %v", err)
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
