package membership

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/memberlist"

	"crawlnode/crawl"
	"crawlnode/door"
	"crawlnode/membership/consensus"
)

// Gossip timing. A probe must not time out sooner than half a second: on a
// loaded machine shorter ones make false deaths.
const (
	probeInterval    = time.Second
	probeTimeout     = 500 * time.Millisecond
	gossipInterval   = 100 * time.Millisecond
	pushPullInterval = 10 * time.Second
	streamTimeout    = 2 * time.Second // dial, and one push/pull
	// reclaimAfter lets a dead node come back under another address.
	reclaimAfter  = time.Second
	updateTimeout = 500 * time.Millisecond
	leaveTimeout  = time.Second
)

// ErrAddressInUse: the gossip port is taken.
var ErrAddressInUse = errors.New("membership: the gossip address is in use")

// ErrMismatch: the cluster that answered differs in what all members share.
// The error's text names the difference.
var ErrMismatch = errors.New("membership: that node does not fit to this one")

// gossip is the edge to memberlist. memberlist calls it back while it holds
// its own locks, and hands out live memory: so callbacks copy what they need
// into the inbox, signal, and return.
type gossip struct {
	self    crawl.NodeID
	meta    atomic.Pointer[[]byte]            // what NodeMeta answers
	cluster atomic.Pointer[consensus.Cluster] // what others are compared with
	inbox   inbox
	list    *memberlist.Memberlist
	keys    *memberlist.Keyring // nil: none

	// What a push/pull carries for founding.go and brings back of it.
	mark    [markBytes]byte // this process; twin.go uses it too
	attempt atomic.Uint64   // the newest join of the rejoiner, or batch of joins
	met     atomic.Uint64   // the newest attempt that reached this process itself
	first   atomic.Bool     // this node finds itself at the first address of Join
}

// gossipEvent is the newest that gossip said of one node.
type gossipEvent struct {
	id     crawl.NodeID
	meta   meta
	gossip string // host:port
	alive  bool
}

// refusal is a node that was not let in.
type refusal struct {
	id           crawl.NodeID
	name, reason string
}

// inbox holds what the callbacks saw until the loop takes it: the newest event
// for each node and at most maxRefusals refusals, so it is bounded by the
// number of nodes.
type inbox struct {
	wake chan struct{} // cap 1

	mu       sync.Mutex // guards the rest; held for memory only
	events   map[crawl.NodeID]gossipEvent
	refusals map[refusal]bool
	claims   map[crawl.NodeID]bool // what nodes said of founding, at most maxClaims
	twin     Member                // another process with this node's id, as gossip knows it; zero: none
}

const (
	maxRefusals = 64
	maxClaims   = 1024
)

func (i *inbox) put(e gossipEvent) {
	i.mu.Lock()
	if i.events == nil {
		i.events = make(map[crawl.NodeID]gossipEvent)
	}
	i.events[e.id] = e
	i.mu.Unlock()
	signal(i.wake)
}

func (i *inbox) refuse(r refusal) {
	i.mu.Lock()
	if i.refusals == nil {
		i.refusals = make(map[refusal]bool)
	}
	if len(i.refusals) < maxRefusals {
		i.refusals[r] = true
	}
	i.mu.Unlock()
	signal(i.wake)
}

func (i *inbox) claim(id crawl.NodeID, first bool) {
	i.mu.Lock()
	if i.claims == nil {
		i.claims = make(map[crawl.NodeID]bool)
	}
	if _, known := i.claims[id]; known || len(i.claims) < maxClaims {
		i.claims[id] = first
	}
	i.mu.Unlock()
	signal(i.wake)
}

// takeClaims is called before take, so that whoever claims has been sighted.
func (i *inbox) takeClaims() map[crawl.NodeID]bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	made := i.claims
	i.claims = nil
	return made
}

func (i *inbox) noteTwin(m Member) {
	i.mu.Lock()
	i.twin = m
	i.mu.Unlock()
	signal(i.wake)
}

func (i *inbox) take() ([]gossipEvent, []refusal, Member) {
	i.mu.Lock()
	defer i.mu.Unlock()
	events, refusals, twin := slices.Collect(maps.Values(i.events)), slices.Collect(maps.Keys(i.refusals)), i.twin
	clear(i.events)
	clear(i.refusals)
	i.twin = Member{}
	return events, refusals, twin
}

