package search

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"crawlnode/crawl"
	search "crawlnode/search/index"
)

// The steps of a question.
const (
	stepStatistics = "statistics"
	stepAsk        = "ask"
	stepShow       = "show"
)

// call is one step of a question, to one node. Fields are only added.
type call struct {
	Step string      `json:"step"`
	Plan search.Plan `json:"plan"` // Partitions are those that the node answers for
	URLs []string    `json:"urls,omitempty"`
}

// reply is the node's answer.
type reply struct {
	Statistics *search.Statistics `json:"statistics,omitempty"`
	Answer     *search.Answer     `json:"answer,omitempty"`
	Results    []search.Result    `json:"results,omitempty"`
	// With statistics: Missing are partitions that the node does not have. Of the others, Documents is
	// how many documents they have, Covered how many of these are in the index.
	Missing   []uint32 `json:"missing,omitempty"`
	Documents int64    `json:"documents"`
	Covered   int64    `json:"covered"`
	// Still is the same for the partitions of an Answer, once it was made: another copy of a partition
	// may have come since the statistics, and what the index had of the one before is out. Nodes of
	// older releases do not say it.
	Still *still `json:"still,omitempty"`
}

// still says what of an answer's partitions a node has when it has answered.
type still struct {
	Missing   int   `json:"missing"`
	Documents int64 `json:"documents"`
	Covered   int64 `json:"covered"`
}

// turnWait bounds the wait for a turn.
const turnWait = time.Second

// errNoIndex says that the node has no index now.
var errNoIndex = errors.New(
	"this node has no index: it was started or set without --index on, or has not opened it yet")

// ErrBusy says that too many questions are being answered.
var ErrBusy = errors.New("too many questions are being answered: ask again in a second")

// Serve answers another node.
func (x *Indexer) Serve(ctx context.Context, payload []byte) ([]byte, error) {
	var c call
	if err := json.Unmarshal(payload, &c); err != nil {
		return nil, fmt.Errorf("read a question: %w", err)
	}
	r, err := x.answer(ctx, &c)
	if err != nil {
		return nil, err
	}
	return json.Marshal(r)
}

// answer answers one step out of this node's index.
func (x *Indexer) answer(ctx context.Context, c *call) (r *reply, err error) {
	if err := take(ctx, x.slots); err != nil {
		return nil, err
	}
	defer func() { <-x.slots }()
	x.mu.Lock()
	index, on := x.index, x.on
	x.mu.Unlock()
	if index == nil || !on {
		return nil, errNoIndex
	}
	r = &reply{}
	switch c.Step {
	case stepStatistics:
		x.account(&c.Plan.Question, r)
		s, err := index.Statistics(ctx, c.Plan.Question)
		r.Statistics = &s
		return r, err
	case stepAsk:
		a, err := index.Ask(ctx, c.Plan)
		r.Answer = &a
		r.Still = x.still(c.Plan.Partitions)
		return r, err
	case stepShow:
		r.Results, err = index.Show(ctx, c.Plan, c.URLs)
		return r, err
	}
	return nil, fmt.Errorf("a question with the step %q: this node is of an older release", c.Step)
}

// still says what of the partitions is here now.
func (x *Indexer) still(partitions []uint32) *still {
	var r reply
	x.account(&search.Question{Partitions: partitions}, &r)
	return &still{Missing: len(r.Missing), Documents: r.Documents, Covered: r.Covered}
}

// account leaves out of the question the partitions that are not here, and says what of the others
// is covered.
func (x *Indexer) account(q *search.Question, r *reply) {
	have := make([]uint32, 0, len(q.Partitions))
	for _, p := range q.Partitions {
		m, ok := x.o.Store.Meta(crawl.Partition(p))
		if !ok || !readable(&m) {
			r.Missing = append(r.Missing, p)
			continue
		}
		have = append(have, p)
		r.Documents += m.Counters.Texts
		r.Covered += max(m.Counters.Texts-(m.Counters.TextChanges-x.read(&m)), 0)
	}
	q.Partitions = have
}

// take takes a slot within turnWait.
func take(ctx context.Context, slots chan struct{}) error {
	select {
	case slots <- struct{}{}:
		return nil
	default:
	}
	t := time.NewTimer(turnWait)
	defer t.Stop()
	select {
	case slots <- struct{}{}:
		return nil
	case <-t.C:
		return ErrBusy
	case <-ctx.Done():
		return ctx.Err()
	}
}
