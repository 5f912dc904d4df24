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
	"google.golang.org/grpc/credentials"
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
	// callTimeout bounds a unary call whose caller set no nearer deadline.
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
	// Ended is told that the other side closed or reset a connection to addr,
	// with the boot that answered on it last (Pool.Answered); 0: none did. It
	// must not block.
	Ended func(addr string, boot uint64)
	// TLS is the client's side of the cluster's identity; nil means plain text.
	TLS *tls.Config
	// Rand seeds the jitter of the back-off; nil means a random seed.
	Rand *rand.Rand
}

// Pool holds one connection for each peer address that was asked for. It is
// safe for concurrent use.
type Pool struct {
	opts PoolOptions
	ctx  context.Context
	stop context.CancelFunc
	wg   sync.WaitGroup

	mu    sync.Mutex // guards conns, boots, seed and done
	conns map[string]*conn
	boots map[string]uint64 // by address: who answered on the connection there
	seed  *rand.Rand
	done  bool
}

// conn is one peer's connection with its link stream.
type conn struct {
	cc     *grpc.ClientConn
	client PeerClient
	links  *linkStream
}

// NewPool returns an empty pool. Close must be called in the end.
func NewPool(o PoolOptions) *Pool {
	ctx, stop := context.WithCancel(context.Background())
	seed := o.Rand
	if seed == nil {
		seed = rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	}
	return &Pool{opts: o, ctx: ctx, stop: stop, conns: map[string]*conn{}, boots: map[string]uint64{}, seed: seed}
}

// Close ends every stream and connection and waits for their goroutines.
func (p *Pool) Close() {
	p.mu.Lock()
	p.done = true
	conns := p.conns
	p.conns = map[string]*conn{}
	p.mu.Unlock()
	p.stop()
	for _, c := range conns {
		c.cc.Close()
	}
	p.wg.Wait()
}

// Keep closes the connections to all addresses but those in keep.
func (p *Pool) Keep(keep map[string]bool) {
	p.mu.Lock()
	var gone []*conn
	for addr, c := range p.conns {
		if !keep[addr] {
			gone = append(gone, c)
			delete(p.conns, addr)
			delete(p.boots, addr)
		}
	}
	p.mu.Unlock()
	for _, c := range gone {
		c.links.cancel()
		c.cc.Close()
	}
}

// conn returns the connection to addr and makes it when it is missing. Making
// one does not dial: gRPC does that with the first call.
func (p *Pool) conn(addr string) (*conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.conns[addr]; c != nil {
		return c, nil
	}
	if p.done {
		return nil, errors.New("peer: the pool is closed")
	}
	cc, err := grpc.NewClient("passthrough:///"+addr, p.dialOptions()...)
	if err != nil {
		return nil, fmt.Errorf("peer: connection to %s: %w", addr, err)
	}
	client := NewPeerClient(cc)
	c := &conn{cc: cc, client: client, links: newLinkStream(p, addr, client, p.seed.Uint64())}
	p.conns[addr] = c
	p.wg.Go(c.links.run)
	return c, nil
}

func (p *Pool) dialOptions() []grpc.DialOption {
	creds := insecure.NewCredentials()
	if p.opts.TLS != nil {
		creds = credentials.NewTLS(p.opts.TLS)
	}
	opts := []grpc.DialOption{
		grpc.WithTransportCredentials(creds),
		grpc.WithDisableServiceConfig(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessageBytes), grpc.MaxCallSendMsgSize(maxMessageBytes)),
		// A stopped or cut-off peer is noticed within 15 s even when nothing is sent.
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 5 * time.Second}),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: reconnect, MinConnectTimeout: 2 * time.Second}),
	}
	return append(opts, grpc.WithContextDialer(p.dial))
}

// outgoing adds what every call carries.
func (p *Pool) outgoing(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, clusterKey, p.opts.Cluster(), nodeKey, p.opts.Self, protocolKey, strconv.Itoa(p.opts.Protocol))
}

// Call makes one unary call to addr, with a deadline of 5 s when ctx has no
// nearer one. The function gets the client and the prepared context:
//
//	reply, err := peer.Call(ctx, pool, addr, req, peer.PeerClient.Renew)
func Call[Req, Reply any](ctx context.Context, p *Pool, addr string, req *Req,
	method func(PeerClient, context.Context, *Req, ...grpc.CallOption) (*Reply, error)) (*Reply, error) {
	c, err := p.conn(addr)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(p.outgoing(ctx), callTimeout)
	defer cancel()
	return method(c.client, ctx, req)
}

// Replicate opens a stream of a replica's copies to addr. It lives as long as
// ctx.
func (p *Pool) Replicate(ctx context.Context, addr string) (grpc.BidiStreamingClient[Envelope, Envelope], error) {
	c, err := p.conn(addr)
	if err != nil {
		return nil, err
	}
	return c.client.Replicate(p.outgoing(ctx))
}

// Archive asks the node at addr for something out of its archive. The bytes come
// while they are read; the reader ends with ctx, and Close ends it before. An error
// of the other side is that of the first Read, or of a later one.
func (p *Pool) Archive(ctx context.Context, addr string, req *Envelope) (io.ReadCloser, error) {
	c, err := p.conn(addr)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(p.outgoing(ctx))
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

// Forward sends links to the node at addr and blocks until that node has
// answered for each, or ctx is over. Any error means that nothing is known:
// the links must be kept and sent again. At most MaxBatchLinks at a time.
func (p *Pool) Forward(ctx context.Context, addr string, links []*Link) ([]Verdict, error) {
	c, err := p.conn(addr)
	if err != nil {
		return nil, err
	}
	return c.links.forward(ctx, links)
}