// NodeMeta implements memberlist.Delegate.
func (g *gossip) NodeMeta(int) []byte { return *g.meta.Load() }

// NotifyMsg implements memberlist.Delegate; nothing is sent that way.
func (g *gossip) NotifyMsg([]byte) {}

// GetBroadcasts implements memberlist.Delegate; nothing is sent that way.
func (g *gossip) GetBroadcasts(int, int) [][]byte { return nil }

// A push/pull carries, behind the states of the nodes and in both directions, who
// speaks:
//
//	byte version (1), 16 bytes mark, u64 attempt, byte claims, the rest the node's id
//
// The mark is drawn by each process. Claims has bit 0 set while the node finds itself at
// the first address of Join. Nodes that know nothing of it send nothing.
const (
	markBytes     = 16
	speechVersion = 1
	speechBytes   = 1 + markBytes + 8 + 1 // without the id
	claimsFirst   = 1
)

// LocalState implements memberlist.Delegate.
func (g *gossip) LocalState(bool) []byte {
	b := append(make([]byte, 0, speechBytes+len(g.self)), speechVersion)
	b = append(b, g.mark[:]...)
	b = binary.BigEndian.AppendUint64(b, g.attempt.Load())
	claims := byte(0)
	if g.first.Load() {
		claims = claimsFirst
	}
	return append(append(b, claims), g.self...)
}

// MergeRemoteState implements memberlist.Delegate. It is called before the Join that
// brought the state returns.
func (g *gossip) MergeRemoteState(b []byte, _ bool) {
	if len(b) < speechBytes || b[0] != speechVersion {
		return
	}
	mark, rest := b[1:1+markBytes], b[1+markBytes:]
	if id := crawl.NodeID(rest[9:]); !bytes.Equal(mark, g.mark[:]) {
		if consensus.ValidateID(id) == nil {
			g.inbox.claim(id, rest[8]&claimsFirst != 0)
		}
		return
	}
	for attempt := binary.BigEndian.Uint64(rest); ; {
		met := g.met.Load()
		if met >= attempt || g.met.CompareAndSwap(met, attempt) {
			return
		}
	}
}

// NotifyJoin implements memberlist.EventDelegate.
func (g *gossip) NotifyJoin(n *memberlist.Node) { g.notice(n, true) }

// NotifyUpdate implements memberlist.EventDelegate.
func (g *gossip) NotifyUpdate(n *memberlist.Node) { g.notice(n, true) }

// NotifyLeave implements memberlist.EventDelegate. It does not tell a crash
// from a polite end; the status in the metadata does.
func (g *gossip) NotifyLeave(n *memberlist.Node) { g.notice(n, false) }

func (g *gossip) notice(n *memberlist.Node, alive bool) {
	if n.Name == string(g.self) {
		return
	}
	m, err := decodeMeta(n.Meta)
	if err != nil {
		return // NotifyAlive has refused it already
	}
	g.inbox.put(gossipEvent{id: crawl.NodeID(n.Name), meta: m, gossip: addressOf(n), alive: alive})
}

// NotifyAlive implements memberlist.AliveDelegate: strangers never enter the
// list, however they come.
func (g *gossip) NotifyAlive(n *memberlist.Node) error { return g.check(n) }

// NotifyMerge implements memberlist.MergeDelegate: it is asked when one side
// joins the other, with all that the other side knows. It refuses when nothing
// of that fits; single strangers are refused by NotifyAlive.
func (g *gossip) NotifyMerge(nodes []*memberlist.Node) error {
	var err error
	for _, n := range nodes {
		if n.Name == string(g.self) || n.State == memberlist.StateDead || n.State == memberlist.StateLeft {
			continue
		}
		if err = g.check(n); err == nil {
			return nil
		}
	}
	return err
}

