package peer

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
)

// MaxBatchLinks bounds one LinkBatch; 1,000 URLs of common length are 0.1 MiB
// and 1,000 of the greatest length, found on such pages, 4 MiB, below the message bound.
const MaxBatchLinks = 1000

const (
	maxPieces   = 256             // queue in front of a stream
	eagerLinks  = 250             // as many are sent although a batch is in flight
	maxInFlight = 8               // batches sent and not answered
	ackTimeout  = 5 * time.Second // the oldest batch in flight, then the stream is given up
	restMin     = 100 * time.Millisecond
	restMax     = 5 * time.Second
)

// reconnect keeps gRPC's own redialling close to the stream's rests.
var reconnect = backoff.Config{BaseDelay: restMin, Multiplier: 2, Jitter: 0.2, MaxDelay: restMax}

// piece is one caller's links on their way.
type piece struct {
	links  []*Link
	answer chan<- pieceAnswer // capacity 1: the stream never waits for a caller
}

type pieceAnswer struct {
	verdicts []Verdict
	err      error
}

// batch is what was sent as one message.
type batch struct {
	id     uint64
	pieces []piece
	sent   time.Time
}

type ackOrErr struct {
	ack *LinkAck
	err error
}

// linkStream owns the link stream to one peer. All its fields but in and answers belong to run.
type linkStream struct {
	conn    *conn
	ctx     context.Context
	cancel  context.CancelFunc
	in      chan piece
	answers sync.Pool // of chan pieceAnswer, empty
	rng     *rand.Rand

	held     []piece // gather for the next batch
	heldSize int     // links in held
	inFlight []batch
	nextID   uint64
	rest     time.Duration
	restTill time.Time
}

func newLinkStream(c *conn, seed uint64) *linkStream {
	ctx, cancel := context.WithCancel(c.pool.ctx)
	return &linkStream{conn: c, ctx: ctx, cancel: cancel,
		in: make(chan piece, maxPieces), rng: rand.New(rand.NewPCG(seed, 1))}
}

// forward queues links and waits for their verdicts.
func (s *linkStream) forward(ctx context.Context, links []*Link) ([]Verdict, error) {
	if len(links) == 0 {
		return nil, nil
	}
	if len(links) > MaxBatchLinks {
		panic(fmt.Sprintf("BUG: %d links in one call, %d are allowed", len(links), MaxBatchLinks))
	}
	answer, _ := s.answers.Get().(chan pieceAnswer)
	if answer == nil {
		answer = make(chan pieceAnswer, 1)
	}
	select {
	case s.in <- piece{links, answer}:
	default:
		return nil, ErrBusy
	}
	select {
	case a := <-answer:
		// it has one answer; a caller that does not wait for it leaves the channel to the stream
		s.answers.Put(answer)
		return a.verdicts, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.ctx.Done():
		return nil, ErrDown
	}
}

// run serves the queue until the pool closes or the peer is dropped.
func (s *linkStream) run() {
	defer s.cancel()
	for {
		select {
		case <-s.ctx.Done():
			return
		case p := <-s.in:
			if time.Now().Before(s.restTill) {
				p.answer <- pieceAnswer{err: ErrDown}
				continue
			}
			err := s.serve(p)
			s.fail(err)
			if s.ctx.Err() != nil {
				return
			}
			s.rest = min(max(2*s.rest, restMin), restMax)
			s.restTill = time.Now().Add(s.rest/2 + time.Duration(s.rng.Int64N(int64(s.rest/2)+1)))
		}
	}
}

// serve opens a stream and works until it breaks; it returns the reason.
func (s *linkStream) serve(first piece) error {
	ctx, cancel := context.WithCancel(s.conn.outgoing(s.ctx))
	defer cancel()
	stream, err := s.open(ctx, cancel)
	if err != nil {
		first.answer <- pieceAnswer{err: err}
		return err
	}
	acks := make(chan ackOrErr, maxInFlight)
	s.conn.pool.wg.Go(func() { receive(ctx, stream, acks) })
	s.hold(first)
	timer := time.NewTimer(ackTimeout)
	defer timer.Stop()
	for {
		if err := s.sendDue(stream); err != nil {
			return err
		}
		in := s.in
		if s.heldSize >= MaxBatchLinks {
			in = nil
		}
		select {
		case <-s.ctx.Done():
			return s.ctx.Err()
		case p := <-in:
			s.hold(p)
		case a := <-acks:
			if a.err != nil {
				return a.err
			}
			if err := s.acknowledge(a.ack); err != nil {
				return err
			}
			s.rest = 0
		case <-timer.C:
			timer.Reset(ackTimeout / 5)
			if len(s.inFlight) > 0 && time.Since(s.inFlight[0].sent) > ackTimeout {
				return fmt.Errorf("peer: %s has not acknowledged links for %v", s.conn.to.Addr, ackTimeout)
			}
		}
	}
}

