package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"crawlnode/crawl"
)

// fakeEvents are the events of a fakeNode, in order of their ids.
type fakeEvents struct {
	mu   sync.Mutex
	list []crawl.Event
	news chan struct{}
}

func (f *fakeEvents) add(ids ...uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range ids {
		f.list = append(f.list, crawl.Event{
			ID:      id,
			Level:   crawl.EventInfo,
			Code:    crawl.EventJoined,
			Message: "one\ntwo\x1b",
			Node:    "n1",
			Fields:  map[string]any{"view": id},
		})
	}
	if f.news != nil {
		close(f.news)
		f.news = nil
	}
}

func (f *fakeNode) Events(_ context.Context, after uint64, limit int) ([]crawl.Event, error) {
	f.events.mu.Lock()
	defer f.events.mu.Unlock()
	var behind []crawl.Event
	for _, e := range f.events.list {
		if e.ID > after {
			behind = append(behind, e)
		}
	}
	if after == 0 {
		return behind[max(len(behind)-limit, 0):], f.err
	}
	return behind[:min(limit, len(behind))], f.err
}

func (f *fakeNode) EventNews() <-chan struct{} {
	f.events.mu.Lock()
	defer f.events.mu.Unlock()
	if f.events.news == nil {
		f.events.news = make(chan struct{})
	}
	return f.events.news
}

//race:meets
func TestEventList(t *testing.T) {
	t.Parallel()
	node := &fakeNode{}
	node.events.add(5, 6, 7, 9)
	h := New(node, Options{})
	for _, tc := range []struct {
		query, ids string
		headers    []string
	}{
		{"", "5 6 7 9", nil},
		{"&limit=2", "7 9", nil},
		{"&after=5&limit=2", "6 7", nil},
		{"&after=7", "9", nil},
		{"&after=9", "", nil},
		{"&after=5", "9", []string{"Last-Event-ID: 8"}},
	} {
		w := ask(h, "GET", "/api/v1/events?format=json"+tc.query, "", tc.headers...)
		var events []crawl.Event
		if err := json.Unmarshal(w.Body.Bytes(), &events); err != nil || events == nil {
			t.Fatalf("%s: %v %s", tc.query, err, w.Body)
		}
		var ids []string
		for _, e := range events {
			ids = append(ids, fmt.Sprint(e.ID))
		}
		if got := strings.Join(ids, " "); got != tc.ids {
			t.Errorf("%q %v: %s, want %s", tc.query, tc.headers, got, tc.ids)
		}
	}
	for _, query := range []string{"after=-1", "after=x", "limit=0", "limit=1001", "limit=x",
		"format=xml"} {
		if w := ask(h, "GET", "/api/v1/events?"+query, ""); w.Code != 400 ||
			w.Header().Get("Content-Type") != problemType {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
		}
	}
	node.err = errors.New("cannot now")
	if w := ask(h, "GET", "/api/v1/events?format=json", ""); w.Code != 503 {
		t.Errorf("failing: %d", w.Code)
	}
}

// serveEvents serves a node's API on loopback; cancel starts its end, and done is closed at the
// end.
func serveEvents(t *testing.T, node *fakeNode) (url string, cancel func(), done chan struct{}) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done = make(chan struct{})
	go func() {
		defer close(done)
		if err := Serve(ctx, l, New(node, Options{})); err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	return "http://" + l.Addr().String() + "/api/v1/events", cancel, done
}

// brokenOff is the last line of a stream that did not end as it should.
const brokenOff = "broken off: "

// follow opens a stream. Its lines come over the channel, which is closed with it.
func follow(t *testing.T, url, last string) <-chan string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%d %v", resp.StatusCode, resp.Header)
	}
	lines := make(chan string, 100)
	go func() {
		defer close(lines)
		s := bufio.NewScanner(resp.Body)
		for s.Scan() {
			lines <- s.Text()
		}
		if err := s.Err(); err != nil {
			lines <- brokenOff + err.Error()
		}
	}()
	return lines
}

// wantIDs reads events until the ids have come, in this order.
func wantIDs(t *testing.T, lines <-chan string, ids ...uint64) {
	t.Helper()
	for _, id := range ids {
		for line := range lines {
			if got, ok := strings.CutPrefix(line, "id: "); ok {
				if got != fmt.Sprint(id) {
					t.Fatalf("event %s, want %d", got, id)
				}
				var e crawl.Event
				data, ok := strings.CutPrefix(<-lines, "data: ")
				if err := json.Unmarshal([]byte(data), &e); !ok || err != nil || e.ID != id {
					t.Fatalf("data of %d: %s, %v", id, data, err)
				}
				break
			}
		}
	}
}

func TestEventStream(t *testing.T) {
	t.Parallel()
	node := &fakeNode{}
	node.events.add(5, 6)
	url, cancel, done := serveEvents(t, node)
	first := follow(t, url, "")
	wantIDs(t, first, 5, 6)
	node.events.add(7)
	wantIDs(t, first, 7)
	wantIDs(t, follow(t, url, "6"), 7)           // a client that reconnects
	wantIDs(t, follow(t, url+"?after=5", ""), 6) // a client that knows its position
	cancel()
	<-done
	for line := range first { // a stream that holds the end up is cut off after two seconds
		if strings.HasPrefix(line, brokenOff) {
			t.Error(line)
		}
	}
}

func TestEventStreamsAreBounded(t *testing.T) {
	t.Parallel()
	url, _, _ := serveEvents(t, &fakeNode{})
	for range maxStreams {
		follow(t, url, "")
	}
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" ||
		resp.Header.Get("Content-Type") != problemType {
		t.Errorf("%d %v", resp.StatusCode, resp.Header)
	}
}
