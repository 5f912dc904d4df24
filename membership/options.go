package membership

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/hashicorp/memberlist"

	"crawlnode/crawl"
	"crawlnode/membership/consensus"
	"crawlnode/membership/gossip"
	"crawlnode/membership/storage"
	"crawlnode/ring"
)

// Storage keeps one small document, the node's membership state. NewFile and Memory
// implement it.
type Storage interface {
	// Load returns what Save stored last, or nil when nothing was ever stored.
	Load() ([]byte, error)
	// Save replaces the document. When it returns nil the document survives a
	// crash and a power loss; when it fails, the old one or the new one does.
	Save([]byte) error
}

// Memory is a Storage for simulations.
type Memory = storage.Memory

// NewFile returns a Storage in a file of the directory dir. replace gives a file a new
// content as Save must.
func NewFile(dir string, replace func(path string, content []byte) error) Storage {
	return storage.NewFile(dir, replace)
}

// Caller sends the core's messages to other nodes.
type Caller interface {
	// Call hands payload to Handle of the node at to.RPC and returns its
	// answer. It blocks until then or until ctx ends, and is called from
	// several goroutines. to may not be in any view yet; then to.Since is 0.
	Call(ctx context.Context, to Member, payload []byte) ([]byte, error)
}

// Events are optional callbacks. The goroutine of Run calls them one at a
// time (Open does when it founds a cluster); they must not block and must not
// call back into Membership.
type Events struct {
	// Installed reports each view, before Snapshot shows it. skipped says that
	// this node missed at least one view before it.
	Installed func(v *View, skipped bool)
	// Refused reports, once for each reason, a node that may not join.
	Refused func(id crawl.NodeID, name, reason string)
}

// Options are what Open needs. Storage, Name, Cluster and Caller are required.
type Options struct {
	// Storage keeps the node's state; NewFile(dataDir) in production.
	Storage Storage
	// Name is the human name, unique in the cluster, at most 64 bytes.
	Name string
	// Cluster is the cluster's name (--cluster), at most 64 bytes.
	Cluster string
	// ID is the id of a node without data; "" makes a random one.
	ID crawl.NodeID

	// Weight is this node's share of the partitions against the others', 1 to 16; 0: 1. Zone is
	// what fails together with it, at most 32 bytes; "": nothing. See SetPlace.
	Weight int
	Zone   string

	// Partitions and Replication are used if this node founds the cluster; a
	// joiner takes over the cluster's. 0: 1024 and 2.
	Partitions, Replication int
	// RequirePartitions refuses clusters with another number of partitions; 0
	// accepts any.
	RequirePartitions int

	// Bind is where gossip listens, IP:port, TCP and UDP. Port 0 takes a free
	// one. With Transport it is not used.
	Bind string
	// Advertise is the host:port that others use for gossip when it differs
	// from Bind; without a port, Bind's is used.
	Advertise string
	// RPC and HTTP are the host:port that others use for this node. An unspecified host
	// (0.0.0.0, ::) becomes the one that gossip advertises.
	RPC, HTTP string
	// Join are gossip addresses of any members, own ones included.
	Join []string
	// FoundAfter is how long the first node of Join looks for a cluster before
	// it founds one. 0: 10 s.
	FoundAfter time.Duration

	// SecretKey encrypts gossip: 16, 24 or 32 bytes; nil sends it in the clear.
	SecretKey []byte
	// AlsoKeys are accepted as well while a cluster changes its key; see
	// Membership.SetKeys.
	AlsoKeys [][]byte
	// Transport replaces sockets, for simulations. Membership shuts it down.
	Transport memberlist.Transport
	Caller    Caller
	Logger    *slog.Logger // nil: silent
	Events    Events
	// QuorumOff (--quorum=off) lets any members decide a view once all others are
	// silent or dead, and leases need no grants. In a split each side then continues,
	// and two nodes may fetch from one host. All nodes of a cluster must have the
	// same setting.
	QuorumOff bool
	// ProofOfDeath (--proof-of-death) lets a member be excluded at once when its
	// process is gone or its address refuses connections. It must be off where
	// something between the nodes rejects connections: firewalls, NAT, proxies.
	ProofOfDeath bool
	// Dial connects to host:port and closes the connection; nil: over TCP. Only the error
	// ECONNREFUSED counts.
	Dial func(ctx context.Context, addr string) error
	// Processes reports whether the process of a member is gone, if that can be known
	// here; nil: reads /proc for members on this machine.
	Processes func(Member) (gone, known bool)
	// Lookup returns the IP addresses of a name, at each attempt anew; nil: the
	// system's resolver.
	Lookup func(ctx context.Context, name string) ([]string, error)
	// Clock measures leases; nil: the system's.
	Clock Clock
	// Random returns the numbers that spread retries; nil: a random source.
	Random func() uint64
}

