package peer

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"crawlnode/security/door"
)

// Handler is what a node does with calls. Each method may run concurrently
// with every other; from is the caller's node id.
type Handler interface {
	// StoreLinks stores links durably and gives one verdict a link. rules, nil
	// when there is none, names what the sender judged them by. An error refuses
	// the batch whole.
	StoreLinks(ctx context.Context, from string, links []*Link, rules *RulesStamp) ([]Verdict, error)
	// Handoff answers a question about partitions.
	Handoff(ctx context.Context, from string, req *Envelope) (*Envelope, error)
	// Replicate receives copies and mutations.
	Replicate(from string, stream grpc.BidiStreamingServer[Envelope, Envelope]) error
	Membership(ctx context.Context, from string, req *Envelope) (*Envelope, error)
	Renew(ctx context.Context, from string, req *RenewRequest) (*RenewReply, error)
	// Clock takes the caller's reading of its clock, and answers with its own.
	Clock(ctx context.Context, from string, req *ClockRequest) (*ClockReply, error)
	Crawl(ctx context.Context, from string, req *CrawlRequest) (*CrawlReply, error)
	Permits(ctx context.Context, from string, req *PermitRequest) (*PermitReply, error)
	Idle(ctx context.Context, from string, req *IdleRequest) (*IdleReply, error)
	Partitions(ctx context.Context, from string, req *PartitionsRequest) (*PartitionsReply, error)
	// Robots answers with a file to which another host's robots.txt redirects, once
	// it was fetched.
	Robots(ctx context.Context, from string, req *RobotsRequest) (*RobotsReply, error)
	// Operate carries out an operator's order for this node.
	Operate(ctx context.Context, from string, req *Envelope) (*Envelope, error)
	// Search answers one step of a question out of the node's index.
	Search(ctx context.Context, from string, req *Envelope) (*Envelope, error)
	// Explain answers a question about one URL or host.
	Explain(ctx context.Context, from string, req *Envelope) (*Envelope, error)
	// Archive writes what is asked for out of this node's archive.
	Archive(ctx context.Context, from string, req *Envelope, out io.Writer) error
	// Contents answers what is known here of payloads and texts, and takes note of those
	// that were stored.
	Contents(ctx context.Context, from string, req *ContentBatch) (*ContentReply, error)
	// Credit takes credits for URLs of the partitions held here.
	Credit(ctx context.Context, from string, req *CreditBatch) (*CreditReply, error)
	// Addresses takes messages about the turns of addresses, and answers with those for the
	// caller.
	Addresses(ctx context.Context, from string, req *AddressBatch) (*AddressBatch, error)
	// Workers leases URLs of this node to a worker, or takes its results.
	Workers(ctx context.Context, from string, req *Envelope) (*Envelope, error)
	// Part answers with what a page asks for that another node shows to a browser, once it was
	// fetched.
	Part(ctx context.Context, from string, req *PartRequest) (*PartReply, error)
}

// ServerOptions configure a Server. Self, Boot, Protocol, Cluster and Handler are
// required.
type ServerOptions struct {
	// Self and Boot are this node: it answers the calls that are for it.
	Self string
	Boot uint64
	// Protocol is the version that this node speaks.
	Protocol int
	// Cluster gives the cluster id, "" while it is unknown (then only
	// Membership is answered).
	Cluster func() string
	Handler Handler
	// TLS is the server's side of the cluster's identity; nil means plain text.
	TLS    *tls.Config
	Logger *slog.Logger
}

// Server answers the calls of other nodes.
type Server struct {
	opts ServerOptions
	self identity
	grpc *grpc.Server
	log  *door.Log
	open *openConns

	mu     sync.Mutex // guards warned
	warned map[string]bool
}

// NewServer returns a server that Serve starts.
func NewServer(o ServerOptions) *Server {
	s := &Server{
		opts:   o,
		self:   identity{o.Self, o.Boot},
		log:    door.NewLog(o.Logger),
		warned: map[string]bool{},
	}
	creds := newCreds(o.TLS, s.log)
	s.open = creds.open
	opts := []grpc.ServerOption{
		grpc.Creds(creds),
		grpc.ForceServerCodecV2(newBoundedCodec()),
		grpc.MaxRecvMsgSize(maxMessageBytes),
		grpc.MaxHeaderListSize(maxHeaderBytes),
		grpc.MaxConcurrentStreams(256),
		grpc.WaitForHandlers(true),
		grpc.ConnectionTimeout(5 * time.Second),
		grpc.KeepaliveEnforcementPolicy(
			keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			Time:    10 * time.Second,
			Timeout: 5 * time.Second,
		}),
		grpc.UnaryInterceptor(s.checkUnary),
		grpc.StreamInterceptor(s.checkStream),
		grpc.InitialWindowSize(streamWindow),
		grpc.InitialConnWindowSize(connWindow),
	}
	s.grpc = grpc.NewServer(opts...)
	RegisterPeerServer(s.grpc, service{server: s})
	return s
}

