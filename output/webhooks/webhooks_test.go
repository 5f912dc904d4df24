package webhooks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cenkalti/backoff/v5"

	"crawlnode/crawl"
	"crawlnode/local/files"
	"crawlnode/output/webhooks/spool"
)

const patience = 4 * time.Minute

// source is a log of events, as package status/events is one.
type source struct {
	mu       sync.Mutex
	held     bool
	released uint64
	forgot   int // of the oldest
	events   []crawl.Event
	news     chan struct{}
}

func newSource() *source { return &source{news: make(chan struct{})} }

func (s *source) add(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range n {
		id := uint64(len(s.events) + 1)
		s.events = append(s.events,
			crawl.Event{ID: id, UID: fmt.Sprintf("0123456789abcdef-%d", id), Code: "crawl_paused",
				Time: time.Now().UTC(), Message: "number " + fmt.Sprint(id), Fields: map[string]any{}})
	}
	close(s.news)
	s.news = make(chan struct{})
}

func (s *source) Hold() { s.held = true }

func (s *source) Pending(after uint64, limit int) ([]crawl.Event, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := max(int(after), s.forgot)
	return slices.Clone(s.events[from:min(from+limit, len(s.events))]), from - int(after)
}

func (s *source) Release(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.released = max(s.released, id)
}

func (s *source) News() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.news
}

// taker is a receiver that answers as it is told to.
type taker struct {
	*httptest.Server
	mu     sync.Mutex
	bodies [][]byte      // that were taken
	heads  []http.Header // of those
	tries  int
	answer http.HandlerFunc // nil: 204
	change chan struct{}    // closed with the next request
}

func newTaker(t *testing.T) *taker {
	h := &taker{change: make(chan struct{})}
	h.Server = httptest.NewServer(h)
	t.Cleanup(h.Close)
	return h
}

func (h *taker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	h.mu.Lock()
	answer := h.answer
	h.tries++
	if answer == nil {
		h.bodies, h.heads = append(h.bodies, body), append(h.heads, r.Header)
	}
	close(h.change)
	h.change = make(chan struct{})
	h.mu.Unlock()
	if answer != nil {
		answer(w, r)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (h *taker) set(answer http.HandlerFunc) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answer = answer
}

// until waits until a condition holds, which it looks at after each request.
func (h *taker) until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(patience)
	for {
		h.mu.Lock()
		ok, change := holds(), h.change
		h.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-change:
		case <-deadline:
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// ids are those of the events that were taken, repeats left out, in the order of their arrival.
func (h *taker) ids(t *testing.T) (ids []uint64) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	seen := map[string]bool{}
	for _, body := range h.bodies {
		var e crawl.Event
		if err := json.Unmarshal(body, &e); err != nil {
			t.Fatal(err)
		}
		if !seen[e.UID] {
			ids = append(ids, e.ID)
		}
		seen[e.UID] = true
	}
	return ids
}

func (h *taker) wants(t *testing.T, from, to uint64) {
	t.Helper()
	var want []uint64
	for id := from; id <= to; id++ {
		want = append(want, id)
	}
	if got := h.ids(t); !slices.Equal(got, want) {
		t.Errorf("events arrived: %v, want %d to %d", got, from, to)
	}
}

// lines is a log.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func options(dir string, from *source, log io.Writer, urls ...string) Options {
	return Options{
		URLs:      urls,
		Dir:       dir,
		Events:    from,
		Node:      "n1",
		UserAgent: "crawlnode/test",
		Log:       slog.New(slog.NewTextHandler(log, nil)),
		Secret:    func() (string, bool) { return "opensesame", true },
		finish:    2 * patience, // a slow disk syncs each event for long
		pauses:    func() backoff.BackOff { return backoff.NewConstantBackOff(time.Millisecond) },
	}
}

// run runs the webhooks; the function that it returns ends that.
func run(t *testing.T, o Options) (*Set, func()) {
	t.Helper()
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() { s.Run(ctx); close(over) }()
	var once sync.Once
	end := func() { once.Do(func() { cancel(); <-over }) }
	t.Cleanup(end)
	return s, end
}

// drained waits until the first receiver has taken everything.
func drained(t *testing.T, s *Set) {
	t.Helper()
	for deadline := time.Now().Add(patience); s.State(time.Now())[0].Queued > 0; time.Sleep(
		time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the cursor does not move")
		}
	}
}