// Defaults of Options.
const (
	DefaultPartitions  = 1024
	DefaultReplication = 2
	DefaultFoundAfter  = 10 * time.Second
)

func (o *Options) setDefaults() {
	if o.RequirePartitions != 0 {
		o.Partitions = o.RequirePartitions
	}
	if o.Partitions == 0 {
		o.Partitions = DefaultPartitions
	}
	if o.Replication == 0 {
		o.Replication = DefaultReplication
	}
	if o.Weight == 0 {
		o.Weight = 1
	}
	if o.FoundAfter == 0 {
		o.FoundAfter = DefaultFoundAfter
	}
	if o.Clock == nil {
		o.Clock = SystemClock()
	}
	if o.Lookup == nil {
		o.Lookup = net.DefaultResolver.LookupHost
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
}

// validate returns all errors at once.
func (o *Options) validate() error {
	var errs []error
	if o.Storage == nil || o.Caller == nil {
		errs = append(errs, errors.New("storage and caller are required"))
	}
	if o.Name == "" || o.Cluster == "" {
		errs = append(errs, errors.New("a node name and a cluster name are required"))
	}
	errs = append(errs,
		PlaceChange{Weight: &o.Weight, Zone: &o.Zone}.Check(),
		consensus.ValidateText("node name", o.Name, consensus.MaxNameBytes),
		consensus.ValidateText("cluster name", o.Cluster, consensus.MaxNameBytes),
		consensus.ValidateText("RPC address", o.RPC, consensus.MaxAddressBytes),
		consensus.ValidateText("HTTP address", o.HTTP, consensus.MaxAddressBytes))
	if o.ID != "" {
		errs = append(errs, consensus.ValidateID(o.ID))
	}
	if o.Partitions < 1 || o.Partitions > ring.MaxPartitions {
		errs = append(errs, fmt.Errorf("%d partitions: must lie within 1 and %d", o.Partitions, ring.MaxPartitions))
	}
	if o.Replication < 1 || o.Replication > ring.MaxReplicas+1 {
		errs = append(errs, fmt.Errorf("replication %d: must lie within 1 and %d", o.Replication, ring.MaxReplicas+1))
	}
	if n := len(o.SecretKey); n != 0 && n != 16 && n != 24 && n != 32 {
		errs = append(errs, fmt.Errorf("the gossip key has %d bytes: must have 16, 24 or 32", n))
	}
	for _, addr := range o.Join {
		if _, err := gossip.ParseAddress(addr); err != nil {
			errs = append(errs, fmt.Errorf("join address %q: %w", addr, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("membership: %w", err)
	}
	return nil
}

// gossip are the options of this node's gossip.
func (o *Options) gossip(self crawl.NodeID) gossip.Options {
	return gossip.Options{Self: self, Cluster: o.Cluster, SecretKey: o.SecretKey, AlsoKeys: o.AlsoKeys, Logger: o.Logger}
}

// ProtocolVersion numbers what nodes send to each other.
const ProtocolVersion = consensus.ProtocolVersion

// SetKeys encrypts gossip with one key from now on, and accepts that one and also. It may
// be called at any time between Open and Close, by one goroutine at a time. A node that
// had no key cannot get one.
func (m *Membership) SetKeys(use []byte, also ...[]byte) error { return m.gossip.SetKeys(use, also...) }

// ProbeOptions say how Probe asks a node.
type ProbeOptions = gossip.ProbeOptions

// ProbeResult is what Probe found.
type ProbeResult = gossip.ProbeResult

// Probe tests whether the node whose gossip listens at addr, host:port, can be reached
// over TCP and over UDP. It joins nothing.
func Probe(ctx context.Context, o ProbeOptions, addr string) ProbeResult {
	return gossip.Probe(ctx, o, addr)
}
