package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"crawlnode/config"
	"crawlnode/crawl"
	"crawlnode/peer"
	"crawlnode/security/clusterkey"
	"crawlnode/security/clusterkey/clusterkeytest"
	"crawlnode/security/rotation"
)

// keyedConfig is a small node with a key.
func keyedConfig(t *testing.T, name, keyFile string, first *running) config.Config {
	t.Helper()
	c := testConfig(t, name)
	c.ClusterKeyFile, c.Replication = keyFile, 2
	if first != nil {
		c.Join = []string{first.members.Self().Gossip}
	}
	return c
}

// savedKey makes a key in a file.
func savedKey(t *testing.T, dir, name string) (k clusterkey.Key, file string) {
	t.Helper()
	k, file = clusterkeytest.New(t), filepath.Join(dir, name)
	if err := k.Save(file); err != nil {
		t.Fatal(err)
	}
	return k, file
}

// keyAsks is a context of who has the cluster's key.
func keyAsks(t *testing.T) context.Context {
	return crawl.WithCaller(t.Context(), crawl.Caller{ID: crawl.KeyCaller, Role: crawl.RoleAdmin})
}

// rotatedTo waits until a node refuses every key but this one.
func rotatedTo(t *testing.T, n *running, k clusterkey.Key) {
	t.Helper()
	until(t, patience, func() string {
		keys := n.keys.ring.Keys()
		if len(keys) != 1 || keys[0].Text() != k.Text() {
			return fmt.Sprintf("%s has %d keys, the first is %s", n.name, len(keys), keys[0].Fingerprint())
		}
		return ""
	})
}

// poolOf is the calls of a program with a key.
func poolOf(k clusterkey.Key, n *running) *peer.Pool {
	return peer.NewPool(peer.PoolOptions{
		Self:     "someone",
		Protocol: protocolVersion,
		Cluster:  func() string { return string(n.members.Snapshot().View.Cluster.ID) },
		TLS:      fixedTLS(k.ClientTLS()),
	})
}

// callAs calls a node as a program with a key would.
func callAs(ctx context.Context, k clusterkey.Key, n *running) error {
	pool := poolOf(k, n)
	defer pool.Close()
	return callBy(ctx, pool, n)
}

func callBy(ctx context.Context, pool *peer.Pool, n *running) error {
	_, err := peer.Call(ctx, pool,
		peer.Target{ID: string(n.id), Boot: uint64(n.members.Self().Boot), Addr: n.rpc.Addr().String()},
		&peer.PartitionsRequest{}, peer.PeerClient.Partitions)
	return err
}

// mutualCalls is nodes that call each other without a pause.
type mutualCalls struct {
	stop context.CancelFunc
	wg   sync.WaitGroup

	mu      sync.Mutex     // guards the rest
	answers map[string]int // by caller and called
	late    int            // without an answer in time: what a loaded machine does
	refused []string       // all other errors
}

// callEachOther begins the calls; end stops them.
func callEachOther(t *testing.T, nodes []*running) *mutualCalls {
	ctx, stop := context.WithCancel(t.Context())
	c := &mutualCalls{stop: stop, answers: map[string]int{}}
	t.Cleanup(c.end)
	for _, from := range nodes {
		for _, to := range nodes {
			if from != to {
				c.wg.Go(func() { c.callAll(ctx, from, to) })
			}
		}
	}
	return c
}

// callAll calls one node from another until ctx ends.
func (c *mutualCalls) callAll(ctx context.Context, from, to *running) {
	pair := from.name + " to " + to.name
	for ctx.Err() == nil {
		m, listed := from.members.Snapshot().View.Member(to.id)
		var err error
		if listed {
			_, err = peer.Call(ctx, from.pool, targetOf(m), &peer.PartitionsRequest{},
				peer.PeerClient.Partitions)
		}
		c.mu.Lock()
		switch {
		case !listed: // it was silent for too long, and comes back
			c.late++
		case err == nil:
			c.answers[pair]++
		case ctx.Err() != nil:
		case tooLate(err):
			c.late++
		default:
			c.refused = append(c.refused, fmt.Sprintf("%s: %v", pair, err))
		}
		c.mu.Unlock()
		time.Sleep(5 * time.Millisecond) // load, not a wait
	}
}

// tooLate tells an answer that came too late on a busy machine from one that refuses. The limit of
// the call, that of the connection or that of the handshake has passed, on this side; or on the
// other, which then ends a handshake without a word. Who refuses a key says so in an alert, and a
// connection that ends under a call does not end in its handshake. When the limit passes between
// the handshake and the first frame of HTTP/2, gRPC closes the connection under its own reader.
func tooLate(err error) bool {
	text := err.Error()
	if strings.Contains(text, context.DeadlineExceeded.Error()) ||
		strings.Contains(text, os.ErrDeadlineExceeded.Error()) ||
		strings.Contains(text, "keepalive ping failed to receive ACK within timeout") {
		return true
	}
	_, preface, ok := strings.Cut(text, "error reading server preface: ")
	if ok && strings.Contains(preface, net.ErrClosed.Error()) {
		return true
	}
	_, handshake, ok := strings.Cut(text, "handshake failed: ")
	return ok && (strings.HasPrefix(handshake, io.EOF.Error()) ||
		strings.Contains(handshake, syscall.ECONNRESET.Error()))
}

