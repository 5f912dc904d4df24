package peer

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
)

// Metadata keys of every call.
const (
	clusterKey  = "crawlnode-cluster"
	nodeKey     = "crawlnode-node"
	protocolKey = "crawlnode-protocol"
	// firstProtocol is the version of callers that do not name theirs.
	firstProtocol = "1"
)

const (
	// maxMessageBytes bounds every message in both directions.
	maxMessageBytes = 8 << 20
	// streamWindow and connWindow are how many bytes of a stream, and of a connection, may be on their
	// way and not read. They are fixed: gRPC measures for others with a ping and its answer for each
	// message of a quiet connection.
	streamWindow, connWindow = 1 << 20, 4 << 20
	// callTimeout bounds a unary call whose caller set no earlier deadline.
	callTimeout = 5 * time.Second
)

// Errors of Forward. Each means: not acknowledged, keep the links.
var (
	ErrBusy = errors.New("peer: too many links wait for this peer")
	ErrDown = errors.New("peer: the link stream is down and rests before the next try")
)

// PoolOptions configure a Pool. Self, Protocol and Cluster are required.
type PoolOptions struct {
	// Self is the calling node's id.
	Self string
	// Protocol is the version that this node speaks.
	Protocol int
	// Cluster gives the cluster id, "" while it is unknown.
	Cluster func() string
	// Rules stamps the batches of links; nil sends none.
	Rules func() *RulesStamp
	// Dial opens a connection; nil means TCP.
	Dial func(ctx context.Context, addr string) (net.Conn, error)
	// Ended is told that the other side closed or reset a connection on which that
	// boot of that node had answered; Addr is the address that was connected to, not
	// a name. It must not block.
	Ended func(was Target)
	// TLS is the client's side of the cluster's identity, called before each handshake;
	// try counts those in which that target has shown an identity that was not wanted. nil
	// means plain text.
	TLS func(try int) *tls.Config
	// Rand seeds the jitter of the back-off; nil means a random seed.
	Rand *rand.Rand
}

// Pool holds one connection for each target that was asked for. It is safe for
// concurrent use.
type Pool struct {
	opts PoolOptions
	ctx  context.Context
	stop context.CancelFunc
	wg   sync.WaitGroup

	meters meters

	mu       sync.Mutex // guards the rest
	conns    map[Target]*conn
	seed     *rand.Rand
	done     bool
	retiring int // conns that Renew has replaced and that are not closed yet
}

// conn is the connection to one target with its link stream.
type conn struct {
	pool    *Pool
	to      Target
	cc      *grpc.ClientConn
	client  PeerClient
	links   *linkStream
	shown   *openConns // the identities that the other side has shown
	renewed bool       // another one is being made in its place; pool.mu guards it

	mu     sync.Mutex          // guards the rest
	open   map[string]*watched // by this side's address: one, and those that are ending
	hungUp time.Time           // when one was ended because another node answered
}

// NewPool returns an empty pool. Close must be called in the end.
func NewPool(o PoolOptions) *Pool {
	ctx, stop := context.WithCancel(context.Background())
	seed := o.Rand
	if seed == nil {
		seed = rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	}
	return &Pool{
		opts:   o,
		ctx:    ctx,
		stop:   stop,
		meters: newMeters(),
		conns:  map[Target]*conn{},
		seed:   seed,
	}
}

// Close ends every stream and connection and waits for their goroutines.
func (p *Pool) Close() {
	p.mu.Lock()
	p.done = true
	conns := p.conns
	p.conns = map[Target]*conn{}
	p.mu.Unlock()
	p.stop()
	for _, c := range conns {
		c.cc.Close()
	}
	p.wg.Wait()
}

// Keep closes the connections to all targets but those in keep.
func (p *Pool) Keep(keep map[Target]bool) {
	p.mu.Lock()
	var gone []*conn
	for to, c := range p.conns {
		if !keep[to] {
			gone = append(gone, c)
			delete(p.conns, to)
		}
	}
	p.mu.Unlock()
	for _, c := range gone {
		c.end()
	}
}

// retireAfter is how long a replaced connection is kept: longer than any call.
const retireAfter = callTimeout + time.Second

// Renew replaces the connections to targets that have shown an identity that keep does not
// take. A new one is made first, with the present TLS configuration; calls use the old one
// until the new one is ready. Calls on old ones may end; streams are broken off after
// retireAfter, and begin again on the new ones. It returns how many old ones are left.
func (p *Pool) Renew(keep func(tls.ConnectionState) bool) (left int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for to, c := range p.conns {
		if c.renewed || len(c.shown.but(keep)) == 0 {
			continue
		}
		fresh, err := p.open(to)
		if err != nil {
			left++ // tried again with the next call
			continue
		}
		c.renewed = true
		p.retiring++
		p.wg.Go(func() { p.replace(c, fresh) })
	}
	return left + p.retiring
}

// replace puts fresh in the place of old as soon as it is ready, and ends old when no call
// can be open on it any more. When the target is not wanted any more fresh ends instead.
func (p *Pool) replace(old, fresh *conn) {
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.retiring--
	}()
	wanted := func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.conns[old.to] == old
	}
	for state := fresh.cc.GetState(); state != connectivity.Ready; state = fresh.cc.GetState() {
		fresh.cc.Connect()
		if !fresh.cc.WaitForStateChange(p.ctx, state) || !wanted() {
			fresh.end()
			return
		}
	}
	p.mu.Lock()
	adopted := p.conns[old.to] == old
	if adopted {
		p.conns[old.to] = fresh
	}
	p.mu.Unlock()
	if !adopted {
		fresh.end()
		return
	}
	timer := time.NewTimer(retireAfter)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-p.ctx.Done():
	}
	old.end()
}

