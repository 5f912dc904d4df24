package endpoint

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/zeebo/xxh3"

	"crawlnode/crawl"
)

// natsSink publishes to a JetStream subject.
type natsSink struct {
	servers string
	subject string
	conn    *nats.Conn // nil: not connected
	stream  jetstream.JetStream
}

func openNATS(t crawl.SinkTarget) *natsSink {
	servers := make([]string, len(t.Servers))
	for i, s := range t.Servers {
		servers[i] = "nats://" + s
	}
	return &natsSink{servers: strings.Join(servers, ","), subject: t.Name}
}

// connect connects, unless it is connected. Sends of a connection that is away fail, and the caller
// comes back.
func (s *natsSink) connect() (err error) {
	if s.conn != nil {
		return nil
	}
	conn, err := nats.Connect(s.servers, nats.Name("crawlnode"), nats.Timeout(5*time.Second),
		nats.MaxReconnects(-1), nats.ReconnectBufSize(-1))
	if err != nil {
		return fmt.Errorf("connect to %s: %w", s.servers, err)
	}
	if s.stream, err = jetstream.New(conn); err != nil {
		conn.Close()
		return fmt.Errorf("JetStream at %s: %w", s.servers, err)
	}
	s.conn = conn
	return nil
}

// Send publishes all events and then waits for the answers: the server stores the messages of a
// connection in the order in which they come.
func (s *natsSink) Send(ctx context.Context, events []Event) error {
	if err := s.connect(); err != nil {
		return err
	}
	acks := make([]jetstream.PubAckFuture, 0, len(events))
	for _, e := range events {
		m := nats.NewMsg(s.subject)
		m.Data = e.Line
		m.Header.Set("Crawlnode-Host", e.Key)
		ack, err := s.stream.PublishMsgAsync(m, jetstream.WithMsgID(messageID(e.Line)))
		if err != nil {
			return fmt.Errorf("publish to %s: %w", s.subject, err)
		}
		acks = append(acks, ack)
	}
	for _, ack := range acks {
		select {
		case <-ack.Ok():
		case err := <-ack.Err():
			if errors.Is(err, jetstream.ErrNoStreamResponse) {
				err = fmt.Errorf("%w: no stream takes the subject; make one: nats stream add --subjects %s",
					err, s.subject)
			}
			return fmt.Errorf("publish to %s: %w", s.subject, err)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// messageID is the same for the same event.
func messageID(line []byte) string {
	sum := xxh3.Hash128(line).Bytes()
	return hex.EncodeToString(sum[:])
}

func (s *natsSink) Close() error {
	if s.conn != nil {
		s.conn.Close()
	}
	return nil
}
