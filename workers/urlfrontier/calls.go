package urlfrontier

import (
	"context"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	"crawlnode/workers/urlfrontier/wire"
)

const (
	// maxUnary bounds the calls with one message each way that are open over all connections: each
	// may keep a message.
	maxUnary = 16
	// messageTimeout ends a unary call whose message does not come.
	messageTimeout = 10 * time.Second
)

// unary are the methods that have one message each way.
var unary = func() map[string]bool {
	names := map[string]bool{}
	for _, m := range wire.URLFrontier_ServiceDesc.Methods {
		names["/"+wire.URLFrontier_ServiceDesc.ServiceName+"/"+m.MethodName] = true
	}
	return names
}()

// begin judges a call by its headers, before any byte of its messages is kept, and takes it into
// account until it ends. Its context has the caller.
//
// It runs on the goroutine that reads the connection, so it waits for nothing.
func (s *Server) begin(ctx context.Context, info *tap.Info) (context.Context, error) {
	ctx, err := s.admit(ctx, info.FullMethodName, secretIn(info.Header))
	if err != nil {
		return nil, err
	}
	room, most, what := s.streams, maxAllStreams, "streams"
	if unary[info.FullMethodName] {
		room, most, what = s.unary, maxUnary, "calls"
	}
	select {
	case room <- struct{}{}:
	default:
		return nil, status.Errorf(codes.ResourceExhausted,
			"this node has %d open %s, as many as it may have: end some, or use another node", most, what)
	}
	if unary[info.FullMethodName] {
		limited, cancel := context.WithCancel(ctx)
		late := time.AfterFunc(messageTimeout, cancel)
		context.AfterFunc(ctx, func() { late.Stop() })
		ctx = context.WithValue(limited, lateKey{}, late)
	}
	context.AfterFunc(ctx, func() { <-room })
	return ctx, nil
}

// lateKey is the key of a call's timer, which ends it, in its context.
type lateKey struct{}

// came says that the message of a unary call has come.
func came(ctx context.Context) {
	if late, ok := ctx.Value(lateKey{}).(*time.Timer); ok {
		late.Stop()
	}
}

// serveUnary answers a call that begin has let in.
func serveUnary(
	ctx context.Context,
	req any,
	_ *grpc.UnaryServerInfo,
	handler grpc.UnaryHandler,
) (any, error) {
	came(ctx)
	reply, err := handler(ctx, req)
	return reply, coded(err)
}

// serveStream is serveUnary for streams.
func serveStream(
	srv any,
	stream grpc.ServerStream,
	_ *grpc.StreamServerInfo,
	handler grpc.StreamHandler,
) error {
	return coded(handler(srv, stream))
}

// secretIn is the token of a call; "" without one.
func secretIn(header map[string][]string) string {
	for _, v := range header["authorization"] {
		if secret, ok := strings.CutPrefix(v, "Bearer "); ok {
			return secret
		}
	}
	return ""
}