// end closes a connection that no call gets any more.
func (c *conn) end() {
	c.links.cancel()
	_ = c.cc.Close() // it was closed before
}

// conn returns the connection to a target and makes it when it is missing. Making
// one does not dial: gRPC does that with the first call.
func (p *Pool) conn(to Target) (*conn, error) {
	if to.ID == "" || to.Addr == "" {
		return nil, fmt.Errorf("peer: no address of node %q is known", to.ID)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.conns[to]; c != nil {
		return c, nil
	}
	if p.done {
		return nil, errors.New("peer: the pool is closed")
	}
	c, err := p.open(to)
	if err != nil {
		return nil, err
	}
	p.conns[to] = c
	return c, nil
}

// open makes a connection. p.mu is held.
func (p *Pool) open(to Target) (*conn, error) {
	c := &conn{pool: p, to: to, shown: newOpenConns(), open: map[string]*watched{}}
	var err error
	if c.cc, err = grpc.NewClient("passthrough:///"+to.Addr, c.dialOptions()...); err != nil {
		return nil, fmt.Errorf("peer: connection to %s: %w", to.Addr, err)
	}
	c.client = NewPeerClient(c.cc)
	c.links = newLinkStream(c, p.seed.Uint64())
	p.wg.Go(c.links.run)
	return c, nil
}

func (c *conn) dialOptions() []grpc.DialOption {
	creds := insecure.NewCredentials()
	if c.pool.opts.TLS != nil {
		creds = newClientCreds(c.pool.opts.TLS, c.shown)
	}
	return []grpc.DialOption{
		grpc.WithTransportCredentials(creds),
		grpc.WithDisableServiceConfig(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessageBytes),
			grpc.MaxCallSendMsgSize(maxMessageBytes)),
		// A stopped or cut-off peer is noticed within 15 s even when nothing is sent.
		grpc.WithKeepaliveParams(
			keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 5 * time.Second}),
		grpc.WithConnectParams(
			grpc.ConnectParams{Backoff: reconnect, MinConnectTimeout: 2 * time.Second}),
		grpc.WithContextDialer(
			func(ctx context.Context, _ string) (net.Conn, error) { return c.dial(ctx) }),
		grpc.WithUnaryInterceptor(c.unary),
		grpc.WithStreamInterceptor(c.stream),
		grpc.WithInitialWindowSize(streamWindow),
		grpc.WithInitialConnWindowSize(connWindow),
	}
}

// outgoing adds what every call carries.
func (c *conn) outgoing(ctx context.Context) context.Context {
	o := &c.pool.opts
	return metadata.AppendToOutgoingContext(ctx, clusterKey, o.Cluster(), nodeKey, o.Self, protocolKey,
		strconv.Itoa(o.Protocol),
		targetKey, identity{c.to.ID, c.to.Boot}.String())
}

// Call makes one unary call, with a deadline of 5 s when ctx has no earlier one. The
// answer is the target's: when another node answers, that is an error. The function
// gets the client and the prepared context:
//
//	reply, err := peer.Call(ctx, pool, to, req, peer.PeerClient.Renew)
func Call[Req, Reply any](ctx context.Context, p *Pool, to Target, req *Req,
	method func(
		PeerClient,
		context.Context,
		*Req,
		...grpc.CallOption,
	) (*Reply, error)) (*Reply, error) {
	return CallWithin(ctx, callTimeout, p, to, req, method)
}

// CallWithin is Call with another deadline, for an answer that waits for something.
func CallWithin[Req, Reply any](
	ctx context.Context,
	patience time.Duration,
	p *Pool,
	to Target,
	req *Req,
	method func(PeerClient, context.Context, *Req, ...grpc.CallOption) (*Reply, error),
) (*Reply, error) {
	c, err := p.conn(to)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(c.outgoing(ctx), patience)
	defer cancel()
	return method(c.client, ctx, req)
}

// Replicate opens a stream of a replica's copies. It ends with ctx. The first message
// that comes back shows whether the target is at the other end.
func (p *Pool) Replicate(
	ctx context.Context,
	to Target,
) (grpc.BidiStreamingClient[Envelope, Envelope], error) {
	c, err := p.conn(to)
	if err != nil {
		return nil, err
	}
	return c.client.Replicate(c.outgoing(ctx))
}

// Archive asks a node for something out of its archive. The bytes come
// while they are read; the reader ends with ctx, and Close ends it before. An error
// of the other side is that of the first Read, or of a later one.
func (p *Pool) Archive(ctx context.Context, to Target, req *Envelope) (io.ReadCloser, error) {
	c, err := p.conn(to)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(c.outgoing(ctx))
	stream, err := c.client.Archive(ctx, req)
	if err != nil {
		cancel()
		return nil, err
	}
	return &byteStream{stream: stream, cancel: cancel}, nil
}

// byteStream reads the pieces of a stream.
type byteStream struct {
	stream grpc.ServerStreamingClient[Envelope]
	cancel context.CancelFunc
	rest   []byte
}

func (b *byteStream) Read(p []byte) (int, error) {
	for len(b.rest) == 0 {
		m, err := b.stream.Recv()
		if err != nil {
			return 0, err
		}
		b.rest = m.Payload
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

func (b *byteStream) Close() error {
	b.cancel()
	return nil
}

// Forward sends links to a node and blocks until that node has answered for each, or
// ctx is over. Any error means that nothing is known: the links must be kept and sent
// again. At most MaxBatchLinks at a time.
func (p *Pool) Forward(ctx context.Context, to Target, links []*Link) ([]Verdict, error) {
	c, err := p.conn(to)
	if err != nil {
		return nil, err
	}
	return c.links.forward(ctx, links)
}
