package simnet_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
	"github.com/hashicorp/memberlist"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"crawlnode/integration/simnet"
	"crawlnode/simweb"
)

// addr is the address of the n-th simulated host.
func addr(n int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, 0, byte(n)}) }

// member is the foreign part of a node: the libraries that it uses.
type member struct {
	host   *simnet.Host
	gossip *memberlist.Memberlist
	rpc    *grpc.Server
	served chan error
	store  *badger.DB
}

func startMember(t *testing.T, n *simnet.Network, i int, dir string) *member {
	t.Helper()
	m := &member{host: n.AddHost(fmt.Sprint("n", i), addr(i)), served: make(chan error, 1)}
	transport, err := m.host.Transport(7946)
	if err != nil {
		t.Fatal(err)
	}
	c := memberlist.DefaultLANConfig()
	c.Name, c.Transport, c.Logger = m.host.Name(), transport, log.New(io.Discard, "", 0)
	if m.gossip, err = memberlist.Create(c); err != nil {
		t.Fatal(err)
	}
	l, err := m.host.Listen(7000)
	if err != nil {
		t.Fatal(err)
	}
	m.rpc = grpc.NewServer()
	healthpb.RegisterHealthServer(m.rpc, health.NewServer())
	go func() { m.served <- m.rpc.Serve(l) }()
	o := badger.DefaultOptions(dir).WithLogger(nil).WithCompression(options.Snappy).WithMemTableSize(
		4 << 20).WithValueThreshold(64 << 10).
		WithBlockCacheSize(1 << 20).WithValueLogFileSize(1 << 20).WithNumCompactors(2).WithMetricsEnabled(
		false)
	if m.store, err = badger.Open(o); err != nil {
		t.Fatal(err)
	}
	return m
}

func (m *member) stop(t *testing.T) {
	t.Helper()
	if err := m.gossip.Shutdown(); err != nil {
		t.Error(err)
	}
	m.rpc.Stop()
	// a crash closes the listener first
	if err := <-m.served; err != nil && !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
	if err := m.store.Close(); err != nil {
		t.Error(err)
	}
}

// call asks a peer for its health over gRPC.
func (m *member) call(to *member) error {
	conn, err := grpc.NewClient("passthrough:///"+to.host.Addr().String()+":7000",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			return m.host.Dial(ctx, "tcp", address)
		}))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_, err = healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{})
	return errors.Join(err, conn.Close())
}

// What a simulated node is made of lives in one bubble: a store on disk, gossip,
// calls, and HTTP against a synthetic web; an hour of it costs no hour, and the
// bubble ends with no goroutine left. docs/decisions/0100-simulation.md says what
// that took.
//
// Two bubbles run at once, because a simulation runs many seeds in one process:
// what the libraries keep for the whole process must not tie them together.
func TestEverythingLivesInOneBubble(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			oneBubble(t, seed)
		})
	}
}

func oneBubble(t *testing.T, seed uint64) {
	dirs := []string{t.TempDir(), t.TempDir(), t.TempDir()}
	synctest.Test(t, func(t *testing.T) {
		n := simnet.New(seed)
		n.SetDefault(simnet.Link{Delay: time.Millisecond, Jitter: time.Millisecond, Drop: 0.01})
		var members []*member
		for i, dir := range dirs {
			members = append(members, startMember(t, n, i+1, dir))
		}
		for _, m := range members[1:] {
			if _, err := m.gossip.Join([]string{"10.0.0.1:7946"}); err != nil {
				t.Fatal(err)
			}
		}
		stopWeb := serveWeb(t, n)
		for i := range 9 {
			time.Sleep(time.Minute)
			use(t, members[i%3], members[(i+1)%3], i)
		}
		for _, m := range members {
			if alive := m.gossip.NumMembers(); alive != 3 {
				t.Errorf("%s sees %d members", m.host.Name(), alive)
			}
		}
		n.Crash("n3")
		time.Sleep(time.Minute)
		if alive := members[0].gossip.NumMembers(); alive != 2 {
			t.Errorf("a minute after a crash n1 sees %d members", alive)
		}
		if err := members[0].call(members[2]); err == nil {
			t.Error("a crashed host answers")
		}
		stopWeb()
		for _, m := range members {
			m.stop(t)
		}
		// memberlist's Shutdown does not wait for its goroutines: they notice
		// within their longest time-out.
		time.Sleep(5 * time.Minute)
		synctest.Wait()
	})
}

// use does with a member what a crawl does: a page, a call, a transaction.
func use(t *testing.T, m, peer *member, i int) {
	t.Helper()
	client := &http.Client{
		Transport: &http.Transport{DialContext: m.host.Dial, DisableKeepAlives: true},
		Timeout:   time.Minute,
	}
	req, _ := http.NewRequest("GET", "http://10.0.0.100/", nil)
	req.Host = "h1.sim.test"
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil || len(body) != 5000 {
		t.Fatalf("page of %d bytes, %v", len(body), err)
	}
	if err := m.call(peer); err != nil {
		t.Fatal(err)
	}
	key := fmt.Appendf(nil, "page %d", i)
	if err := m.store.Update(func(txn *badger.Txn) error { return txn.Set(key, body) }); err != nil {
		t.Fatal(err)
	}
	if err := m.store.Sync(); err != nil {
		t.Fatal(err)
	}
}

// serveWeb puts a synthetic web onto the network and returns how to stop it.
func serveWeb(t *testing.T, n *simnet.Network) (stop func()) {
	t.Helper()
	web, err := simweb.New(simweb.Config{Hosts: 3, PageBytes: 5000})
	if err != nil {
		t.Fatal(err)
	}
	l, err := n.AddHost("web", addr(100)).Listen(80)
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: web}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	return func() {
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	}
}
