package webhooks

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"crawlnode/crawl"
	"crawlnode/local/files"
	"crawlnode/output/webhooks/spool"
)

const (
	// batch is how many events are appended together, with one sync.
	batch = 100
	// finishTime is for what is left when the node ends.
	finishTime = 10 * time.Second
)

// limits of the spool. An event has some 300 bytes; the largest has the names of all settings.
var limits = spool.Limits{
	Messages: 100_000,
	Bytes:    64 << 20,
	Segment:  256 << 10,
	Message:  128 << 10,
}

// Source has the events of this node. status/events.Log is one.
type Source interface {
	// Hold is called once, before the first event: an event is shown when it was released.
	Hold()
	// Pending returns the first events after an id, and how many between are forgotten.
	Pending(after uint64, limit int) (events []crawl.Event, missed int)
	// Release shows the events up to an id.
	Release(id uint64)
	// News returns a channel that is closed with the next event.
	News() <-chan struct{}
}

// Options say what is sent where.
type Options struct {
	URLs   []string // as --webhook names them
	Dir    string   // of the spool
	Events Source
	// Secret returns the secret of the signature at the moment, and whether one is needed: then
	// nothing is sent without. It never leaves post.
	Secret    func() (secret string, needed bool)
	Node      string // name of this node
	UserAgent string
	// Stop is closed when the node is to end at once; nil: never.
	Stop <-chan struct{}
	Log  *slog.Logger

	limits   spool.Limits           // zero: limits
	finish   time.Duration          // zero: finishTime
	pauses   func() backoff.BackOff // nil: newPauses
	openFile files.Opener           // nil: files.OpenFile
}

// Set is all webhooks of a node. A nil Set has none.
type Set struct {
	o         Options
	spool     *spool.Spool
	receivers []*receiver
	last      uint64 // id of the last event that was appended or given up; Run's, then Finish's

	mu       sync.Mutex // guards the rest
	trouble  *string    // why the spool takes nothing; nil: it does
	troubled time.Time  // since when
}

// Open makes the webhooks of a node; nil: there are none. Call it before the first event that is to
// be sent. Errors of the disk are returned, and nothing is asked of a receiver.
func Open(o Options) (*Set, error) {
	if len(o.URLs) == 0 {
		return nil, nil
	}
	if o.limits == (spool.Limits{}) {
		o.limits = limits
	}
	if o.finish == 0 {
		o.finish = finishTime
	}
	if o.pauses == nil {
		o.pauses = newPauses
	}
	s := &Set{o: o}
	names := make([]string, len(o.URLs))
	for i, text := range o.URLs {
		t, err := crawl.ParseWebhook(text)
		if err != nil {
			return nil, fmt.Errorf("--webhook: %w", err)
		}
		digest := sha256.Sum256([]byte(text)) // the URL may hold a secret
		names[i] = hex.EncodeToString(digest[:16])
		s.receivers = append(s.receivers,
			&receiver{o: &s.o, target: t, name: names[i], client: newClient(), pauses: o.pauses(),
				wake: make(chan struct{}, 1), state: crawl.WebhookStatus{Webhook: t.String()}})
	}
	var err error
	s.spool, err = spool.Open(
		spool.Options{Dir: o.Dir, Receivers: names, Limits: o.limits, OpenFile: o.openFile})
	if err != nil {
		return nil, err
	}
	if n := s.spool.Damaged(); n > 0 {
		o.Log.Error("events that wait for webhooks are damaged on the disk, and are not sent", "events",
			n, "folder", o.Dir)
	}
	if _, needed := o.Secret(); !needed {
		o.Log.Warn("webhooks are sent without a signature: name a file with --secrets that has a line " +
			"webhook=VALUE, so that receivers can tell who sends")
	}
	for _, r := range s.receivers {
		r.spool, r.lost = s.spool, s.spool.Figures(r.name).Lost
	}
	o.Events.Hold()
	return s, nil
}