// TestSends: what arrives, and what of it nobody else sees.
func TestSends(t *testing.T) {
	t.Parallel()
	h, from, log := newTaker(t), newSource(), &lines{}
	from.add(2) // before the start
	s, end := run(t, options(t.TempDir(), from, log, h.URL+"/T0/hunter2?k=hunter2"))
	from.add(3)
	h.until(t, "5 events", func() bool { return len(h.bodies) == 5 })
	drained(t, s)
	end()
	if err := s.Finish(); err != nil {
		t.Error(err)
	}
	h.wants(t, 1, 5)
	for i, head := range h.heads {
		want, err := json.Marshal(from.events[i])
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(h.bodies[i], want) {
			t.Errorf("the body is %s, want %s", h.bodies[i], want)
		}
		for name, want := range map[string]string{
			"Content-Type":  "application/json",
			"User-Agent":    "crawlnode/test",
			NodeHeader:      "n1",
			EventHeader:     "crawl_paused",
			DeliveryHeader:  from.events[i].UID,
			SignatureHeader: sign("opensesame", h.bodies[i]),
		} {
			if got := head.Get(name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
	}
	if !from.held || from.released != 5 {
		t.Errorf("held: %v; released up to %d", from.held, from.released)
	}
	state := s.State(time.Now())
	if len(state) != 1 || state[0].EventsTotal != 5 || state[0].Queued != 0 ||
		state[0].BehindSeconds != 0 || state[0].Error != nil {
		t.Errorf("%+v", state)
	}
	text, err := json.Marshal(state)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"hunter2", "opensesame"} {
		if strings.Contains(log.String()+string(text)+fmt.Sprint(state), secret) {
			t.Errorf("%s is told: %s %s", secret, log, text)
		}
	}
}

// TestSignature has a value that another program made:
// printf '{"id":1}' | openssl dgst -sha256 -hmac opensesame.
func TestSignature(t *testing.T) {
	t.Parallel()
	const want = "sha256=22c75e2cbec346bd55d4945c7cf5b01a5bc39db0d9937032adb1438fbda21fcc"
	if got := sign("opensesame", []byte(`{"id":1}`)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestHostileReceivers: whatever a receiver does, events come again until it takes them, in order,
// and the other receiver waits for nothing.
func TestHostileReceivers(t *testing.T) {
	t.Parallel()
	status := func(code int, header ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(code)
		}
	}
	raw := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				_, _ = io.WriteString(conn, text)
				_ = conn.Close()
			}
		}
	}
	elsewhere := newTaker(t)
	for name, tc := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"error":        {status(500), "it answers 500"},
		"forbidden":    {status(403), "it answers 403"},
		"gone":         {status(410), "it answers 410"},
		"not modified": {status(304), "it answers 304, a redirect"},
		"a redirect": {status(307, "Location", elsewhere.URL),
			"it answers 307, a redirect, which is not followed"},
		"wait":         {status(429, "Retry-After", "0"), "it answers 429"},
		"a wrong wait": {status(503, "Retry-After", "soon"), "it answers 503"},
		"closes":       {raw(""), "EOF"},
		"resets": {func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) },
			"EOF"},
		"no HTTP": {raw("\x1b[2Jhello\r\n\r\n"), "malformed HTTP"},
		"a long header": {raw("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 1<<20) + "\r\n\r\n"),
			"headers exceeded"},
		"hangs": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
			"no answer in time"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bad, good, from, log := newTaker(t), newTaker(t), newSource(), &lines{}
			bad.set(tc.answer)
			s, err := Open(options(t.TempDir(), from, log, bad.URL, good.URL+"/x"))
			if err != nil {
				t.Fatal(err)
			}
			if name == "hangs" {
				s.receivers[0].client.Timeout = 200 * time.Millisecond
			}
			ctx, cancel := context.WithCancel(context.Background())
			over := make(chan struct{})
			go func() { s.Run(ctx); close(over) }()
			defer func() { cancel(); <-over }()
			from.add(20)
			good.until(t, "20 events at the other receiver", func() bool { return len(good.bodies) == 20 })
			bad.until(t, "3 attempts", func() bool { return bad.tries >= 3 })
			state := s.State(time.Now())[0]
			if state.Queued != 20 || state.ErrorsTotal == 0 || state.Error == nil ||
				!strings.Contains(*state.Error, tc.want) || state.FailsSince == nil {
				text, _ := json.Marshal(state)
				t.Errorf("state %s, want the error %q", text, tc.want)
			}
			if state.Error != nil && strings.ContainsFunc(*state.Error+log.String(),
				func(r rune) bool { return r < ' ' && r != '\n' }) {
				t.Errorf("control characters in %q", *state.Error)
			}
			bad.set(nil)
			bad.until(t, "20 events", func() bool {
				seen := map[string]bool{} // an answer may come too late for the short patience
				for _, head := range bad.heads {
					seen[head.Get(DeliveryHeader)] = true
				}
				return len(seen) == 20
			})
			bad.wants(t, 1, 20)
			good.wants(t, 1, 20)
		})
	}
	t.Cleanup(func() {
		if elsewhere.tries > 0 {
			t.Errorf("a redirect was followed %d times", elsewhere.tries)
		}
	})
}