// hold keeps a caller's links, and what else waits in the queue, for the next batch.
func (s *linkStream) hold(p piece) {
	for {
		s.held = append(s.held, p)
		s.heldSize += len(p.links)
		if s.heldSize >= MaxBatchLinks {
			return
		}
		select {
		case p = <-s.in:
		default:
			return
		}
	}
}

// open starts the stream but gives up after the call timeout: a stream has no
// deadline of its own.
func (s *linkStream) open(
	ctx context.Context,
	cancel context.CancelFunc,
) (grpc.BidiStreamingClient[LinkBatch, LinkAck], error) {
	timer := time.AfterFunc(callTimeout, cancel)
	stream, err := s.conn.client.Links(ctx)
	if !timer.Stop() && err == nil {
		err = context.DeadlineExceeded
	}
	if err != nil {
		return nil, fmt.Errorf("peer: link stream to %s: %w", s.conn.to.Addr, err)
	}
	return stream, nil
}

func receive(
	ctx context.Context,
	stream grpc.BidiStreamingClient[LinkBatch, LinkAck],
	acks chan<- ackOrErr,
) {
	for {
		ack, err := stream.Recv()
		select {
		case acks <- ackOrErr{ack, err}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// sendDue sends the held links that are due: a small batch waits for the answer to the
// one before, so that batches grow with the load.
func (s *linkStream) sendDue(stream grpc.BidiStreamingClient[LinkBatch, LinkAck]) error {
	for len(s.held) > 0 && len(s.inFlight) < maxInFlight &&
		(len(s.inFlight) == 0 || s.heldSize >= eagerLinks) {
		s.nextID++
		b := batch{id: s.nextID, sent: time.Now()}
		var links []*Link
		for _, p := range s.held {
			if len(links)+len(p.links) > MaxBatchLinks {
				break
			}
			b.pieces = append(b.pieces, p)
			links = append(links, p.links...)
		}
		s.held = slices.Delete(s.held, 0, len(b.pieces))
		s.heldSize -= len(links)
		s.inFlight = append(s.inFlight, b)
		if err := stream.Send(s.message(b.id, links)); err != nil {
			return err
		}
	}
	return nil
}

func (s *linkStream) message(id uint64, links []*Link) *LinkBatch {
	b := &LinkBatch{Id: id, Links: links}
	if s.conn.pool.opts.Rules != nil {
		b.Rules = s.conn.pool.opts.Rules()
	}
	return b
}

// acknowledge answers the callers of the batch that ack names. Acks come in order.
func (s *linkStream) acknowledge(ack *LinkAck) error {
	if len(s.inFlight) == 0 || s.inFlight[0].id != ack.Id {
		return fmt.Errorf("peer: %s acknowledged batch %d, which it was not sent", s.conn.to.Addr, ack.Id)
	}
	b := s.inFlight[0]
	s.inFlight = s.inFlight[1:]
	total := 0
	for _, p := range b.pieces {
		total += len(p.links)
	}
	err := error(nil)
	if ack.Error != "" {
		err = errors.New("peer: " + s.conn.to.Addr + " refused links: " + ack.Error)
	} else if len(ack.Verdicts) != total {
		err = fmt.Errorf("peer: %s sent %d verdicts for %d links", s.conn.to.Addr, len(ack.Verdicts),
			total)
	}
	rest := ack.Verdicts
	for _, p := range b.pieces {
		if err != nil {
			p.answer <- pieceAnswer{err: err}
			continue
		}
		p.answer <- pieceAnswer{verdicts: rest[:len(p.links):len(p.links)]}
		rest = rest[len(p.links):]
	}
	return nil
}

// fail answers all callers whose links are in flight or in the queue.
func (s *linkStream) fail(err error) {
	for _, b := range s.inFlight {
		for _, p := range b.pieces {
			p.answer <- pieceAnswer{err: err}
		}
	}
	for _, p := range s.held {
		p.answer <- pieceAnswer{err: err}
	}
	s.inFlight, s.held, s.heldSize = nil, nil, 0
	for {
		select {
		case p := <-s.in:
			p.answer <- pieceAnswer{err: err}
		default:
			return
		}
	}
}
