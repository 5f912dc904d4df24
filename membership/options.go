package membership

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"time"

	"github.com/hashicorp/memberlist"

	"crawlnode/crawl"
	"crawlnode/membership/consensus"
	"crawlnode/ring"
)

// Caller carries the core's messages to other nodes.
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
	// RPC and HTTP are the host:port that others use for this node.
	RPC, HTTP string
	// Join are gossip addresses of any members, own ones included.
	Join []string
	// FoundAfter is how long the first node of Join looks for a cluster before
	// it founds one. 0: 10 s.
	FoundAfter time.Duration

	// SecretKey encrypts gossip: 16, 24 or 32 bytes; nil sends it in the clear.
	SecretKey []byte
	// AlsoKeys are read as well, while a cluster goes from one key to another; see
	// Membership.SetKeys.
	AlsoKeys [][]byte
	// Transport replaces sockets, for simulations. Membership shuts it down.
	Transport memberlist.Transport
	Caller    Caller
	Logger    *slog.Logger // nil: silent
	Events    Events
	// QuorumOff (--quorum=off) lets any members decide a view once all others
	// are silent or dead, and asks no grants of a lease. In a split each side
	// then goes on, and two nodes may fetch from one host. All nodes of a
	// cluster must agree on it.
	QuorumOff bool
	// ProofOfDeath (--proof-of-death) lets a member be excluded at once when
	// its process is seen to be gone or its address refuses connects. It must
	// be off where something in between rejects connects for others:
	// firewalls, NAT, proxies.
	ProofOfDeath bool
	// Dial tries to connect to host:port and hangs up; nil: TCP. Its error
	// counts only if it is ECONNREFUSED.
	Dial func(ctx context.Context, addr string) error
	// Processes reports whether the process of a member is gone, if that can be
	// known here; nil: looks into /proc for members on this machine.
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

// validate names all that is wrong at once.
func (o *Options) validate() error {
	var errs []error
	if o.Storage == nil || o.Caller == nil {
		errs = append(errs, errors.New("storage and caller are required"))
	}
	if o.Name == "" || o.Cluster == "" {
		errs = append(errs, errors.New("a node name and a cluster name are required"))
	}
	errs = append(errs,
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
		if _, err := splitPort(addr); err != nil {
			errs = append(errs, fmt.Errorf("join address %q: %w", addr, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("membership: %w", err)
	}
	return nil
}

// hostPort is an address whose port is known.
type hostPort struct {
	host string
	port int
}

func (h hostPort) String() string { return net.JoinHostPort(h.host, strconv.Itoa(h.port)) }

func splitPort(addr string) (hostPort, error) {
	host, portText, err := net.SplitHostPort(addr)
	if err != nil {
		return hostPort{}, err
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return hostPort{}, fmt.Errorf("port %q is not a number below 65536", portText)
	}
	return hostPort{host, int(port)}, nil
}

// ProtocolVersion numbers what nodes say to each other and what they copy to
// each other. Nodes of different versions do not share a cluster: gossip and the
// calls between nodes refuse, and name both. Raise it when a node of the release
// before could not do all that one of this release asks of it, or would not
// understand a copy that it is given. docs/decisions/0140-versions.md lists what
// each number brought.
const ProtocolVersion = 3