// NotifyConflict implements memberlist.ConflictDelegate: two living nodes with
// one id. A restart under a new address looks like that for some seconds. When the
// id is this node's own, the other one is sought (twin.go).
func (g *gossip) NotifyConflict(existing, other *memberlist.Node) {
	m, err := decodeMeta(other.Meta)
	if other.Name == string(g.self) {
		if err == nil {
			g.inbox.noteTwin(Member{ID: g.self, Name: m.Name, Boot: m.Boot, RPC: m.RPC, HTTP: m.HTTP, Gossip: addressOf(other), Process: m.Process})
		}
		return
	}
	g.inbox.refuse(refusal{crawl.NodeID(other.Name), m.Name, fmt.Sprintf(
		"its id is in use at %s and at %s (restarted under another address, or a copied data directory)", addressOf(existing), addressOf(other))})
}

// check compares a node with what all members share.
func (g *gossip) check(n *memberlist.Node) error {
	if n.Name == string(g.self) {
		return nil
	}
	m, err := decodeMeta(n.Meta)
	if err == nil {
		err = consensus.ValidateID(crawl.NodeID(n.Name))
	}
	reason := ""
	if err != nil {
		reason = err.Error()
	} else {
		reason = g.cluster.Load().Difference(m.Cluster)
	}
	if reason == "" {
		return nil
	}
	g.inbox.refuse(refusal{crawl.NodeID(n.Name), m.Name, reason})
	return fmt.Errorf("%w: node %q at %s: %s", ErrMismatch, m.Name, addressOf(n), reason)
}

func addressOf(n *memberlist.Node) string {
	return net.JoinHostPort(n.Addr.String(), strconv.Itoa(int(n.Port)))
}

// start brings memberlist up on the transport.
func (g *gossip) start(o *Options, transport memberlist.Transport, advertise hostPort) error {
	conf := memberlist.DefaultLANConfig()
	conf.Name = string(g.self)
	conf.Transport = transport
	conf.AdvertiseAddr, conf.AdvertisePort = advertise.host, advertise.port
	conf.Label = o.Cluster
	conf.Keyring = g.keys
	conf.ProbeInterval, conf.ProbeTimeout = probeInterval, probeTimeout
	conf.GossipInterval, conf.PushPullInterval = gossipInterval, pushPullInterval
	conf.TCPTimeout, conf.DeadNodeReclaimTime = streamTimeout, reclaimAfter
	conf.Delegate, conf.Events, conf.Alive, conf.Merge, conf.Conflict = g, g, g, g, g
	conf.Logger = bridge(o.Logger)
	list, err := memberlist.Create(conf)
	if err != nil {
		return fmt.Errorf("membership: start gossip: %w", err)
	}
	g.list = list
	return nil
}

// publish sends the metadata out whenever changed says so, until ctx ends.
func (g *gossip) publish(ctx context.Context, changed <-chan struct{}, log *slog.Logger) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
			if err := g.list.UpdateNode(updateTimeout); err != nil {
				log.Debug("gossip update not sent yet", "err", err)
			}
		}
	}
}

// stop says goodbye and ends memberlist. Nothing may use it afterwards. Errors
// are of no consequence: the others will notice the silence.
func (g *gossip) stop() {
	g.list.UpdateNode(updateTimeout)
	g.list.Leave(leaveTimeout)
	g.list.Shutdown()
}

// bridge makes a logger for memberlist out of ours.
func bridge(to *slog.Logger) *log.Logger {
	return log.New(logWriter{to, door.NewLog(to.With("from", "gossip"))}, "", 0)
}

type logWriter struct {
	to       *slog.Logger
	warnings *door.Log // strangers can provoke them
}

// Write takes one line of memberlist's. Its levels are lowered by one: what it
// calls an error is another node's trouble, and what matters is said by us, once:
// so are strangers, two addresses of one id, and the end of this node, which closes
// its sockets while memberlist still gossips.
func (w logWriter) Write(line []byte) (int, error) {
	text := strings.TrimSpace(string(line))
	told := strings.Contains(text, ErrMismatch.Error()) || strings.Contains(text, "Conflicting address for ") || strings.Contains(text, net.ErrClosed.Error())
	if rest, ok := strings.CutPrefix(text, "[ERR] memberlist: "); ok && !told {
		w.warnings.Warn(rest)
		return len(line), nil
	}
	w.to.Debug(text, "from", "gossip")
	return len(line), nil
}
