//race:none

package network

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"

	"crawlnode/config"
	"crawlnode/local/datadir"
)

// tripleConfig asks for three ports of which the first two triples are taken.
func tripleConfig(t *testing.T) (config.Config, []net.Listener) {
	t.Helper()
	c := config.Default()
	for range 50 {
		free, err := net.Listen("tcp", at(0))
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

// ip is an address of loopback that nobody else uses: on 127.0.0.1 clients have ports too, for a
// minute after their end, and other tests listen.
const ip = "127.94.0.1"

func at(port int) string { return fmt.Sprint(ip, ":", port) }

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
	dir, err := datadir.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	c, taken := tripleConfig(t)
	b, err := Listen(&c, nil, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	http, gossip, rpc := port(t, b.HTTP.Addr().String()), port(t, b.Gossip), port(t,
		b.RPC.Addr().String())
	shift := http - port(t, c.HTTP)
	if shift < 20 || shift%10 != 0 || gossip != http+1 || rpc != http+2 {
		t.Errorf("asked for %s, %s, %s; got %d, %d, %d", c.HTTP, c.Gossip, c.RPC, http, gossip, rpc)
	}
	b.HTTP.Close()
	b.RPC.Close()
	// Free again, and still the remembered ones are taken.
	for _, l := range taken {
		l.Close()
	}
	b, err = Listen(&c, nil, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := port(t, b.HTTP.Addr().String()); got != http {
		t.Errorf("the next start listens on %d, not on %d again", got, http)
	}
	b.HTTP.Close()
	b.RPC.Close()
	// Other flags invalidate the memory.
	c.HTTP = at(0)
	b, err = Listen(&c, nil, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := dir.LoadAddresses(); !err || got.HTTP != b.HTTP.Addr().String() ||
		got.HTTP == at(http) {
		t.Errorf("after other flags: %+v", got)
	}
	b.HTTP.Close()
	b.RPC.Close()

	c.HTTP = "192.0.2.1:80" // no address of this machine
	var bad *Error
	if _, err := Listen(&c, nil, dir, nil); !errors.As(err, &bad) ||
		!strings.Contains(err.Error(), "192.0.2.1") {
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

// TestAGivenPortStays: a busy port that a person gave is an error, which names the flag and who has
// the port. The other two move, and on a restart everything is the same.
func TestAGivenPortStays(t *testing.T) {
	t.Parallel()
	for i, flag := range []string{"http", "gossip", "rpc"} {
		dir, err := datadir.Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		defer dir.Close()
		taken, err := net.Listen("tcp", at(0))
		if err != nil {
			t.Fatal(err)
		}
		defer taken.Close()
		c := config.Default()
		c.HTTP, c.Gossip, c.RPC = at(0), at(0), at(0)
		*[]*string{&c.HTTP, &c.Gossip, &c.RPC}[i] = taken.Addr().String()
		_, err = Listen(&c, []string{flag, "delay"}, dir, nil)
		var bad *Error
		if !errors.As(err, &bad) {
			t.Fatalf("--%s is taken: %v", flag, err)
		}
		for _, want := range []string{"--" + flag + " " + taken.Addr().String() + ": the port is in use",
			fmt.Sprintf("(process %d)", os.Getpid())} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		}
		for _, other := range []string{"http", "gossip", "rpc"} {
			if other != flag && strings.Contains(err.Error(), "--"+other) {
				t.Errorf("--%s is taken, and the error names --%s: %v", flag, other, err)
			}
		}
		if _, ok := dir.LoadAddresses(); ok {
			t.Error("addresses are remembered that were not bound")
		}
		taken.Close()
		b, err := Listen(&c, []string{flag}, dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := [3]string{b.HTTP.Addr().String(), b.Gossip,
			b.RPC.Addr().String()}[i]; got != taken.Addr().String() {
			t.Errorf("--%s %s is bound at %s", flag, taken.Addr(), got)
		}
		b.HTTP.Close()
		b.RPC.Close()
	}
}

// TestOnePortTwice: two flags with the same port are told apart from a port of another program.
func TestOnePortTwice(t *testing.T) {
	t.Parallel()
	dir, err := datadir.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	c, _ := tripleConfig(t)
	c.HTTP, c.RPC = at(port(t, c.Gossip)), at(port(t, c.Gossip))
	_, err = Listen(&c, []string{"http", "rpc", "gossip"}, dir, nil)
	if err == nil || !strings.Contains(err.Error(), "--rpc") ||
		!strings.Contains(err.Error(), "in use for --http") {
		t.Errorf("--http and --rpc with one port: %v", err)
	}
}
