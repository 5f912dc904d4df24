package node

import (
	"context"
	"encoding/json"
	"fmt"

	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"crawlnode/clusterkey"
	"crawlnode/config"
	"crawlnode/crawl"
	"crawlnode/peer"
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
	k, file = newKey(t), filepath.Join(dir, name)
	if err := k.Save(file); err != nil {
		t.Fatal(err)
	}
	return k, file
}

// keyAsks is a context of who has the cluster's key.
func keyAsks(t *testing.T) context.Context {
	return crawl.WithAsker(t.Context(), crawl.Asker{ID: crawl.KeyAsker, Role: crawl.RoleAdmin})
}

// rotatedTo waits until a node refuses every key but this one.
func rotatedTo(t *testing.T, n *running, k clusterkey.Key) {
	t.Helper()
	until(t, time.Minute, func() string {
		keys := n.keys.ring.Keys()
		if len(keys) != 1 || keys[0].Text() != k.Text() {
			return fmt.Sprintf("%s has %d keys, the first is %s", n.name, len(keys), keys[0].Fingerprint())
		}
		return ""
	})
}

// poolOf is the calls of a program with a key.
func poolOf(k clusterkey.Key, n *running) *peer.Pool {
	return peer.NewPool(peer.PoolOptions{Self: "someone", Protocol: protocolVersion, Cluster: func() string { return string(n.members.Snapshot().View.Cluster.ID) }, TLS: fixedTLS(k.ClientTLS())})
}

// callAs calls a node as a program with a key would.
func callAs(ctx context.Context, k clusterkey.Key, n *running) error {
	pool := poolOf(k, n)
	defer pool.Close()
	return callBy(ctx, pool, n)
}

func callBy(ctx context.Context, pool *peer.Pool, n *running) error {
	_, err := peer.Call(ctx, pool, peer.Target{ID: string(n.id), Boot: uint64(n.members.Self().Boot), Addr: n.rpc.Addr().String()}, &peer.PartitionsRequest{}, peer.PeerClient.Partitions)
	return err
}

// TestRotateKeyUnderLoad replaces the key of five nodes that call each other without a
// pause. One of them restarts with the old key file in between, and again afterwards. No
// member is missed by any other, calls fail for less than ten seconds in all, and the old
// key opens nothing.
func TestRotateKeyUnderLoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	before, oldFile := savedKey(t, dir, "old")
	after, _ := savedKey(t, dir, "new")
	nodes := make([]*running, 5)
	for i := range nodes {
		c := keyedConfig(t, fmt.Sprint("n", i+1), oldFile, nodes[0])
		nodes[i] = startNode(t, c)
	}
	for _, n := range nodes {
		awaitMembers(t, n, len(nodes))
	}
	ctx, stop := context.WithCancel(t.Context())
	var load sync.WaitGroup
	defer load.Wait()
	defer stop()
	var calls, failed atomic.Int64
	var lastFailure atomic.Int64 // Unix ms
	for i := range nodes[:4] {   // the fifth restarts
		for j := range nodes[:4] {
			if i == j {
				continue
			}
			load.Go(func() {
				for ctx.Err() == nil {
					m, ok := nodes[i].members.Snapshot().View.Member(nodes[j].id)
					if !ok {
						t.Errorf("%s misses %s", nodes[i].name, nodes[j].name)
						return
					}
					_, err := peer.Call(ctx, nodes[i].pool, targetOf(m), &peer.PartitionsRequest{}, peer.PeerClient.Partitions)
					calls.Add(1)
					if err != nil && ctx.Err() == nil {
						failed.Add(1)
						lastFailure.Store(time.Now().UnixMilli())
					}
					time.Sleep(5 * time.Millisecond) // load, not a wait
				}
			})
		}
	}
	thief := poolOf(before, nodes[2]) // who has the old key has a connection, which the new key must end
	defer thief.Close()
	if err := callBy(t.Context(), thief, nodes[2]); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	report, err := nodes[1].RotateKey(keyAsks(t), after.Text())
	if err != nil || report.Step != "known" || report.Fingerprint != after.Fingerprint() {
		t.Fatalf("%+v, %v", report, err)
	}
	nodes[4].Stop()
	nodes[4].ended(t, patience)
	nodes[4] = startNode(t, nodes[4].cfg)
	for _, n := range nodes {
		rotatedTo(t, n, after)
	}
	took := time.Since(began)
	doneAt := time.Now().UnixMilli()
	until(t, time.Minute, func() string { // a thousand calls by the new key alone
		if n := calls.Load(); n < 1000 || time.Now().UnixMilli() < doneAt+1000 {
			return fmt.Sprint(n, " calls")
		}
		return ""
	})
	stop()
	load.Wait()
	t.Logf("%d calls, %d failed, in a rotation of %v", calls.Load(), failed.Load(), took)
	if last := lastFailure.Load(); last >= doneAt {
		t.Errorf("a call has failed %d ms after the end", last-doneAt)
	}
	if failed.Load() > 0 {
		t.Errorf("%d of %d calls have failed", failed.Load(), calls.Load())
	}
	if err := callBy(t.Context(), thief, nodes[2]); err == nil {
		t.Error("a connection of the old key is still served")
	}
	for _, n := range nodes {
		if err := callAs(t.Context(), before, n); err == nil {
			t.Errorf("%s answers who has the old key", n.name)
		}
		if err := callAs(t.Context(), after, n); err != nil {
			t.Errorf("%s refuses who has the new key: %v", n.name, err)
		}
		if _, err := n.Access()(before.APIToken()); err == nil {
			t.Errorf("%s takes the old key's token", n.name)
		}
		if _, err := n.Access()(after.APIToken()); err != nil {
			t.Errorf("%s: %v", n.name, err)
		}
	}
	nodes[4].Stop() // with the old key file again: it has kept the new one
	nodes[4].ended(t, patience)
	nodes[4] = startNode(t, nodes[4].cfg)
	awaitMembers(t, nodes[4], len(nodes))
	rotatedTo(t, nodes[4], after)
	folder, err := os.Stat(nodes[4].dir.join("keys"))
	if err != nil || folder.Mode().Perm() != 0o700 {
		t.Errorf("the folder of the new key: %v, %v", folder.Mode(), err)
	}
}

