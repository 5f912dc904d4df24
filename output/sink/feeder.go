package sink

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/zeebo/xxh3"

	"crawlnode/crawl"
	"crawlnode/local/datadir"
	"crawlnode/local/files"
	"crawlnode/output/lists"
	"crawlnode/output/lists/follow"
	"crawlnode/output/sink/endpoint"
	"crawlnode/web/preferences"
)

const (
	// batchLines bounds the lines of one Send, and so what comes again after a crash.
	batchLines = 500
	lookEvery  = 500 * time.Millisecond
	sendTime   = 30 * time.Second // for one batch
	minPause   = 500 * time.Millisecond
	maxPause   = 30 * time.Second
	finishTime = 10 * time.Second // for what is left when the node ends
)

// Options say what is sent where.
type Options struct {
	Target  crawl.SinkTarget
	Derived string // the folder of derived files
	Dir     string // the folder of cursors
	// Obeyed are the purposes of the crawl, when pages are left out whose owner said no to one of
	// them; nil, or none: nothing is left out.
	Obeyed func() preferences.Purposes
	Log    *slog.Logger
	// Open replaces endpoint.Open in tests; nil: endpoint.Open.
	Open func(crawl.SinkTarget) (endpoint.Sink, error)
}

// Feeder feeds one sink. Run and Finish are called one after the other; State from any goroutine.
type Feeder struct {
	o      Options
	path   string // of the cursor
	sink   endpoint.Sink
	reader *follow.Reader

	mu    sync.Mutex // guards state and sentTo
	state crawl.SinkStatus
	// sentTo is when the page of the next line to send, or of the last one that was sent, was fetched;
	// zero: all is sent.
	sentTo time.Time
}

// cursorFile is what is stored of a sink.
type cursorFile struct {
	Sink   string        `json:"sink"`
	Cursor follow.Cursor `json:"cursor"`
	Events int64         `json:"events"`
}

// New makes a feeder that goes on where an earlier one with that target was. It does not wait for
// the other side.
func New(o Options) (*Feeder, error) {
	if o.Open == nil {
		o.Open = endpoint.Open
	}
	if err := os.MkdirAll(o.Dir, 0o750); err != nil {
		return nil, fmt.Errorf("make the folder of the sinks' cursors: %w", err)
	}
	name := o.Target.String()
	f := &Feeder{
		o:     o,
		path:  filepath.Join(o.Dir, strconv.FormatUint(xxh3.HashString(name), 16)+".json"),
		state: crawl.SinkStatus{Sink: name},
	}
	var stored cursorFile
	text, err := os.ReadFile(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("read the cursor of %s: %w", name, err)
	case json.Unmarshal(text, &stored) != nil || stored.Sink != name:
		return nil, fmt.Errorf(
			"the cursor of %s in %s is damaged: remove the file to send all lines again", name, f.path)
	}
	f.state.EventsTotal = stored.Events
	f.reader = follow.New(o.Derived, lists.Pages, stored.Cursor)
	if f.sink, err = o.Open(o.Target); err != nil {
		return nil, unopened(err)
	}
	return f, nil
}

// unopened is the error of a sink that cannot be opened. A file where none can be is a mistake in
// the flag, and no fault of the data directory's.
func unopened(err error) error {
	for _, mistake := range [...]error{fs.ErrNotExist, fs.ErrPermission, syscall.ENOTDIR,
		syscall.EISDIR} {
		if errors.Is(err, mistake) {
			return datadir.Usage(
				fmt.Errorf("%w: name a file in a folder that exists, and that this user may write to", err))
		}
	}
	return err
}

// State is what is known of the sink at a moment.
func (f *Feeder) State(now time.Time) crawl.SinkStatus {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.state
	if !f.sentTo.IsZero() {
		s.BehindSeconds = max(0, now.Sub(f.sentTo).Seconds())
	}
	return s
}

