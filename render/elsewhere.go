package render

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"crawlnode/crawl"
	"crawlnode/peer"
	"crawlnode/ring"
	"crawlnode/web/urlnorm"
)

// This file asks the holders of other hosts for what pages ask for, and answers other nodes about
// the hosts held here. The holder makes the request in a turn of its host, so two nodes never ask
// one host (invariant I1). Answers are kept on both sides.

const (
	// Patience is how long a page waits for the turn of another node's host.
	Patience = 60 * time.Second
	// maxCarried bounds the body of an answer between nodes; a message has 8 MiB.
	maxCarried = 4 << 20
	// maxAsked bounds the questions of this node that others have not answered. Heartbeats share their
	// connections, which carry 256 calls at a time.
	maxAsked = 32
	// maxServed bounds the questions of others that wait here.
	maxServed = 256
)

var errBusy = errors.New("too many requests of pages wait for other nodes' hosts")

// take waits for a slot. It is given back by reading from slots.
func take(ctx context.Context, slots chan struct{}) error {
	select {
	case slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// passing reports whether a refusal may end: the host moves, its holder has gone, or too much waits
// there.
func passing(err error) bool {
	switch status.Code(err) {
	case codes.FailedPrecondition, codes.Unavailable, codes.ResourceExhausted:
		return true
	}
	return errors.Is(err, errNotOurs)
}

// askHolder asks the node that holds a host.
func (r *Renderer) askHolder(
	ctx context.Context,
	to crawl.NodeID,
	p crawl.Partition,
	u urlnorm.URL,
) (a *crawl.Part, hit bool, err error) {
	if a := r.Parts.kept(u, time.Now()); a != nil {
		return a, true, nil
	}
	if err := take(ctx, r.asked); err != nil {
		return nil, false, err
	}
	defer func() { <-r.asked }()
	if a := r.Parts.kept(u, time.Now()); a != nil { // another page has asked meanwhile
		return a, true, nil
	}
	reply, err := r.o.Node.Call(ctx, to, &peer.PartRequest{Url: u.String(), Partition: uint32(p)})
	if err != nil {
		return nil, false, fmt.Errorf("the holder of the host: %w", err)
	}
	a, life, err := fromReply(reply)
	if err != nil {
		return nil, false, fmt.Errorf("the holder of the host: %w", err)
	}
	r.Parts.keep(u, a, time.Now().Add(life))
	return a, reply.Kept, nil
}

// Serve answers another node.
func (r *Renderer) Serve(ctx context.Context, req *peer.PartRequest) (*peer.PartReply, error) {
	u, err := urlnorm.Parse(req.Url)
	partitions := r.o.Node.Partitions()
	switch {
	case err != nil:
		return nil, status.Errorf(codes.InvalidArgument, "the URL of a part: %v", err)
	case partitions == 0 ||
		ring.PartitionOf(crawl.Host(u.Host()), partitions) != crawl.Partition(req.Partition) ||
		!r.holds(crawl.Partition(req.Partition)):
		return nil, status.Error(codes.FailedPrecondition, "this node does not hold the host")
	}
	rules := r.o.Node.Rules()
	if err := admitted(rules, u, false); err != nil {
		return &peer.PartReply{Refusal: strings.ToValidUTF8(err.Error(), "?")}, nil
	}
	select {
	case r.served <- struct{}{}:
	default:
		return nil, status.Error(codes.ResourceExhausted, errBusy.Error())
	}
	defer func() { <-r.served }()
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	a, hit, err := r.Parts.Ask(ctx, crawl.Partition(req.Partition), u)
	if err != nil {
		return nil, status.Error(codes.Unavailable, err.Error())
	}
	return toReply(a, r.Parts.lifeLeft(u, time.Now()), hit), nil
}

// look is of asked.
func (r *Renderer) look() { r.o.Node.Look() }

// holds reports whether this node is the one that may ask the hosts of p.
func (r *Renderer) holds(p crawl.Partition) bool { return r.o.Node.Holder(p) == r.o.Self }

func toReply(a *crawl.Part, life time.Duration, kept bool) *peer.PartReply {
	if len(a.Body) > maxCarried {
		a = &crawl.Part{Refusal: fmt.Sprintf(
			"it has %d bytes, and %d at most are passed on between nodes", len(a.Body), maxCarried)}
	}
	m := &peer.PartReply{
		Status:  uint32(max(a.Status, 0)),
		Body:    a.Body,
		Refusal: strings.ToValidUTF8(a.Refusal, "?"),
		LifeMs:  life.Milliseconds(),
		Kept:    kept,
	}
	for name, values := range a.Header {
		for _, v := range values {
			m.Fields = append(m.Fields, &peer.PartField{Name: []byte(name), Value: []byte(v)})
		}
	}
	return m
}

// fromReply judges an answer as any other from outside.
func fromReply(m *peer.PartReply) (a *crawl.Part, life time.Duration, err error) {
	if m.Refusal == "" && (m.Status < 100 || m.Status > 999) {
		return nil, 0, fmt.Errorf("its answer has the status %d", m.Status)
	}
	if len(m.Body) > maxCarried {
		return nil, 0, fmt.Errorf("its answer has %d bytes", len(m.Body))
	}
	a = &crawl.Part{
		Status:  int(m.Status),
		Body:    m.Body,
		Refusal: m.Refusal[:min(len(m.Refusal), 1000)],
		Header:  make(http.Header),
	}
	for _, f := range m.Fields {
		a.Header.Add(string(f.GetName()), string(f.GetValue()))
	}
	ms := min(max(m.LifeMs, 0), math.MaxInt32)
	return a, min(time.Duration(ms)*time.Millisecond, longestLife), nil
}

// kept is an answer that may be used again; nil: there is none.
func (t *Parts) kept(u urlnorm.URL, now time.Time) *crawl.Part {
	t.mu.Lock()
	defer t.mu.Unlock()
	x := t.byURL[u]
	if x == nil || x.answer == nil || now.After(x.until) {
		return nil
	}
	t.clock++
	x.used = t.clock
	return x.answer
}

// keep keeps the answer of another node. A part that waits here stays: its host has come here
// meanwhile.
func (t *Parts) keep(u urlnorm.URL, a *crawl.Part, until time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if x := t.byURL[u]; x != nil && x.answer == nil {
		return
	} else if x != nil {
		t.removeLocked(x)
	}
	t.clock++
	x := &part{answer: a, until: until, used: t.clock}
	x.errand.URL = u
	t.byURL[u] = x
	t.bytes += size(a)
	t.makeRoomLocked()
}

// lifeLeft is how long the answer for u may still be used.
func (t *Parts) lifeLeft(u urlnorm.URL, now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if x := t.byURL[u]; x != nil && x.answer != nil {
		return max(x.until.Sub(now), 0)
	}
	return 0
}