// awaitMembers waits until a node is in a view of so many.
func awaitMembers(t *testing.T, n *running, count int) {
	t.Helper()
	until(t, time.Minute, func() string {
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
	_, file := savedKey(t, dir, "old")
	n := startNode(t, keyedConfig(t, "n1", file, nil))
	awaitMembers(t, n, 1)
	next := newKey(t)
	admin := crawl.WithAsker(t.Context(), crawl.Asker{ID: "0123456789abcdef", Role: crawl.RoleAdmin, Remote: true})
	for _, c := range []struct {
		name, key, says string
		ctx             context.Context
	}{
		{"an admin's token", next.Text(), "a token replaces no key", admin},
		{"no key", "hunter2", "wrong", keyAsks(t)},
	} {
		if _, err := n.RotateKey(c.ctx, c.key); err == nil || !strings.Contains(fmt.Sprintf("%v %+v", err, err), c.says) && c.says != "wrong" {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if len(n.keys.ring.Keys()) != 1 {
		t.Error("what was refused has begun")
	}
	if _, err := n.RotateKey(keyAsks(t), next.Text()); err != nil {
		t.Fatal(err)
	}
	if _, err := n.RotateKey(keyAsks(t), newKey(t).Text()); err == nil || !strings.Contains(err.Error(), "being replaced already") {
		t.Errorf("a second key meanwhile: %v", err)
	}
	rotatedTo(t, n, next) // a cluster of one waits for nobody
	if r, err := n.RotateKey(keyAsks(t), next.Text()); err != nil || r.Step != crawl.RotationOver {
		t.Errorf("the same again: %+v, %v", r, err)
	}
	bare := startNode(t, testConfig(t, "plain"))
	if _, err := bare.RotateKey(keyAsks(t), next.Text()); err == nil || !strings.Contains(err.Error(), "has no key") {
		t.Errorf("a cluster without a key: %v", err)
	}
}

// TestRotateKeyWhileAway: a node that has heard of the first step only and comes back when
// the others, who have excluded it meanwhile, refuse its key, learns the new one of them.
func TestRotateKeyWhileAway(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	before, oldFile := savedKey(t, dir, "old")
	after := newKey(t)
	nodes := make([]*running, 4)
	for i := range nodes {
		nodes[i] = startNode(t, keyedConfig(t, fmt.Sprint("n", i+1), oldFile, nodes[0]))
	}
	for _, n := range nodes {
		awaitMembers(t, n, len(nodes))
	}
	away := nodes[3]
	away.Stop()
	away.ended(t, patience)
	awaitMembers(t, nodes[0], 3)
	heard := beginRotation(rotation{}, before, after, uint64(time.Now().UnixMilli()))
	content, err := json.Marshal(heard)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(away.cfg.DataDir, "keys"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(away.cfg.DataDir, "keys", "rotation.json"), content, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := nodes[0].rotator.hear(heard); err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes[:3] {
		rotatedTo(t, n, after)
	}
	nodes[3] = startNode(t, away.cfg)
	rotatedTo(t, nodes[3], after)
	awaitMembers(t, nodes[3], 4)
}
