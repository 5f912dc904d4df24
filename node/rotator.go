package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"crawlnode/clusterkey"
	"crawlnode/crawl"
	"crawlnode/membership"
	"crawlnode/node/datadir"
	"crawlnode/peer"
	"crawlnode/store/files"
)

const (
	// rotationPace is how often the members are asked while a rotation is under way.
	rotationPace = 500 * time.Millisecond
	// rotationPatience bounds one of these calls.
	rotationPatience = 2 * time.Second
)

// rotator carries out rotations of the cluster's key. Every node that knows of one asks all
// members until it is over; whoever has heard that all have confirmed a step takes the next
// one. So it goes on when any node dies, and waits as long as a member is away.
type rotator struct {
	node *Node
	look chan struct{} // capacity 1: there is a rotation

	mu      sync.Mutex // guards the rest, and orders what is carried out
	now     rotation
	waiting []string // names of members that had not confirmed when they were asked last
}

// path is the file of the rotation. The folder is for its owner alone: it has the key.
func (r *rotator) path() string { return r.node.dir.Join(filepath.Join("keys", "rotation.json")) }

// open makes the node's keys of the key file and of the rotation on disk, if any.
func (r *rotator) open(file *clusterkey.Key) (*keyring, error) {
	if file == nil {
		return &keyring{}, nil
	}
	content, err := os.ReadFile(r.path())
	if errors.Is(err, os.ErrNotExist) {
		return &keyring{clusterkey.NewRing(*file)}, nil
	}
	if err != nil {
		return nil, datadir.Failed("read the rotation of the key", err)
	}
	var was rotation
	if err := json.Unmarshal(content, &was); err != nil {
		return nil, datadir.Failed("read "+r.path(), err)
	}
	kept, stale := was.standing(*file)
	if kept.Phase == noRotation {
		r.node.log.Warn("the key file has neither key of the last rotation: the file's is used", "fingerprint", file.Fingerprint())
		return &keyring{clusterkey.NewRing(*file)}, nil
	}
	use, also, err := kept.keys()
	if err != nil {
		return nil, datadir.Failed("read "+r.path(), err)
	}
	if stale {
		r.node.log.Warn("the cluster has another key by now, which this node has kept: replace its --cluster-key-file", "old", file.Fingerprint(), "new", use.Fingerprint())
	}
	r.now = kept
	signal(r.look)
	return &keyring{clusterkey.NewRing(use, also...)}, nil
}

// confirmationLocked is what this node tells of its rotation. That the new key is used it
// confirms when no connection is left that was made with the old one.
func (r *rotator) confirmationLocked() confirmation {
	return confirmation{r.now, r.now.Phase != keyUsed || r.node.pool.Renew(r.node.keys.ring.Shows) == 0}
}

// hear takes over what another member tells, when that is newer, and answers.
func (r *rotator) hear(told rotation) (confirmation, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := r.hearLocked(told)
	return r.confirmationLocked(), err
}

// hearLocked takes over what another member tells, when that is newer.
func (r *rotator) hearLocked(told rotation) error {
	if !told.newerThan(r.now) {
		return nil
	}
	return r.enterLocked(r.now.heard(told))
}

// enterLocked takes over a newer rotation: on disk first, then in effect.
func (r *rotator) enterLocked(next rotation) error {
	if !next.newerThan(r.now) {
		return nil
	}
	use, also, err := next.keys()
	if err != nil {
		return err
	}
	content, err := json.Marshal(next)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	if err := os.MkdirAll(filepath.Dir(r.path()), 0o700); err != nil {
		return datadir.Failed("keep the rotation of the key", err)
	}
	if err := files.Replace(r.path(), append(content, '\n')); err != nil {
		return datadir.Failed("keep the rotation of the key", err)
	}
	n := r.node
	alsoGossip := make([][]byte, len(also))
	for i, k := range also {
		alsoGossip[i] = k.GossipKey()
	}
	if err := n.members.SetKeys(use.GossipKey(), alsoGossip...); err != nil {
		return err
	}
	n.keys.ring.Set(use, also...)
	switch next.Phase {
	case keyUsed:
		n.pool.Renew(n.keys.ring.Shows)
	case keyAlone:
		n.server.Recheck(n.keys.ring.Takes)
	}
	r.now, r.waiting = next, nil
	n.log.Info("the cluster's key is being replaced", "step", next.Phase.String(), "old", next.OldPin, "in_use", use.Fingerprint())
	signal(r.look)
	return nil
}

// run asks the members while a rotation is under way.
func (r *rotator) run(ctx context.Context) error {
	for {
		r.mu.Lock()
		pending := r.now.pending()
		r.mu.Unlock()
		var again <-chan time.Time
		if pending {
			if err := r.round(ctx); errors.Is(err, ErrStorage) && !isFull(err) {
				return err
			}
			again = time.After(rotationPace)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-r.look:
		case <-again:
		}
	}
}