// Run stores and sends events until ctx ends.
func (s *Set) Run(ctx context.Context) {
	if s == nil {
		return
	}
	var all sync.WaitGroup
	for _, r := range s.receivers {
		all.Go(func() { r.run(ctx) })
	}
	pauses := s.o.pauses()
	for ctx.Err() == nil {
		news := s.o.Events.News()
		took, err := s.take()
		switch {
		case err != nil:
			crawl.Wait(ctx, pauses.NextBackOff())
		case took == 0:
			select {
			case <-news:
			case <-ctx.Done():
			}
		default:
			pauses.Reset()
		}
	}
	all.Wait()
}

// take appends the next events to the spool, and has them shown. When the disk takes nothing they
// are shown all the same, and stay pending.
func (s *Set) take() (int, error) {
	events, missed := s.o.Events.Pending(s.last, batch)
	if missed > 0 {
		s.o.Log.Error("events were forgotten before the disk took them, and do not reach the webhooks",
			"events", missed)
		if err := s.spool.Lose(int64(missed)); err != nil {
			return 0, s.failed(err)
		}
		s.last = events[0].ID - 1
	}
	if len(events) == 0 {
		return 0, nil
	}
	last := events[len(events)-1].ID
	messages := make([][]byte, 0, len(events))
	tooLarge := int64(0)
	for i := range events {
		text, err := json.Marshal(&events[i])
		if err != nil {
			panic("BUG: " + err.Error())
		}
		if len(text) > s.o.limits.Message {
			tooLarge++
			s.o.Log.Error("an event is too large for a webhook, and is not sent", "code", events[i].Code,
				"bytes", len(text))
			continue
		}
		messages = append(messages, text)
	}
	err := s.spool.Append(messages...)
	if err == nil && tooLarge > 0 {
		err = s.spool.Lose(tooLarge)
	}
	s.o.Events.Release(last)
	if err != nil {
		return 0, s.failed(err)
	}
	s.mended()
	s.last = last
	for _, r := range s.receivers {
		crawl.Signal(r.wake)
	}
	return len(events), nil
}

func (s *Set) failed(err error) error {
	text := printable(err)
	s.mu.Lock()
	again := s.trouble != nil
	s.trouble = &text
	if !again {
		s.troubled = time.Now()
	}
	s.mu.Unlock()
	if !again {
		s.o.Log.Error("events for webhooks cannot be stored; they wait in memory", "error", text)
	}
	return err
}

func (s *Set) mended() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trouble = nil
}

// Finish stores and sends what is left, when there are no more events, and closes the spool. Run
// has ended before.
func (s *Set) Finish() error {
	if s == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.o.finish)
	defer cancel()
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		select {
		case <-s.o.Stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	for {
		if n, err := s.take(); n == 0 || err != nil {
			break // take has logged the error
		}
	}
	var all sync.WaitGroup
	for _, r := range s.receivers {
		all.Go(func() { r.finish(ctx) })
	}
	all.Wait()
	cancel()
	<-stopped
	for _, r := range s.receivers {
		if n := s.spool.Figures(r.name).Queued; n > 0 {
			s.o.Log.Warn("a webhook lacks events of this node; the next start with this data directory "+
				"and this --webhook sends them", "webhook", r.target.String(), "events", n)
		}
		r.client.CloseIdleConnections()
	}
	return s.spool.Close()
}

// State is what is known of each webhook, in the order of the flags.
func (s *Set) State(now time.Time) []crawl.WebhookStatus {
	states := []crawl.WebhookStatus{}
	if s == nil {
		return states
	}
	for _, r := range s.receivers {
		states = append(states, r.status(now))
	}
	return states
}

// Trouble is since when and why the disk takes no events; nil: it does.
func (s *Set) Trouble() (since time.Time, why *string) {
	if s == nil {
		return time.Time{}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.troubled, s.trouble
}
