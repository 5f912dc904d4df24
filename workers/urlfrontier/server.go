package urlfrontier

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	grpcpeer "google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"crawlnode/crawl"
	"crawlnode/security/door"
	"crawlnode/workers/urlfrontier/wire"
)

// Backend is the node that answers. Its methods may be called concurrently.
type Backend interface {
	Status(ctx context.Context, nodeOnly bool) (*crawl.Status, error)
	NextURLs(ctx context.Context, q crawl.NextQuery) (crawl.WorkerLease, error)
	SettleLate(ctx context.Context, r crawl.WorkerResults) (crawl.ResultsReport, error)
	AddFound(ctx context.Context, found crawl.FoundURLs) (crawl.FoundReport, error)
	ExplainURL(ctx context.Context, url string, depth int) (*crawl.URLReport, error)
	ListURLs(ctx context.Context, q crawl.URLQuery) (*crawl.URLPage, error)
	DescribeHost(ctx context.Context, host string) (*crawl.HostReport, error)
	Hosts(ctx context.Context, sort string, limit int) (*crawl.HostsReport, error)
	PutNotes(ctx context.Context, lines []crawl.NoteLine) error
	Notes(ctx context.Context, urls []string) (map[string]crawl.Note, error)
	PutGuests(ctx context.Context, items []crawl.GuestPut) (answers []crawl.GuestAnswer, why []string)
	Guest(ctx context.Context, id, url string) (*crawl.GuestURL, error)
	GuestSums(ctx context.Context, id string, host crawl.Host) (map[string]crawl.GuestSums, error)
	EachGuest(
		ctx context.Context,
		l crawl.GuestList,
		fn func(*crawl.GuestURL) (more bool, err error),
	) error
	EachGuestQueue(ctx context.Context, id string, fn func(*crawl.GuestQueue) (more bool)) error
	DeleteGuests(ctx context.Context, id string, host crawl.Host, before int64) (int64, error)
	SetGuestRule(
		ctx context.Context,
		id string,
		host crawl.Host,
		r crawl.GuestRule,
	) (known bool, err error)
	DelayHost(ctx context.Context, host crawl.Host, delay time.Duration) error
	BlockHost(ctx context.Context, host crawl.Host, wait time.Duration) error
	ControlCrawl(ctx context.Context, action string) (crawl.ActionReport, error)
	ChangeCrawl(ctx context.Context, change crawl.CrawlChange) (crawl.CrawlReport, error)
	RecordChange(e crawl.AuditEntry)
}

// Options are the options of New. All may be zero.
type Options struct {
	// Access checks a call's token; nil: no token is needed. It is api.Options.Access.
	Access func(secret string) (crawl.Caller, error)
	// TLS is the listener's identity; nil: plain text.
	TLS *tls.Config
	// SetLevel changes the level of the node's log; nil: it cannot be changed.
	SetLevel func(slog.Level)
	Logger   *slog.Logger
}

const (
	maxMessageBytes = 1 << 20
	maxHeaderBytes  = 16 << 10
	maxStreams      = 64 // of a connection
	// maxAllStreams bounds what waits of all connections: a window and a message of each stream, a
	// quarter of a gigabyte if all send the largest messages there are and never end them.
	maxAllStreams = 256
	// streamWindow is what waits of a stream that is not read here, because the frontier is slow
	// or the client takes no acknowledgements. It does not grow: grpc's own estimate of a fast
	// line is 16 MiB, for each stream.
	streamWindow = 64 << 10
	connWindow   = 1 << 20 // under way; grpc does not count what waits
	strangers    = 128
	// maxIdle ends a connection without calls; a client opens another one when it calls again.
	maxIdle    = 10 * time.Minute
	maxTrusted = 1024
)

// roles are the calls that need more than crawl.RoleRead.
var roles = map[string]crawl.Role{
	wire.URLFrontier_GetURLs_FullMethodName:         crawl.RoleOperate,
	wire.URLFrontier_PutURLs_FullMethodName:         crawl.RoleOperate,
	wire.URLFrontier_PutDiscovered_FullMethodName:   crawl.RoleOperate,
	wire.URLFrontier_SetActive_FullMethodName:       crawl.RoleOperate,
	wire.URLFrontier_BlockQueueUntil_FullMethodName: crawl.RoleOperate,
	wire.URLFrontier_SetDelay_FullMethodName:        crawl.RoleAdmin,
	wire.URLFrontier_SetCrawlLimit_FullMethodName:   crawl.RoleAdmin,
	wire.URLFrontier_SetLogLevel_FullMethodName:     crawl.RoleAdmin,
	wire.URLFrontier_DeleteCrawl_FullMethodName:     crawl.RoleAdmin,
	wire.URLFrontier_DeleteQueue_FullMethodName:     crawl.RoleAdmin,
	wire.URLFrontier_PurgeURLs_FullMethodName:       crawl.RoleAdmin,
}

// Server serves the protocol.
type Server struct {
	wire.UnimplementedURLFrontierServer

	backend  Backend
	opts     Options
	leases   *leaseCache
	refusals *door.Log
	skips    *skipLog
	failures *door.Failures
	grpc     *grpc.Server
	streams  chan struct{} // has one of each open stream
	unary    chan struct{} // has one of each open call that is no stream
}