// What is taken for a busy machine, and what is not.
func TestTooLate(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"rpc error: code = DeadlineExceeded desc = context deadline " +
			"exceeded": true,
		"rpc error: code = Unavailable desc = keepalive ping failed to receive ACK within timeout":                                     true,
		`connection error: desc = "transport: authentication handshake failed: context deadline exceeded"`:                             true,
		`connection error: desc = "transport: authentication handshake failed: read tcp 127.0.0.1:1->127.0.0.1:2: i/o timeout"`:        true,
		`connection error: desc = "transport: authentication handshake failed: EOF"`:                                                   true,
		`"transport: authentication handshake failed: read tcp 127.0.0.1:1->127.0.0.1:2: read: connection reset by peer"`:              true,
		`connection error: desc = "error reading server preface: read tcp 127.0.0.1:1->127.0.0.1:2: use of closed network connection"`: true,
		`connection error: desc = "error reading server preface: remote error: tls: bad certificate"`:                                  false,
		`connection error: desc = "transport: authentication handshake failed: remote error: tls: bad certificate"`:                    false,
		`connection error: desc = "transport: authentication handshake failed: n2 has another cluster key"`:                            false,
		"rpc error: code = Unavailable desc = error reading from " +
			"server: EOF": false,
		"rpc error: code = Unavailable desc = read tcp 127.0.0.1:1->127.0.0.1:2: read: " +
			"connection reset by peer": false,
	} {
		if got := tooLate(errors.New(text)); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

// forget begins to count answers anew.
func (c *mutualCalls) forget() (answers int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.answers {
		answers += n
	}
	clear(c.answers)
	return answers
}

// await waits until each of so many pairs has made n calls that were answered.
func (c *mutualCalls) await(t *testing.T, pairs, n int) {
	t.Helper()
	until(t, patience, func() string {
		c.mu.Lock()
		defer c.mu.Unlock()
		for pair, answers := range c.answers {
			if answers < n {
				return fmt.Sprintf("%s: %d answers", pair, answers)
			}
		}
		if len(c.answers) < pairs {
			return fmt.Sprintf("%d of %d pairs", len(c.answers), pairs)
		}
		return ""
	})
}

func (c *mutualCalls) end() {
	c.stop()
	c.wg.Wait()
}

// TestRotateKeyUnderLoad replaces the key of five nodes, or three with -short, that call each
// other without a pause. The last one restarts with the old key file in between, and again
// afterwards. No
// call of the others is refused at any time, all are answered by the new key alone, and
// the old one opens nothing.
func TestRotateKeyUnderLoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	before, oldFile := savedKey(t, dir, "old")
	after, _ := savedKey(t, dir, "new")
	count := 5
	if testing.Short() {
		count = 3
	}
	nodes, last := make([]*running, count), count-1
	for i := range nodes {
		nodes[i] = startNode(t, keyedConfig(t, fmt.Sprint("n", i+1), oldFile, nodes[0]))
	}
	for _, n := range nodes {
		awaitMembers(t, n, len(nodes))
	}
	pairs := last * (last - 1)
	load := callEachOther(t, nodes[:last])
	thief := poolOf(before, nodes[0]) // it has a connection by the old key, which the new key must end
	defer thief.Close()
	until(t, patience, func() string {
		if err := callBy(t.Context(), thief, nodes[0]); err != nil {
			return err.Error()
		}
		return ""
	})
	load.await(t, pairs, 1)
	began := time.Now()
	report, err := nodes[1].RotateKey(keyAsks(t), after.Text())
	if err != nil || report.Step != "known" || report.Fingerprint != after.Fingerprint() {
		t.Fatalf("%+v, %v", report, err)
	}
	nodes[last].Stop()
	nodes[last].ended(t, patience)
	nodes[last] = startNode(t, nodes[last].cfg)
	for _, n := range nodes {
		rotatedTo(t, n, after)
	}
	took, meanwhile := time.Since(began), load.forget()
	load.await(t, pairs, 20) // by the new key alone
	load.end()
	t.Logf("%d calls were answered in a rotation of %v, %d came too late, %d were refused", meanwhile,
		took, load.late, len(load.refused))
	for _, call := range load.refused {
		t.Error(call)
	}
	if err := callBy(t.Context(), thief, nodes[0]); err == nil {
		t.Error("a connection of the old key is still served")
	}
	for _, n := range nodes {
		opens(t, n, after, before)
	}
	nodes[last].Stop() // with the old key file again: it has kept the new one
	nodes[last].ended(t, patience)
	nodes[last] = startNode(t, nodes[last].cfg)
	awaitMembers(t, nodes[last], len(nodes))
	rotatedTo(t, nodes[last], after)
	folder, err := os.Stat(nodes[last].dir.Join("keys"))
	if err != nil || folder.Mode().Perm() != 0o700 {
		t.Errorf("the folder of the new key: %v, %v", folder.Mode(), err)
	}
}

