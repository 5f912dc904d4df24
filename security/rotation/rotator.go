package rotation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"crawlnode/crawl"
	"crawlnode/local/datadir"
	"crawlnode/local/files"
	"crawlnode/membership"
	"crawlnode/peer/fanout"
	"crawlnode/security/clusterkey"
)

const (
	// pace is how often the members are asked while a rotation is under way.
	pace = 500 * time.Millisecond
	// patience bounds one round of questions.
	patience = 2 * time.Second
)

// Cluster is what the package asks of the rest of the node. None of it is called before Run.
type Cluster interface {
	// Self is this node as the view lists it.
	Self() membership.Member
	// View is the installed view; nil before there is one.
	View() *membership.View
	// Joiners are nodes that no view lists yet.
	Joiners() []membership.Member
	// Ask sends the rotation to a node, whose Receive answers.
	Ask(ctx context.Context, to membership.Member, s State) (Confirmation, error)
	// Ready is nil once this node has joined; before that it is the error that callers of Rotate get.
	Ready() error
	// SetGossip has gossip use one key, and accept others beside it.
	SetGossip(use []byte, also ...[]byte) error
	// Renew replaces connections to other nodes that were made with another key than the one
	// in use, and returns how many are left.
	Renew() (left int)
	// Recheck closes connections of other nodes whose key is not accepted any more.
	Recheck()
}

// Options are the package's dependencies. All are set.
type Options struct {
	Dir     *datadir.Dir
	Cluster Cluster
	Logger  *slog.Logger
}

// Rotator carries out rotations of the cluster's key. Every node that knows of one asks all
// members until it is over.
type Rotator struct {
	o    Options
	ring *clusterkey.Ring // nil: the cluster has no key
	look chan struct{}    // capacity 1: there is a rotation

	mu      sync.Mutex // guards the rest, and orders what is carried out
	now     State
	waiting []string // names of members that had not confirmed in the last round
}

// Open makes the node's keys of the key file and of the rotation on disk, if any. file is nil
// when the cluster has no key.
func Open(o Options, file *clusterkey.Key) (*Rotator, error) {
	r := &Rotator{o: o, look: make(chan struct{}, 1)}
	if file == nil {
		return r, nil
	}
	r.ring = clusterkey.NewRing(*file)
	content, err := os.ReadFile(r.path())
	if errors.Is(err, os.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return nil, datadir.Failed("read the rotation of the key", err)
	}
	var was State
	if err := json.Unmarshal(content, &was); err != nil {
		return nil, datadir.Failed("read "+r.path(), err)
	}
	kept, stale := was.resumed(*file)
	if kept.Phase == None {
		o.Logger.Warn("the key file has neither key of the last rotation: the file's is used",
			"fingerprint", file.Fingerprint())
		return r, nil
	}
	use, also, err := kept.keys()
	if err != nil {
		return nil, datadir.Failed("read "+r.path(), err)
	}
	if stale {
		o.Logger.Warn(
			"the cluster has a newer key, which this node has stored: replace its --cluster-key-file",
			"old", file.Fingerprint(), "new", use.Fingerprint())
	}
	r.now = kept
	r.ring.Set(use, also...)
	r.wake()
	return r, nil
}

// path is the file of the rotation. Only the owner of the folder may read it: the file has the key.
func (r *Rotator) path() string { return r.o.Dir.Join(filepath.Join("keys", "rotation.json")) }

// Ring is the keys in use; nil when the cluster has no key.
func (r *Rotator) Ring() *clusterkey.Ring { return r.ring }

// wake has Run look at the rotation at once.
func (r *Rotator) wake() {
	crawl.Signal(r.look)
}

// confirmationLocked is this node's answer about its rotation. It confirms that the new key is
// used when no connection is left that was made with the old one.
func (r *Rotator) confirmationLocked() Confirmation {
	return Confirmation{r.now, r.now.Phase != Used || r.o.Cluster.Renew() == 0}
}

// Receive takes over what another member sends, when that is newer, and answers. The cluster
// must have a key.
func (r *Rotator) Receive(told State) (Confirmation, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := r.receiveLocked(told)
	return r.confirmationLocked(), err
}

func (r *Rotator) receiveLocked(told State) error {
	if !told.newerThan(r.now) {
		return nil
	}
	return r.enterLocked(r.now.merged(told))
}

