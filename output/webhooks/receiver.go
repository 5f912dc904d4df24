package webhooks

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"crawlnode/crawl"
	"crawlnode/output/webhooks/spool"
)

const (
	minPause = 500 * time.Millisecond
	maxPause = 30 * time.Second
)

// receiver sends what is stored to one URL. One goroutine calls send.
type receiver struct {
	o      *Options
	target crawl.WebhookTarget
	name   string // in the spool
	spool  *spool.Spool
	client *http.Client
	pauses backoff.BackOff
	wake   chan struct{} // cap 1: there may be a message

	mu     sync.Mutex // guards the rest
	state  crawl.WebhookStatus
	oldest time.Time // of the event that waits; zero: none
	lostAt time.Time // when events were lost last; zero: none since the start
	lost   int64     // how many had been lost then
}

// newPauses are half a second at first, and grow to 30 s, each longer or shorter by up to a half.
func newPauses() backoff.BackOff {
	return &backoff.ExponentialBackOff{
		InitialInterval:     minPause,
		RandomizationFactor: 0.5,
		Multiplier:          2,
		MaxInterval:         maxPause,
	}
}

// run sends until ctx ends.
func (r *receiver) run(ctx context.Context) {
	r.pauses.Reset()
	for ctx.Err() == nil {
		sent, err := r.next(ctx)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			crawl.Wait(ctx, r.failed(err))
		case !sent:
			select {
			case <-r.wake:
			case <-ctx.Done():
			}
		default:
			r.pauses.Reset()
		}
	}
}

// finish sends until nothing is left, an attempt fails, or ctx ends.
func (r *receiver) finish(ctx context.Context) {
	for {
		sent, err := r.next(ctx)
		if err != nil {
			r.failed(err)
			return
		}
		if !sent {
			return
		}
	}
}

// next sends the oldest message that is not taken; false: there is none.
func (r *receiver) next(ctx context.Context) (sent bool, err error) {
	m, ok, err := r.spool.Next(r.name)
	if err != nil || !ok {
		r.waits(time.Time{})
		return false, err
	}
	var e crawl.Event
	if err := json.Unmarshal(m.Text, &e); err != nil {
		// Its sum is right, so a later release has written it: it is sent as it is.
		r.o.Log.Warn("an event in the spool of webhooks has no form that this release knows", "number",
			m.Number, "error", err)
	}
	r.waits(e.Time)
	if err := r.post(ctx, &e, m.Text); err != nil {
		return false, err
	}
	if err := r.spool.Took(r.name, m.Number); err != nil {
		return false, err
	}
	r.took()
	return true, nil
}

// failed counts an attempt, and says how long to wait for the next one.
func (r *receiver) failed(err error) time.Duration {
	pause := r.pauses.NextBackOff()
	if refused := (*refusal)(nil); errors.As(err, &refused) {
		pause = max(pause, refused.after)
	}
	text, now := printable(err), time.Now()
	r.mu.Lock()
	again := r.state.Error != nil
	r.state.ErrorsTotal++
	r.state.Error = &text
	if r.state.FailsSince == nil {
		r.state.FailsSince = &now
	}
	r.mu.Unlock()
	if !again {
		r.o.Log.Warn("a webhook does not take an event; events wait on the disk", "webhook",
			r.target.String(), "error", text,
			"next_try_in", pause.Round(time.Millisecond).String())
	}
	return pause
}

func (r *receiver) took() {
	r.mu.Lock()
	failed := r.state.Error != nil
	r.state.Error, r.state.FailsSince = nil, nil
	r.mu.Unlock()
	if failed {
		r.o.Log.Info("a webhook takes events again", "webhook", r.target.String())
	}
}

func (r *receiver) waits(since time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.oldest = since
}

// status is what is known of the receiver at a moment.
func (r *receiver) status(now time.Time) crawl.WebhookStatus {
	f := r.spool.Figures(r.name)
	r.mu.Lock()
	defer r.mu.Unlock()
	if f.Lost > r.lost {
		r.lost, r.lostAt = f.Lost, now
	}
	s := r.state
	s.EventsTotal, s.Queued, s.LostTotal = f.Taken, f.Queued, f.Lost
	if !r.oldest.IsZero() && f.Queued > 0 {
		s.BehindSeconds = max(0, now.Sub(r.oldest).Seconds())
	}
	if !r.lostAt.IsZero() {
		at := r.lostAt
		s.LostAt = &at
	}
	return s
}