// opens holds that one key opens a node's calls and API, and that the other does not.
func opens(t *testing.T, n *running, key, other clusterkey.Key) {
	t.Helper()
	if err := callAs(t.Context(), other, n); err == nil {
		t.Errorf("%s answers who has the old key", n.name)
	}
	until(t, patience, func() string {
		err := callAs(t.Context(), key, n)
		if err != nil && tooLate(err) {
			return fmt.Sprintf("%s answers nobody yet: %v", n.name, err) // the machine is busy
		}
		if err != nil {
			t.Errorf("%s refuses who has the new key: %v", n.name, err)
		}
		return ""
	})
	if _, err := n.Access()(other.APIToken()); err == nil {
		t.Errorf("%s takes the old key's token", n.name)
	}
	if _, err := n.Access()(key.APIToken()); err != nil {
		t.Errorf("%s: %v", n.name, err)
	}
}

// awaitMembers waits until a node is in a view of so many.
func awaitMembers(t *testing.T, n *running, count int) {
	t.Helper()
	until(t, patience, func() string {
		v := n.members.Snapshot().View
		if v == nil || len(v.Members) != count || !n.listed() || !n.synced.Load() {
			return fmt.Sprintf("%s is in no view of %d", n.name, count)
		}
		return ""
	})
}

// TestRotateKeyRefuses is who may not, and what is no key.
func TestRotateKeyRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old, file := savedKey(t, dir, "old")
	n := startNode(t, keyedConfig(t, "n1", file, nil))
	awaitMembers(t, n, 1)
	next := clusterkeytest.New(t)
	admin := crawl.WithCaller(t.Context(),
		crawl.Caller{ID: "0123456789abcdef", Role: crawl.RoleAdmin, Remote: true})
	for _, c := range []struct {
		name, key, says string
		ctx             context.Context
	}{
		{"an admin's token", next.Text(), "a token replaces no key", admin},
		{"no key", "hunter2", "wrong", keyAsks(t)},
	} {
		if _, err := n.RotateKey(c.ctx, c.key); err == nil ||
			!strings.Contains(fmt.Sprintf("%v %+v", err, err), c.says) && c.says != "wrong" {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if len(n.keys.ring.Keys()) != 1 {
		t.Error("what was refused has begun")
	}
	// Somebody who was a member when it began holds it up.
	held := rotation.Begin(rotation.State{}, old, clusterkeytest.New(t),
		map[crawl.NodeID]string{"gone": "n9"}, 1)
	if _, err := n.rotator.Receive(held); err != nil {
		t.Fatal(err)
	}
	if _, err := n.RotateKey(keyAsks(t), next.Text()); err == nil ||
		!strings.Contains(err.Error(), "being replaced already") {
		t.Errorf("a second key meanwhile: %v", err)
	}
	until(t, patience, func() string {
		if r, err := n.RotateKey(keyAsks(t), held.New); err != nil || r.Step != "known" ||
			fmt.Sprint(r.Waiting) != "[n9]" {
			return fmt.Sprintf("%+v, %v", r, err)
		}
		return ""
	})
	if _, err := n.rotator.Receive(rotation.Begin(held, old, next, nil, 2)); err != nil {
		t.Fatal(err)
	}
	rotatedTo(t, n, next) // a cluster of one waits for nobody
	if r, err := n.RotateKey(keyAsks(t), next.Text()); err != nil || r.Step != crawl.RotationOver {
		t.Errorf("the same again: %+v, %v", r, err)
	}
	bare := startNode(t, testConfig(t, "plain"))
	if _, err := bare.RotateKey(keyAsks(t), next.Text()); err == nil ||
		!strings.Contains(err.Error(), "has no key") {
		t.Errorf("a cluster without a key: %v", err)
	}
}

// TestRotateKeyWhileAway: a node that knows the first step only comes back when the others
// have excluded it and refuse its key. It gets the new key from them.
func TestRotateKeyWhileAway(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	before, oldFile := savedKey(t, dir, "old")
	after := clusterkeytest.New(t)
	nodes := make([]*running, 3)
	for i := range nodes {
		nodes[i] = startNode(t, keyedConfig(t, fmt.Sprint("n", i+1), oldFile, nodes[0]))
	}
	for _, n := range nodes {
		awaitMembers(t, n, len(nodes))
	}
	away := nodes[2]
	away.Stop()
	away.ended(t, patience)
	awaitMembers(t, nodes[0], 2)
	heard := rotation.Begin(rotation.State{}, before, after, nil, uint64(time.Now().UnixMilli()))
	content, err := json.Marshal(heard)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(away.cfg.DataDir, "keys"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(away.cfg.DataDir, "keys", "rotation.json"), content,
		0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := nodes[0].rotator.Receive(heard); err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes[:2] {
		rotatedTo(t, n, after)
	}
	nodes[2] = startNode(t, away.cfg)
	rotatedTo(t, nodes[2], after)
	awaitMembers(t, nodes[2], 3)
}
