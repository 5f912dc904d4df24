package dnscache

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestSystemFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	resolv, hosts := filepath.Join(dir, "resolv.conf"), filepath.Join(dir, "hosts")
	write(t, resolv,
		"# comment\nnameserver 192.0.2.53\nnameserver 2001:db8::53\nnameserver nonsense\n"+
			"options rotate\n")
	write(t, hosts, "127.0.0.1 localhost\n::1 Both.test # comment\n"+
		"192.0.2.1\tBOTH.test alias.test.\nrubbish\n300.1.1.1 x.test\n")
	synctest.Test(t, func(t *testing.T) {
		net := &fake{handle: one(t)}
		c, err := New(Options{ResolvConf: resolv, HostsFile: hosts, Exchange: net.exchange})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for host, want := range map[string]string{"both.test": "192.0.2.1", "Alias.test": "192.0.2.1"} {
			got, err := c.Lookup(t.Context(), host)
			if err != nil || !slices.Equal(got.Addrs, addrs(want)) {
				t.Errorf("Lookup(%s) = %v, %v, want %s", host, got.Addrs, err, want)
			}
		}
		if net.asked() != 0 {
			t.Error("a server was asked for a name of the hosts file")
		}
		order, _ := c.resolver.servers.order(time.Now())
		if !slices.Equal(order, []string{"192.0.2.53:53", "[2001:db8::53]:53"}) {
			t.Errorf("servers = %v", order)
		}
		write(t, hosts, "192.0.2.200 both.test # now elsewhere\n")
		write(t, resolv, "nameserver 192.0.2.99\n")
		time.Sleep(recheck)
		if got, err := c.Lookup(t.Context(), "both.test"); err != nil ||
			!slices.Equal(got.Addrs, addrs("192.0.2.200")) {
			t.Errorf("after the change: %v, %v", got.Addrs, err)
		}
		if order, _ = c.resolver.servers.order(time.Now()); !slices.Equal(order,
			[]string{"192.0.2.99:53"}) {
			t.Errorf("servers after the change = %v", order)
		}
	})
}

func TestNoSystemFiles(t *testing.T) {
	t.Parallel()
	none := filepath.Join(t.TempDir(), "none")
	c := open(t, Options{ResolvConf: none, HostsFile: none})
	if order, _ := c.resolver.servers.order(time.Now()); !slices.Equal(order,
		[]string{"127.0.0.1:53"}) {
		t.Errorf("servers = %v, want the local one", order)
	}
}

func TestServersRest(t *testing.T) {
	t.Parallel()
	var s servers
	now := time.Unix(1000, 0)
	s.set([]string{"a", "b"})
	s.report("a", false, now)
	if order, down := s.order(now); !slices.Equal(order, []string{"b", "a"}) || down {
		t.Errorf("order = %v, %v", order, down)
	}
	s.report("b", false, now)
	s.report("b", false, now) // two failures: a longer rest
	if order, down := s.order(now); !slices.Equal(order, []string{"a", "b"}) || !down {
		t.Errorf("order = %v, %v, want all down", order, down)
	}
	if order, down := s.order(now.Add(firstRest)); order[0] != "a" || down {
		t.Errorf("after the rest: %v, %v", order, down)
	}
	for range 100 {
		s.report("a", false, now)
	}
	if _, down := s.order(now.Add(maxRest)); down {
		t.Error("a rest is longer than the longest")
	}
	s.report("b", true, now)
	s.set([]string{"c", "b", "a"})
	if order, _ := s.order(now); !slices.Equal(order, []string{"c", "b", "a"}) {
		t.Errorf("order = %v: the new list forgets who was down", order)
	}
	s.report("gone", false, now)
}

// FuzzHosts: any file gives names without dots at the end and valid addresses.
func FuzzHosts(f *testing.F) {
	f.Add("127.0.0.1 localhost\n::1 a b. C # d")
	f.Add("1.2.3.4\x00\t[::1] 5.6.7.8\n")
	f.Fuzz(func(t *testing.T, text string) {
		for name, addrs := range parseHosts(strings.NewReader(text)) {
			if name == "" || len(addrs) == 0 || name != strings.ToLower(name) {
				t.Fatalf("%q -> %v", name, addrs)
			}
		}
	})
}