// round asks all other members once, and takes the next step when all have confirmed.
func (r *rotator) round(ctx context.Context) error {
	r.mu.Lock()
	asked := r.now
	r.mu.Unlock()
	others, view := r.node.others(), r.node.viewNumber()
	told := r.ask(ctx, asked, append(r.node.joiners(), others...))
	ids := make([]crawl.NodeID, len(others))
	names := maps.Clone(asked.Awaited)
	if names == nil {
		names = map[crawl.NodeID]string{}
	}
	for i, m := range others {
		ids[i], names[m.ID] = m.ID, m.Name
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range told { // the others may be ahead
		if err := r.hearLocked(c.Rotation); err != nil {
			return err
		}
	}
	if !r.now.is(asked) || !r.node.listed() || r.node.viewNumber() != view {
		return nil // asked again
	}
	own := r.confirmationLocked()
	told[r.node.id] = own // it is awaited where another one began
	next, waiting := asked.advance(own.Done, ids, r.node.isForgotten, told)
	r.waiting = nil
	for _, id := range waiting {
		r.waiting = append(r.waiting, names[id])
	}
	return r.enterLocked(next)
}

// joiners are the nodes in sight that no view lists yet. They hear of a rotation before
// they are members, as they may be when it is over; nobody waits for them.
func (n *Node) joiners() (found []membership.Member) {
	snap := n.members.Snapshot()
	if snap.View == nil {
		return nil
	}
	for _, p := range snap.Peers {
		if p.Listed || p.ID == n.id || p.State != crawl.NodeAlive {
			continue
		}
		if _, ok := snap.View.Member(p.ID); !ok {
			found = append(found, membership.Member{ID: p.ID, Name: p.Name, Boot: p.Boot, RPC: p.RPC})
		}
	}
	return found
}

// isForgotten reports whether an operator swore that a node is gone.
func (n *Node) isForgotten(id crawl.NodeID) bool { return forgotten(n.members.Snapshot().View, id) }

// ask tells nodes of the rotation and returns what those say that answer.
func (r *rotator) ask(ctx context.Context, asked rotation, members []membership.Member) map[crawl.NodeID]confirmation {
	payload, err := json.Marshal(operatorOrder{Rotation: &asked})
	if err != nil {
		panic("BUG: " + err.Error())
	}
	ctx, cancel := context.WithTimeout(ctx, rotationPatience)
	defer cancel()
	told := map[crawl.NodeID]confirmation{}
	var mu sync.Mutex // guards told
	var wg sync.WaitGroup
	for _, m := range members {
		wg.Go(func() {
			reply, err := peer.Call(ctx, r.node.pool, targetOf(m), &peer.Envelope{Payload: payload}, peer.PeerClient.Operate)
			var c confirmation
			if err != nil || json.Unmarshal(reply.Payload, &c) != nil {
				return // it is waited for
			}
			mu.Lock()
			defer mu.Unlock()
			told[m.ID] = c
		})
	}
	wg.Wait()
	return told
}

// RotateKey begins to replace the cluster's key, or tells how far that has come. It wants
// the key itself of who asks: with a token alone nobody may lock its makers out.
func (n *Node) RotateKey(ctx context.Context, text string) (crawl.RotationReport, error) {
	if n.keys.ring == nil {
		return crawl.RotationReport{}, fmt.Errorf("%w: this cluster has no key; to give it one, stop all nodes and start them with --cluster-key-file", crawl.ErrRefused)
	}
	if asker := crawl.AskerOf(ctx); asker.ID != crawl.KeyAsker {
		return crawl.RotationReport{}, fmt.Errorf("%w: a token replaces no key: ask with --cluster-key-file", crawl.ErrForbidden)
	}
	key, err := clusterkey.Parse(text)
	if err != nil {
		return crawl.RotationReport{}, &crawl.FieldErrors{Fields: []crawl.FieldError{{Field: "key", Detail: err.Error()}}}
	}
	if !n.synced.Load() {
		return crawl.RotationReport{}, ErrNotReady
	}
	r := &n.rotator
	r.mu.Lock()
	defer r.mu.Unlock()
	use := n.keys.ring.Keys()[0]
	switch {
	case r.now.New == key.Text():
	case r.now.pending():
		return crawl.RotationReport{}, fmt.Errorf("%w: the key is being replaced already, the one in use is %s: wait until that is over", crawl.ErrRefused, use.Fingerprint())
	case use.Text() == key.Text():
		return crawl.RotationReport{Fingerprint: key.Fingerprint(), Step: keyAlone.String()}, nil
	default:
		members := map[crawl.NodeID]string{}
		for _, m := range n.others() {
			members[m.ID] = m.Name
		}
		if err := r.enterLocked(beginRotation(r.now, use, key, members, uint64(time.Now().UnixMilli()))); err != nil {
			return crawl.RotationReport{}, err
		}
	}
	return crawl.RotationReport{Fingerprint: key.Fingerprint(), Step: r.now.Phase.String(), Waiting: r.waiting}, nil
}
