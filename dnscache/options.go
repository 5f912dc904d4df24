package dnscache

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/miekg/dns"
)

// ExchangeFunc sends one query to one server and returns its answer. server is
// "ip:port", network is "udp" or "tcp". It must return when ctx is done and may
// be called from many goroutines at once. A reply that cannot be read is an
// error of type *dns.Error.
type ExchangeFunc func(
	ctx context.Context,
	query *dns.Msg,
	server, network string,
) (*dns.Msg, error)

// Options say which servers to ask and what to keep. The zero value asks the system's
// servers with the defaults named below.
type Options struct {
	// Servers are name servers as "ip:port", in order of preference. None: those
	// of ResolvConf, and HostsFile is used; both files are read again when they
	// change.
	Servers []string
	// BothFamilies asks for IPv6 addresses even when there are IPv4 ones, and puts
	// them last in an answer.
	BothFamilies bool

	// Timeout bounds one query to one server; the second round has twice as
	// much. Default 2 s.
	Timeout time.Duration
	// LookupTimeout bounds a flight with all its queries. Default 10 s.
	LookupTimeout time.Duration
	// MinTTL and MaxTTL clamp the servers' TTL, for positive and negative
	// answers. Defaults 30 s and 1 h.
	MinTTL, MaxTTL time.Duration
	// FailureTTL is how long the first failure of a name is kept; each further one is
	// kept twice as long, up to 5 minutes. Default 5 s.
	FailureTTL time.Duration
	// StaleFor is how long after its end an entry may be served while the
	// servers fail. Default 24 h; negative: never.
	StaleFor time.Duration

	// MaxEntries bounds the names kept. Default 65,536 (about 250 octets each).
	MaxEntries int
	// Owner returns the owner of a name: when the memory for names is full, one owner has
	// at most an eighth of it. Default: each name is its own owner.
	Owner func(name string) string
	// MaxAddrs bounds the addresses kept of a name. Default 16.
	MaxAddrs int
	// Concurrency bounds the flights, and with them the open queries. Default 128.
	Concurrency int
	// PerServer bounds the queries under way to one server; a server that limits this node
	// gets fewer (Cache.Room). Default 64.
	PerServer int

	// ResolvConf and HostsFile name the system's files. Defaults
	// /etc/resolv.conf and /etc/hosts. Not read when Servers are given.
	ResolvConf, HostsFile string
	// Exchange sends the queries. Default: a new socket per query, which also makes
	// source ports hard to guess.
	Exchange ExchangeFunc
	Events   Events
}

// Events are optional callbacks from the goroutine of the look-up. They must not block
// and must not call back.
type Events struct {
	Lookup      func(host string)            // a name was asked for (IP literals are not counted)
	Hit         func(host string)            // answered from memory or a local file
	NegativeHit func(host string)            // answered from memory: not found
	StaleServed func(host string)            // answered with an expired entry
	Failure     func(host string, err error) // not answered: the servers failed
	// a name that was not in memory was asked for, with or without success
	Resolved func(took time.Duration)
	// Outage: no server has answered any query since that time, and why; the zero
	// time: one answers again.
	Outage func(since time.Time, err error)
	// Limited: a server limits this node to fewer than half of PerServer queries at a
	// time; or, with small false, to more again.
	Limited func(server string, places int, small bool)
}

// maxFailureTTL caps how long a failure is kept (RFC 9520, section 3.2).
const maxFailureTTL = 5 * time.Minute

// withDefaults fills what is zero and checks the rest.
func (o Options) withDefaults() (Options, error) {
	for _, s := range o.Servers {
		if _, err := netip.ParseAddrPort(s); err != nil {
			return o, fmt.Errorf("name server %q is not ip:port: %w", s, err)
		}
	}
	o.Timeout = cmp.Or(o.Timeout, 2*time.Second)
	o.LookupTimeout = cmp.Or(o.LookupTimeout, 10*time.Second)
	o.MinTTL = cmp.Or(o.MinTTL, 30*time.Second)
	o.MaxTTL = max(cmp.Or(o.MaxTTL, time.Hour), o.MinTTL)
	o.FailureTTL = cmp.Or(o.FailureTTL, 5*time.Second)
	o.StaleFor = max(cmp.Or(o.StaleFor, 24*time.Hour), 0)
	o.MaxEntries = cmp.Or(o.MaxEntries, 1<<16)
	o.MaxAddrs = cmp.Or(o.MaxAddrs, 16)
	o.Concurrency = cmp.Or(o.Concurrency, 128)
	o.PerServer = cmp.Or(o.PerServer, 64)
	o.ResolvConf = cmp.Or(o.ResolvConf, "/etc/resolv.conf")
	o.HostsFile = cmp.Or(o.HostsFile, "/etc/hosts")
	if o.Owner == nil {
		o.Owner = func(name string) string { return name }
	}
	if o.Exchange == nil {
		o.Exchange = exchange
	}
	if o.Timeout < 0 || o.LookupTimeout < 0 || o.MinTTL < 0 || o.FailureTTL < 0 || o.MaxEntries < 0 ||
		o.MaxAddrs < 0 || o.Concurrency < 0 || o.PerServer < 0 {
		return o, fmt.Errorf("name look-up options must not be negative: %+v", [...]any{o.Timeout,
			o.LookupTimeout, o.MinTTL, o.FailureTTL, o.MaxEntries, o.MaxAddrs, o.Concurrency, o.PerServer})
	}
	return o, nil
}
