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
}

// blockQuestion asks for a host to be left alone.
type blockQuestion struct {
	Host crawl.Host    `json:"host"`
	Wait time.Duration `json:"wait"` // what is left of it
}

// nextQuestion asks for URLs.
type nextQuestion struct {
	Lease  string        `json:"lease"`
	Worker string        `json:"worker"`
	Most   int           `json:"most"`
	Wait   time.Duration `json:"wait"`
}

// answer is the answer to a question.
type answer struct {
	Grant   *Grant               `json:"grant,omitempty"`
	Report  *crawl.ResultsReport `json:"report,omitempty"`
	Full    bool                 `json:"full,omitempty"`    // crawl.ErrTooManyLeased
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
	raw, err := f.cluster.Call(ctx, to, payload)
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
		g, err = d.Next(ctx, q.Next.Lease, q.Next.Worker, min(max(q.Next.Most, 1), crawl.MaxLeaseBatch), min(max(q.Next.Wait, 0), longestRound))
		a.Grant = &g
	case q.Results != nil:
		var r crawl.ResultsReport
		r, err = d.Settle(ctx, q.Results.LeaseID, q.Results.Results)
		a.Report = &r
	case q.Block != nil:
		err = d.Block(ctx, q.Block.Host, q.Block.Wait)
	default:
		err = errors.New("a question of a later version")
	}
	a.Full, a.Unknown = errors.Is(err, crawl.ErrTooManyLeased), errors.Is(err, crawl.ErrUnknownHost)
	if err != nil {
		a.Error = err.Error()
	}
	return encode(a), nil
}
