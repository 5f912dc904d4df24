package workers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"crawlnode/crawl"
)

// question is what one node asks another: one of its fields is set.
type question struct {
	Next    *nextQuestion        `json:"next,omitempty"`
	Results *crawl.WorkerResults `json:"results,omitempty"`
	Block   *blockQuestion       `json:"block,omitempty"`
	// Late: Results count as well whose lease has ended, or is not said, while nobody else has the
	// URL.
	Late   bool           `json:"late,omitempty"`
	Guests *guestQuestion `json:"guests,omitempty"`
}

// blockQuestion asks for a host to be left alone.
type blockQuestion struct {
	Host crawl.Host    `json:"host"`
	Wait time.Duration `json:"wait"` // what is left of it
	// Delay is the least gap that is wanted instead; nil: a block is.
	Delay *time.Duration `json:"delay,omitempty"`
}

// nextQuestion asks for URLs.
type nextQuestion struct {
	Lease  string        `json:"lease"`
	Worker string        `json:"worker"`
	Most   int           `json:"most"`
	Wait   time.Duration `json:"wait"`
	Life   time.Duration `json:"life,omitempty"` // of the lease; 0: as --lease says
	Host   crawl.Host    `json:"host,omitempty"` // "": any
	Crawl  string        `json:"crawl,omitempty"`
	Any    bool          `json:"any,omitempty"` // of all crawls
}

// answer is the answer to a question.
type answer struct {
	Grant   *Grant               `json:"grant,omitempty"`
	Report  *crawl.ResultsReport `json:"report,omitempty"`
	Full    bool                 `json:"full,omitempty"` // crawl.ErrTooManyLeased
	Guests  *guestAnswer         `json:"guests,omitempty"`
	Unknown bool                 `json:"unknown,omitempty"` // crawl.ErrUnknownHost
	Error   string               `json:"error,omitempty"`
}

// err is the error of the node that answered.
func (a answer) err() error {
	switch {
	case a.Full:
		return crawl.ErrTooManyLeased
	case a.Unknown:
		return crawl.ErrUnknownHost
	case a.Error != "":
		return errors.New(a.Error)
	}
	return nil
}

func encode(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("BUG: a message between nodes cannot be encoded: %v", err))
	}
	return raw
}

// call asks another node.
func (f *Front) call(ctx context.Context, to crawl.NodeID, payload []byte) (a answer, err error) {
	raw, err := f.o.Cluster.Call(ctx, to, payload)
	if err != nil {
		return a, err
	}
	if err := json.Unmarshal(raw, &a); err != nil {
		return a, fmt.Errorf("node %s answered what cannot be read: %w", to, err)
	}
	return a, nil
}

// Serve answers another node's question. An error means that the question cannot be read.
func (d *Desk) Serve(ctx context.Context, payload []byte) ([]byte, error) {
	var q question
	if err := json.Unmarshal(payload, &q); err != nil {
		return nil, fmt.Errorf("a question about workers cannot be read: %w", err)
	}
	var a answer
	var err error
	switch {
	case q.Next != nil:
		var g Grant
		q.Next.Wait = min(max(q.Next.Wait, 0), longestRound)
		g, err = d.answerNext(ctx, q.Next)
		a.Grant = &g
	case q.Results != nil:
		var r crawl.ResultsReport
		r, err = d.settle(ctx, q.Results.LeaseID, q.Results.Results, q.Late)
		a.Report = &r
	case q.Block != nil:
		if q.Block.Delay != nil {
			err = d.SetDelay(ctx, q.Block.Host, *q.Block.Delay)
		} else {
			err = d.Block(ctx, q.Block.Host, q.Block.Wait)
		}
	case q.Guests != nil:
		a.Guests, err = d.answerGuests(ctx, q.Guests)
	default:
		err = errors.New("a question of a later version")
	}
	a.Full, a.Unknown = errors.Is(err, crawl.ErrTooManyLeased), errors.Is(err, crawl.ErrUnknownHost)
	if err != nil {
		a.Error = err.Error()
	}
	return encode(a), nil
}