// Serve answers on l until Stop; it returns nil after Stop.
func (s *Server) Serve(l net.Listener) error {
	if err := s.grpc.Serve(l); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("peer: listener %s: %w", l.Addr(), err)
	}
	return nil
}

// Recheck closes the connections whose caller has shown an identity that is not taken any
// more; later ones are judged by TLS.
func (s *Server) Recheck(takes func(tls.ConnectionState) bool) { s.open.recheck(takes) }

// Stop closes the listener and every connection and waits for the handlers.
func (s *Server) Stop() { s.grpc.Stop() }

// maxWarned bounds the senders and kinds of fault that are remembered.
const maxWarned = 1000

// warnOnce logs one line a sender and kind of fault, and at most one a second: a
// broken peer must not be able to fill the log, under whatever names it calls.
func (s *Server) warnOnce(from, what string, err error) {
	key := from + "\x00" + what
	s.mu.Lock()
	seen := s.warned[key]
	if len(s.warned) < maxWarned {
		s.warned[key] = true
	}
	s.mu.Unlock()
	if !seen {
		s.log.Warn("refused a peer's message; further ones of this kind are not logged", "peer", from,
			"call", what, "error", err)
	}
}

// sender checks that a call comes from this cluster and is for this node, and returns the
// caller's id. The answer names this node, also when the call is refused.
func (s *Server) sender(ctx context.Context, method string) (string, error) {
	if err := grpc.SetHeader(ctx, metadata.Pairs(answererKey, s.self.String())); err != nil {
		return "", err
	}
	md, _ := metadata.FromIncomingContext(ctx)
	from, cluster := first(md, nodeKey), first(md, clusterKey)
	if from == "" || len(from) > 64 {
		err := status.Error(codes.Unauthenticated, "the call names no node")
		s.warnOnce("unknown", method, err)
		return "", err
	}
	if theirs := cmp.Or(first(md, protocolKey), firstProtocol); theirs !=
		strconv.Itoa(s.opts.Protocol) {
		err := status.Errorf(codes.FailedPrecondition,
			"the caller speaks protocol version %.20q, this node %d: run the same release on all nodes",
			theirs, s.opts.Protocol)
		s.warnOnce(from, protocolKey, err)
		return "", err
	}
	if own := s.opts.Cluster(); (own == "" || cluster != own) &&
		method != Peer_Membership_FullMethodName {
		err := status.Errorf(codes.FailedPrecondition, "the caller is of cluster %.40q, this node of %q",
			cluster, own)
		if own != "" { // a joining node gets calls of members a moment before its first view
			s.warnOnce(from, method, err)
		}
		return "", err
	}
	if err := s.identify(md, method, from); err != nil {
		return "", err
	}
	trust(ctx)
	return from, nil
}

func first(md metadata.MD, key string) string {
	if v := md.Get(key); len(v) > 0 {
		return v[0]
	}
	return ""
}

type fromKey struct{}

func (s *Server) checkUnary(
	ctx context.Context,
	req any,
	info *grpc.UnaryServerInfo,
	next grpc.UnaryHandler,
) (any, error) {
	from, err := s.sender(ctx, info.FullMethod)
	if err != nil {
		return nil, err
	}
	reply, err := next(context.WithValue(ctx, fromKey{}, from), req)
	if status.Code(err) == codes.InvalidArgument {
		s.warnOnce(from, info.FullMethod, err)
	}
	return reply, err
}

type checkedStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (c checkedStream) Context() context.Context { return c.ctx }

func (s *Server) checkStream(
	srv any,
	ss grpc.ServerStream,
	info *grpc.StreamServerInfo,
	next grpc.StreamHandler,
) error {
	from, err := s.sender(ss.Context(), info.FullMethod)
	if err != nil {
		return err
	}
	err = next(srv, checkedStream{ss, context.WithValue(ss.Context(), fromKey{}, from)})
	if status.Code(err) == codes.InvalidArgument {
		s.warnOnce(from, info.FullMethod, err)
	}
	return err
}

func from(ctx context.Context) string {
	id, _ := ctx.Value(fromKey{}).(string)
	return id
}

// service adapts the generated interface to Handler.
type service struct {
	UnimplementedPeerServer
	server *Server
}

func (v service) handler() Handler { return v.server.opts.Handler }

