package endpoint

import (
	"context"
	"errors"

	"crawlnode/crawl"
)

// Event is a result.
type Event struct {
	Key  string // the host
	Line []byte // a JSON object, without a line end
}

// Sink takes events.
type Sink interface {
	// Send returns when all events are stored on the other side, in this order for each key.
	Send(ctx context.Context, events []Event) error
	Close() error
}

// Refresher is a Sink whose other side may move. Refresh finds it again when there is nothing to
// send; Send does so by itself.
type Refresher interface{ Refresh() error }

// Open makes the sink of a target. It does not wait for the other side: Send does.
func Open(t crawl.SinkTarget) (Sink, error) {
	switch t.Kind {
	case "file":
		return openFile(t.Name)
	case "kafka":
		return openKafka(t)
	case "nats":
		return openNATS(t), nil
	}
	return nil, errors.New("BUG: a sink of kind " + t.Kind)
}