// enterLocked takes a newer step: on disk first, then in effect.
func (r *Rotator) enterLocked(next State) error {
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
	alsoGossip := make([][]byte, len(also))
	for i, k := range also {
		alsoGossip[i] = k.GossipKey()
	}
	if err := r.o.Cluster.SetGossip(use.GossipKey(), alsoGossip...); err != nil {
		return err
	}
	r.ring.Set(use, also...)
	switch next.Phase {
	case Used:
		r.o.Cluster.Renew()
	case Alone:
		r.o.Cluster.Recheck()
	}
	r.now, r.waiting = next, nil
	r.o.Logger.Info("the cluster's key is being replaced", "step", next.Phase.String(), "old",
		next.OldPin, "in_use", use.Fingerprint())
	r.wake()
	return nil
}

// Run asks the members while a rotation is under way. It ends with ctx or an error of the disk.
func (r *Rotator) Run(ctx context.Context) error {
	for {
		r.mu.Lock()
		pending := r.now.pending()
		r.mu.Unlock()
		var again <-chan time.Time
		if pending {
			if err := r.round(ctx); datadir.Fatal(err) {
				return err
			}
			again = time.After(pace)
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
func (r *Rotator) round(ctx context.Context) error {
	r.mu.Lock()
	asked := r.now
	r.mu.Unlock()
	self, view := r.o.Cluster.Self(), r.o.Cluster.View()
	others := view.Others(self.ID)
	told := r.ask(ctx, asked, append(r.o.Cluster.Joiners(), others...))
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
		if err := r.receiveLocked(c.Rotation); err != nil {
			return err
		}
	}
	if !r.now.is(asked) || view == nil || !view.Lists(self.ID, self.Boot) ||
		r.o.Cluster.View().Number != view.Number {
		return nil // asked again
	}
	own := r.confirmationLocked()
	told[self.ID] = own // it is awaited where another node began
	next, waiting := asked.advance(own.Done, ids, view.Bars, told)
	r.waiting = nil
	for _, id := range waiting {
		r.waiting = append(r.waiting, names[id])
	}
	return r.enterLocked(next)
}

// ask sends the rotation to nodes and returns the answers of those that answer.
func (r *Rotator) ask(
	ctx context.Context,
	asked State,
	members []membership.Member,
) map[crawl.NodeID]Confirmation {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	told := map[crawl.NodeID]Confirmation{}
	for _, a := range fanout.Ask(members,
		func(m membership.Member) (Confirmation, error) { return r.o.Cluster.Ask(ctx, m, asked) }) {
		if a.Err == nil { // else it is waited for
			told[a.Node.ID] = a.Value
		}
	}
	return told
}

// Rotate begins to replace the cluster's key by another, or reports how far that has come. The
// caller must show the key itself: with a token alone nobody may lock the key's owners out.
func (r *Rotator) Rotate(ctx context.Context, text string) (crawl.RotationReport, error) {
	if r.ring == nil {
		return crawl.RotationReport{}, fmt.Errorf("%w: this cluster has no key; to give it one, "+
			"stop all nodes and start them with --cluster-key-file", crawl.ErrRefused)
	}
	if asker := crawl.CallerOf(ctx); asker.ID != crawl.KeyCaller {
		return crawl.RotationReport{}, fmt.Errorf(
			"%w: a token replaces no key: ask with --cluster-key-file", crawl.ErrForbidden)
	}
	key, err := clusterkey.Parse(text)
	if err != nil {
		return crawl.RotationReport{}, &crawl.FieldErrors{
			Fields: []crawl.FieldError{{Field: "key", Detail: err.Error()}},
		}
	}
	if err := r.o.Cluster.Ready(); err != nil {
		return crawl.RotationReport{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	use := r.ring.Keys()[0]
	switch {
	case r.now.New == key.Text():
	case r.now.pending():
		return crawl.RotationReport{}, fmt.Errorf(
			"%w: the key is being replaced already, the one in use is %s: wait until that is over",
			crawl.ErrRefused, use.Fingerprint())
	case use.Text() == key.Text():
		return crawl.RotationReport{Fingerprint: key.Fingerprint(), Step: Alone.String()}, nil
	default:
		members := map[crawl.NodeID]string{}
		for _, m := range r.o.Cluster.View().Others(r.o.Cluster.Self().ID) {
			members[m.ID] = m.Name
		}
		if err := r.enterLocked(Begin(r.now, use, key, members, uint64(time.Now().UnixMilli()))); err !=
			nil {
			return crawl.RotationReport{}, err
		}
	}
	return crawl.RotationReport{
		Fingerprint: key.Fingerprint(),
		Step:        r.now.Phase.String(),
		Waiting:     r.waiting,
	}, nil
}