// Links answers each batch when it is stored. Batches of one stream are stored
// in order; the client bounds how many are on their way.
func (v service) Links(stream grpc.BidiStreamingServer[LinkBatch, LinkAck]) error {
	ctx := stream.Context()
	for {
		b, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		ack := &LinkAck{Id: b.Id}
		if len(b.Links) > MaxBatchLinks {
			return status.Errorf(codes.InvalidArgument, "%d links in one batch, %d are allowed",
				len(b.Links), MaxBatchLinks)
		}
		verdicts, err := v.handler().StoreLinks(ctx, from(ctx), b.Links, b.Rules)
		if err != nil {
			ack.Error = err.Error()
			if status.Code(err) == codes.InvalidArgument {
				v.server.warnOnce(from(ctx), "Links", err)
			}
		} else {
			ack.Verdicts = verdicts
		}
		if err := stream.Send(ack); err != nil {
			return err
		}
	}
}

func (v service) Handoff(ctx context.Context, r *Envelope) (*Envelope, error) {
	return v.handler().Handoff(ctx, from(ctx), r)
}

func (v service) Replicate(stream grpc.BidiStreamingServer[Envelope, Envelope]) error {
	return v.handler().Replicate(from(stream.Context()), stream)
}

func (v service) Membership(ctx context.Context, r *Envelope) (*Envelope, error) {
	return v.handler().Membership(ctx, from(ctx), r)
}

func (v service) Renew(ctx context.Context, r *RenewRequest) (*RenewReply, error) {
	return v.handler().Renew(ctx, from(ctx), r)
}

func (v service) Clock(ctx context.Context, r *ClockRequest) (*ClockReply, error) {
	return v.handler().Clock(ctx, from(ctx), r)
}

func (v service) Crawl(ctx context.Context, r *CrawlRequest) (*CrawlReply, error) {
	return v.handler().Crawl(ctx, from(ctx), r)
}

func (v service) Permits(ctx context.Context, r *PermitRequest) (*PermitReply, error) {
	return v.handler().Permits(ctx, from(ctx), r)
}

func (v service) Idle(ctx context.Context, r *IdleRequest) (*IdleReply, error) {
	return v.handler().Idle(ctx, from(ctx), r)
}

func (v service) Partitions(ctx context.Context, r *PartitionsRequest) (*PartitionsReply, error) {
	return v.handler().Partitions(ctx, from(ctx), r)
}

func (v service) Robots(ctx context.Context, r *RobotsRequest) (*RobotsReply, error) {
	return v.handler().Robots(ctx, from(ctx), r)
}

func (v service) Operate(ctx context.Context, r *Envelope) (*Envelope, error) {
	return v.handler().Operate(ctx, from(ctx), r)
}

func (v service) Search(ctx context.Context, r *Envelope) (*Envelope, error) {
	return v.handler().Search(ctx, from(ctx), r)
}

func (v service) Explain(ctx context.Context, r *Envelope) (*Envelope, error) {
	return v.handler().Explain(ctx, from(ctx), r)
}

func (v service) Workers(ctx context.Context, r *Envelope) (*Envelope, error) {
	return v.handler().Workers(ctx, from(ctx), r)
}

func (v service) Part(ctx context.Context, r *PartRequest) (*PartReply, error) {
	return v.handler().Part(ctx, from(ctx), r)
}

func (v service) Contents(ctx context.Context, r *ContentBatch) (*ContentReply, error) {
	return v.handler().Contents(ctx, from(ctx), r)
}

func (v service) Credit(ctx context.Context, r *CreditBatch) (*CreditReply, error) {
	return v.handler().Credit(ctx, from(ctx), r)
}

func (v service) Archive(r *Envelope, stream grpc.ServerStreamingServer[Envelope]) error {
	out := bufio.NewWriterSize(pieces{stream}, pieceBytes)
	if err := v.handler().Archive(stream.Context(), from(stream.Context()), r, out); err != nil {
		return err
	}
	return out.Flush()
}

// pieceBytes is the most that one message of a stream of bytes carries.
const pieceBytes = 256 << 10

// pieces sends what is written to it.
type pieces struct {
	stream grpc.ServerStreamingServer[Envelope]
}

func (p pieces) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		n := min(len(rest), pieceBytes)
		if err := p.stream.Send(&Envelope{Payload: rest[:n]}); err != nil {
			return len(b) - len(rest), err
		}
		rest = rest[n:]
	}
	return len(b), nil
}

func (v service) Addresses(ctx context.Context, r *AddressBatch) (*AddressBatch, error) {
	return v.handler().Addresses(ctx, from(ctx), r)
}