// TestLongAnswer: an answer without end counts by its status, and is not read to its end.
func TestLongAnswer(t *testing.T) {
	t.Parallel()
	h, from := newTaker(t), newSource()
	var sent sync.Map
	h.set(func(w http.ResponseWriter, r *http.Request) {
		sent.Store(r.Header.Get(DeliveryHeader), true)
		for piece := make([]byte, 64<<10); ; {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
	})
	_, _ = run(t, options(t.TempDir(), from, io.Discard, h.URL))
	from.add(5)
	h.until(t, "5 requests", func() bool { return h.tries >= 5 })
	deadline := time.Now().Add(patience) // a request is counted before it is noted
	for _, e := range from.events {
		for {
			if _, ok := sent.Load(e.UID); ok {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s was not sent", e.UID)
			}
			time.Sleep(time.Millisecond)
		}
	}
}

// TestRetryAfterHolds: a receiver that asks for a wait is left alone for it.
func TestRetryAfterHolds(t *testing.T) {
	t.Parallel()
	r := &receiver{
		o:      &Options{Log: slog.New(slog.DiscardHandler)},
		pauses: backoff.NewConstantBackOff(time.Second),
	}
	for _, tc := range []struct {
		err  error
		want time.Duration
	}{
		{errors.New("refused"), time.Second},
		{&refusal{503, 0}, time.Second},
		{&refusal{503, time.Millisecond}, time.Second},
		{fmt.Errorf("x: %w", &refusal{503, time.Minute}), time.Minute},
	} {
		if got := r.failed(tc.err); got != tc.want {
			t.Errorf("%v: wait %v, want %v", tc.err, got, tc.want)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"": 0, "120": 2 * time.Minute, " 7 ": 7 * time.Second, "-1": 0, "99999999": time.Hour,
		"99999999999999999999": time.Hour, "soon": 0, "1.5": 0,
		now.Add(time.Minute).Format(http.TimeFormat):    time.Minute,
		now.Add(-time.Minute).Format(http.TimeFormat):   0,
		now.Add(48 * time.Hour).Format(http.TimeFormat): time.Hour,
	} {
		if got := retryAfter(text, now); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// TestKilled: what a kill leaves is sent by the next start, before what is new; a repeat has the
// same uid.
func TestKilled(t *testing.T) {
	t.Parallel()
	h, from, dir := newTaker(t), newSource(), t.TempDir()
	h.set(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	s, end := run(t, options(dir, from, io.Discard, h.URL))
	from.add(10)
	h.until(t, "an attempt", func() bool { return h.tries > 0 && from.releasedTo() == 10 })
	killed := filepath.Join(t.TempDir(), "killed")
	if err := os.CopyFS(killed, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	end()
	_ = s.spool.Close()
	h.set(nil)
	boot := newSource() // of the next boot; its ids go on
	boot.events, boot.forgot = slices.Clone(from.events), 10
	boot.add(5)
	o := options(killed, boot, io.Discard, h.URL)
	next, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	next.last = 10 // a log of the next boot has nothing before
	if err := next.Finish(); err != nil {
		t.Error(err)
	}
	h.wants(t, 1, 15)
}

func (s *source) releasedTo() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.released
}

// TestSecret: the secret of the moment signs, and without one that is needed nothing is sent.
func TestSecret(t *testing.T) {
	t.Parallel()
	h, from := newTaker(t), newSource()
	var mu sync.Mutex
	secret, asked := "first", make(chan struct{}, 1000)
	o := options(t.TempDir(), from, io.Discard, h.URL)
	o.Secret = func() (string, bool) {
		mu.Lock()
		defer mu.Unlock()
		select {
		case asked <- struct{}{}:
		default:
		}
		return secret, true
	}
	set := func(text string) { mu.Lock(); secret = text; mu.Unlock() }
	s, _ := run(t, o)
	from.add(1)
	h.until(t, "the first event", func() bool { return len(h.bodies) == 1 })
	set("")
	from.add(1)
	for len(asked) > 0 {
		<-asked
	}
	for range 5 { // attempts without a secret
		<-asked
	}
	if h.tries != 1 {
		t.Errorf("%d requests without a secret", h.tries-1)
	}
	if state := s.State(time.Now())[0]; state.Error == nil ||
		!strings.Contains(*state.Error, "webhook=VALUE") {
		t.Errorf("%+v", state)
	}
	set("second")
	h.until(t, "the second event", func() bool { return len(h.bodies) == 2 })
	for i, secret := range []string{"first", "second"} {
		if got := h.heads[i].Get(SignatureHeader); got != sign(secret, h.bodies[i]) {
			t.Errorf("event %d is not signed with the secret of its time: %s", i, got)
		}
	}
}

// TestUnsigned: without a file of secrets events go without a signature, and the log says so.
func TestUnsigned(t *testing.T) {
	t.Parallel()
	h, from, log := newTaker(t), newSource(), &lines{}
	o := options(t.TempDir(), from, log, h.URL)
	o.Secret = func() (string, bool) { return "", false }
	_, _ = run(t, o)
	from.add(1)
	h.until(t, "an event", func() bool { return len(h.bodies) == 1 })
	if _, ok := h.heads[0][SignatureHeader]; ok ||
		!strings.Contains(log.String(), "without a signature") {
		t.Errorf("%v; log: %s", h.heads[0], log)
	}
}

// noDisk is a file that takes nothing while it is told so.
type noDisk struct {
	files.File
	full *bool
	mu   *sync.Mutex
}

func (f noDisk) Write(b []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if *f.full {
		return 0, syscall.ENOSPC
	}
	return f.File.Write(b)
}

// TestFullDisk: events are shown although they cannot be stored, and are stored and sent later;
// those that were forgotten meanwhile are counted.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	h, from := newTaker(t), newSource()
	var mu sync.Mutex
	full := true
	o := options(t.TempDir(), from, io.Discard, h.URL)
	o.openFile = func(path string, flag int) (files.File, error) {
		f, err := files.OpenFile(path, flag)
		return noDisk{f, &full, &mu}, err
	}
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	from.add(5)
	for range 3 {
		if n, err := s.take(); n != 0 || !files.NoRoom(err) {
			t.Fatalf("%d were stored, %v", n, err)
		}
	}
	if _, why := s.Trouble(); why == nil || !strings.Contains(*why, "no space left") ||
		from.released != 5 {
		t.Errorf("trouble %v; released up to %d", why, from.released)
	}
	full = false
	if n, err := s.take(); n != 5 || err != nil {
		t.Errorf("%d were stored, %v", n, err)
	}
	if _, why := s.Trouble(); why != nil {
		t.Errorf("trouble: %s", *why)
	}
	from.add(20)
	from.forgot = 15
	if n, err := s.take(); n != 10 || err != nil {
		t.Errorf("%d were stored, %v", n, err)
	}
	if err := s.Finish(); err != nil {
		t.Error(err)
	}
	got := h.ids(t)
	if len(got) != 15 || got[4] != 5 || got[5] != 16 || got[14] != 25 {
		t.Errorf("events arrived: %v", got)
	}
	if state := s.State(time.Now())[0]; state.LostTotal != 10 || state.LostAt == nil {
		t.Errorf("%+v", state)
	}
}

// TestFull: of a receiver that is away for too long the oldest events are lost, and counted.
func TestFull(t *testing.T) {
	t.Parallel()
	h, from := newTaker(t), newSource()
	h.set(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	o := options(t.TempDir(), from, io.Discard, h.URL)
	o.limits = spool.Limits{Messages: 50, Bytes: 1 << 20, Segment: 1000, Message: 1000}
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		from.add(10)
		if n, err := s.take(); n != 10 || err != nil {
			t.Fatalf("%d were stored, %v", n, err)
		}
	}
	state := s.State(time.Now())[0]
	if state.LostTotal < 150 || state.LostTotal+state.Queued != 200 || state.LostAt == nil {
		t.Errorf("%+v", state)
	}
	h.set(nil)
	if err := s.Finish(); err != nil {
		t.Error(err)
	}
	h.wants(t, uint64(state.LostTotal)+1, 200)
}

// TestFinish sends what came last, and does not wait for a receiver when the node is to end at
// once.
func TestFinish(t *testing.T) {
	t.Parallel()
	h, from, dir := newTaker(t), newSource(), t.TempDir()
	hangs, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = hangs.Close() }()
	stop := make(chan struct{})
	o := options(dir, from, io.Discard, h.URL, "http://"+hangs.Addr().String())
	o.Stop = stop
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	from.add(250)
	done := make(chan error)
	go func() { done <- s.Finish() }()
	h.until(t, "250 events", func() bool { return len(h.bodies) == 250 })
	h.wants(t, 1, 250)
	drained(t, s) // of the last one the answer may be on its way
	close(stop)
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Fatal("Finish waits although the node is to end at once")
	}
	if states := s.State(time.Now()); states[0].Queued != 0 || states[1].Queued != 250 {
		t.Errorf("%+v", states)
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	s, err := Open(options(t.TempDir(), newSource(), io.Discard))
	if s != nil || err != nil {
		t.Error(s, err)
	}
	s.Run(t.Context())
	if err := s.Finish(); err != nil || len(s.State(time.Now())) != 0 {
		t.Error(err)
	}
	if _, err := Open(options(t.TempDir(), newSource(), io.Discard, "ftp://a.test/")); err == nil {
		t.Error("no error")
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(options(file, newSource(), io.Discard, "http://a.test/")); err == nil {
		t.Error("no error")
	}
}