// Run sends until ctx ends. It returns no error: a sink does not end a node.
func (f *Feeder) Run(ctx context.Context) {
	pause := minPause
	for ctx.Err() == nil {
		sent, err := f.batch(ctx)
		if r, ok := f.sink.(endpoint.Refresher); ok && sent == 0 && err == nil {
			err = r.Refresh()
		}
		switch {
		case ctx.Err() != nil:
		case err != nil:
			f.failed(err, pause)
			crawl.Wait(ctx, pause)
			pause = min(2*pause, maxPause)
		case sent == 0:
			f.caughtUp()
			crawl.Wait(ctx, lookEvery)
		default:
			pause = minPause
		}
	}
}

// Finish sends what is left, when nothing is written any more, and closes the sink.
func (f *Feeder) Finish() error {
	ctx, cancel := context.WithTimeout(context.Background(), finishTime)
	defer cancel()
	for {
		sent, err := f.batch(ctx)
		if err != nil {
			f.o.Log.Warn("a sink lacks results of this node; the next start with this data directory "+
				"and this --sink sends them", "sink", f.state.Sink, "error", err)
			break
		}
		if sent == 0 {
			break
		}
	}
	return f.sink.Close()
}

// batch sends the next lines and stores the cursor behind them.
func (f *Feeder) batch(ctx context.Context) (int, error) {
	before := f.reader.At()
	lines, err := f.reader.Next(batchLines)
	if err != nil || len(lines) == 0 {
		return 0, err
	}
	var obeyed preferences.Purposes
	if f.o.Obeyed != nil {
		obeyed = f.o.Obeyed()
	}
	events := make([]endpoint.Event, 0, len(lines))
	var last time.Time
	for i, line := range lines {
		e, at, refused := eventOf(line, obeyed)
		if last = at; i == 0 {
			f.waitsSince(last)
		}
		if !refused {
			events = append(events, e)
		}
	}
	if len(events) == 0 {
		return len(lines), f.sent(0, last)
	}
	sending, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	if err := f.sink.Send(sending, events); err != nil {
		f.reader = follow.New(f.o.Derived, lists.Pages, before) // all of them come again
		return 0, err
	}
	return len(lines), f.sent(len(events), last)
}

// sent counts lines that the sink has, and stores the cursor.
func (f *Feeder) sent(n int, last time.Time) error {
	f.mu.Lock()
	f.state.EventsTotal += int64(n)
	f.state.Error, f.state.FailsSince = nil, nil
	f.sentTo = last
	text, err := json.Marshal(cursorFile{f.state.Sink, f.reader.At(), f.state.EventsTotal})
	f.mu.Unlock()
	if err != nil {
		panic("BUG: a cursor cannot be written as JSON: " + err.Error())
	}
	if err := files.Replace(f.path, text); err != nil {
		return fmt.Errorf("store the cursor of a sink: %w", err)
	}
	return nil
}

func (f *Feeder) failed(err error, pause time.Duration) {
	text := err.Error()
	f.mu.Lock()
	again := f.state.Error != nil
	f.state.ErrorsTotal++
	f.state.Error = &text
	if f.state.FailsSince == nil {
		now := time.Now()
		f.state.FailsSince = &now
	}
	f.mu.Unlock()
	if !again {
		f.o.Log.Warn("a sink does not take results; they wait on the disk", "sink", f.state.Sink, "error",
			err, "next_try_in", pause)
	}
}

// waitsSince notes the oldest result that is not sent.
func (f *Feeder) waitsSince(at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sentTo = at
}

func (f *Feeder) caughtUp() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sentTo = time.Time{}
}

// eventOf makes the event of a line. A line that cannot be read has no key, and is sent as it is.
func eventOf(
	line []byte,
	obeyed preferences.Purposes,
) (event endpoint.Event, fetched time.Time, refused bool) {
	var page struct {
		URL         string                      `json:"url"`
		FetchedAt   time.Time                   `json:"fetched_at"`
		Preferences preferences.PagePreferences `json:"preferences"`
	}
	e := endpoint.Event{Line: line}
	if json.Unmarshal(line, &page) == nil {
		if u, err := url.Parse(page.URL); err == nil {
			e.Key = u.Hostname()
		}
	}
	return e, page.FetchedAt, page.Preferences.Refused(obeyed) != 0
}
