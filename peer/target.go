package peer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	grpcpeer "google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// This file makes sure that a call is answered by the node that it is for (ownership
// rule 13). An address proves nothing: a name may be stale, and another node may
// have got the address meanwhile. So each call names its target, a node that is not
// the target refuses it before its handler sees it, and each answer names its sender.
// An answer of any other node is an error here, whatever it contains.

// Metadata keys of identities. A value is a boot number in decimal, a space, and an id.
const (
	targetKey   = "crawlnode-to"   // of a call: its target
	answererKey = "crawlnode-self" // of an answer: its sender
)

// Target is the process that a call is meant for.
type Target struct {
	ID   string
	Boot uint64
	Addr string // host:port; a name is resolved each time a connection is opened
}

// identity is a node and its boot, as it stands in the metadata.
type identity struct {
	id   string
	boot uint64
}

func (i identity) String() string { return strconv.FormatUint(i.boot, 10) + " " + i.id }

// identityIn reads the identity under a key of the metadata; false: there is none.
func identityIn(md metadata.MD, key string) (identity, bool) {
	number, id, _ := strings.Cut(first(md, key), " ")
	boot, err := strconv.ParseUint(number, 10, 64)
	return identity{id, boot}, err == nil && id != ""
}

// anyBoot reports whether a call may be answered by another boot of its target than
// it names. Membership may: its messages carry ids and boots themselves, and they
// are how a node learns that another was restarted.
func anyBoot(method string) bool { return method == Peer_Membership_FullMethodName }

// meant reports whether a call for to is for this node.
func (i identity) meant(to identity, method string) bool {
	return i.id == to.id && (i.boot == to.boot || anyBoot(method))
}

// otherNode is the error of a call that another node has answered, or another boot
// of the target.
type otherNode struct {
	to       Target
	answered identity // zero: the answer names no node
}

func (e *otherNode) Error() string {
	if e.answered.id == e.to.ID {
		return fmt.Sprintf("peer: boot %d of %s answers at %s, the call is for boot %d", e.answered.boot,
			e.to.ID, e.to.Addr, e.to.Boot)
	}
	return fmt.Sprintf("peer: %s is the address of %s, but %q answers there", e.to.Addr, e.to.ID,
		e.answered.id)
}

// GRPCStatus makes it an error like that of a node that does not answer: nothing is
// known of the target.
func (e *otherNode) GRPCStatus() *status.Status { return status.New(codes.Unavailable, e.Error()) }

// identify refuses a call that is not for this node.
func (s *Server) identify(md metadata.MD, method, from string) error {
	to, ok := identityIn(md, targetKey)
	if !ok {
		return status.Error(codes.FailedPrecondition, "the call does not name its target")
	}
	if s.self.meant(to, method) {
		return nil
	}
	err := status.Errorf(codes.FailedPrecondition,
		"the call is for boot %d of node %.64q, this is boot %d of %q", to.boot, to.id, s.self.boot,
		s.self.id)
	if to.id != s.self.id { // another boot of this id is common: one of the two was restarted
		s.warnOnce(from, targetKey, err)
	}
	return err
}

// unary is the client's interceptor of calls.
func (c *conn) unary(
	ctx context.Context,
	method string,
	req, reply any,
	cc *grpc.ClientConn,
	invoke grpc.UnaryInvoker,
	opts ...grpc.CallOption,
) error {
	var header metadata.MD
	var at grpcpeer.Peer
	err := invoke(ctx, method, req, reply, cc,
		append(opts, grpc.Header(&header), grpc.Peer(&at), c.pool.meters[method].option)...)
	return c.verify(method, header, &at, err)
}

// stream is the client's interceptor of streams.
func (c *conn) stream(
	ctx context.Context,
	desc *grpc.StreamDesc,
	cc *grpc.ClientConn,
	method string,
	open grpc.Streamer,
	opts ...grpc.CallOption,
) (grpc.ClientStream, error) {
	s, err := open(ctx, desc, cc, method, append(opts, c.pool.meters[method].option)...)
	if err != nil {
		return nil, err
	}
	return &verifiedStream{ClientStream: s, conn: c, method: method}, nil
}

// verifiedStream checks the sender of answers at the first message.
type verifiedStream struct {
	grpc.ClientStream
	conn     *conn
	method   string
	verified bool // RecvMsg's
}

func (s *verifiedStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if s.verified {
		return err
	}
	header, _ := s.Header() // an error is that of RecvMsg; then there is no header
	at, _ := grpcpeer.FromContext(s.Context())
	ended := err
	if errors.Is(err, io.EOF) {
		ended = nil // an empty stream is an answer as well
	}
	if e := s.conn.verify(s.method, header, at, ended); e != nil {
		return e
	}
	s.verified = true
	return err
}

// verify checks that an answer comes from the target; err is the result of the call. When
// another node or an earlier boot has answered, the connection is ended, so that the next
// one resolves the name again. A later boot of the target is at the right address.
func (c *conn) verify(method string, header metadata.MD, at *grpcpeer.Peer, err error) error {
	who, named := identityIn(header, answererKey)
	switch {
	case !named && err != nil:
		return err // no answer, or one of another release
	case who.meant(identity{c.to.ID, c.to.Boot}, method):
		c.answered(at, who)
		return err
	case who.id != c.to.ID || who.boot < c.to.Boot:
		c.hangUp(at)
	}
	return &otherNode{to: c.to, answered: who}
}