// New returns a server that Serve starts.
func New(b Backend, o Options) *Server {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{
		backend:  b,
		opts:     o,
		leases:   newLeaseCache(),
		refusals: door.NewLog(o.Logger),
		skips:    &skipLog{to: o.Logger},
		failures: door.NewFailures(),
		streams:  make(chan struct{}, maxAllStreams),
		unary:    make(chan struct{}, maxUnary),
	}
	s.grpc = grpc.NewServer(
		grpc.Creds(newCreds(o.TLS)),
		grpc.MaxRecvMsgSize(maxMessageBytes),
		grpc.MaxHeaderListSize(maxHeaderBytes),
		grpc.MaxConcurrentStreams(maxStreams),
		grpc.StaticStreamWindowSize(streamWindow),
		grpc.StaticConnWindowSize(connWindow),
		grpc.WaitForHandlers(true),
		grpc.ConnectionTimeout(5*time.Second),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			MaxConnectionIdle: maxIdle,
			Time:              30 * time.Second,
			Timeout:           10 * time.Second,
		}),
		grpc.InTapHandle(s.begin),
		grpc.UnaryInterceptor(serveUnary),
		grpc.StreamInterceptor(serveStream),
	)
	wire.RegisterURLFrontierServer(s.grpc, s)
	return s
}

// Serve answers on l until ctx ends, and returns when all calls have ended.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	stop := context.AfterFunc(ctx, s.grpc.Stop)
	defer stop()
	err := s.grpc.Serve(door.Listen(l, door.Limits{Strangers: strangers, Trusted: maxTrusted}))
	s.grpc.Stop() // waits for the calls
	if err != nil && ctx.Err() == nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("urlfrontier: listener %s: %w", l.Addr(), err)
	}
	return nil
}

// admit judges the caller of a method, who sent a secret; "": none.
func (s *Server) admit(ctx context.Context, method, secret string) (context.Context, error) {
	from, conn := callerOf(ctx)
	asker := crawl.Caller{Role: crawl.RoleAdmin}
	if s.opts.Access != nil {
		var err error
		if asker, err = s.opts.Access(secret); err != nil {
			s.refusals.Warn("refused a URLFrontier call: no valid token of this cluster", "from", from,
				"method", method, "error", err)
			if secret != "" && s.failures.Note(from, time.Now()) > 0 {
				return nil, status.Error(codes.ResourceExhausted,
					"too many failed log-ins from this address: wait, then send a token of this cluster")
			}
			return nil, status.Error(codes.Unauthenticated, "this cluster has a key: "+
				"send its API token (crawlnode keygen --token KEYFILE prints it), "+
				"or one made with crawlnode keygen --role, as the metadata authorization: Bearer TOKEN")
		}
	}
	asker.From, asker.Remote = from.String(), s.opts.Access != nil || !from.IsLoopback()
	if need := max(roles[method], crawl.RoleRead); asker.Role < need {
		return nil, status.Error(codes.PermissionDenied,
			"this needs the role "+need.String()+", and this token has the role "+asker.Role.String())
	}
	if conn != nil {
		door.Trust(conn)
	}
	return crawl.WithCaller(ctx, asker), nil
}

// callerOf is the address and the connection of a caller.
func callerOf(ctx context.Context) (netip.Addr, net.Conn) {
	p, ok := grpcpeer.FromContext(ctx)
	if !ok {
		return netip.Addr{}, nil
	}
	ap, _ := netip.ParseAddrPort(p.Addr.String())
	held, _ := p.AuthInfo.(shown)
	return ap.Addr().Unmap(), held.conn
}

// creds remember the connection for callerOf.
type creds struct {
	credentials.TransportCredentials
}

func newCreds(config *tls.Config) creds {
	if config == nil {
		return creds{insecure.NewCredentials()}
	}
	return creds{credentials.NewTLS(config)}
}

// shown is what a connection has shown at its beginning.
type shown struct {
	credentials.AuthInfo
	conn net.Conn
}

func (c creds) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := c.TransportCredentials.ServerHandshake(raw)
	return conn, shown{info, raw}, err
}

func (c creds) Clone() credentials.TransportCredentials {
	return creds{c.TransportCredentials.Clone()}
}

// coded gives an error of the node its code.
func coded(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled):
		return status.Error(codes.Canceled, "the caller has gone")
	case errors.Is(err, context.DeadlineExceeded):
		return status.Error(codes.DeadlineExceeded, "the time of the call is over")
	case errors.Is(err, crawl.ErrRefused):
		return status.Error(codes.FailedPrecondition, err.Error())
	case errors.Is(err, crawl.ErrTooManyLeased):
		return status.Error(codes.ResourceExhausted, err.Error())
	case errors.Is(err, crawl.ErrBadQuery):
		return status.Error(codes.InvalidArgument, err.Error())
	}
	if _, ok := status.FromError(err); ok {
		return err
	}
	return status.Error(codes.Unavailable, err.Error())
}

// ours reports whether a crawl id names the cluster's crawl.
func ours(id string) bool { return crawlOf(id) == "" }

const defaultCrawl = crawl.OwnCrawl
