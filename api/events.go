package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"crawlnode/api/plaintext"
	"crawlnode/crawl"
)

const (
	// maxEvents bounds one list of events.
	maxEvents = 1000
	// maxStreams bounds the readers of streams of events, each a connection.
	maxStreams = 64
	// heartbeat is how often an idle stream sends a comment.
	heartbeat = 15 * time.Second
	// streamPatience is the time limit of a write to a client. A client that does not read is
	// dropped, and may resume with Last-Event-ID.
	streamPatience = 10 * time.Second
	// streamRetry is how long a client is told to wait before it reconnects.
	streamRetry = 2 * time.Second
)

// listEvents answers with a list, or with an endless stream.
func (s *server) listEvents(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	after, limit, problem := eventRange(query.Get("after"), r.Header.Get("Last-Event-ID"),
		query.Get("limit"))
	if problem != "" {
		writeProblem(w, http.StatusBadRequest, problem)
		return
	}
	switch format := query.Get("format"); format {
	case "json":
		events, err := s.backend.Events(r.Context(), after, limit)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		writeJSON(w, orEmpty(events))
	case "", "sse":
		s.streamEvents(w, r, after, limit)
	default:
		writeProblem(w, http.StatusBadRequest,
			"format must be sse or json, not "+plaintext.Escape(plaintext.Cut(format)))
	}
}

// eventRange reads the position at which a client wants to start. A browser that reconnects sends
// it in a header, which is newer than the address.
func eventRange(after, last, limit string) (id uint64, n int, problem string) {
	if last != "" {
		after = last
	}
	if after != "" {
		var err error
		if id, err = strconv.ParseUint(after, 10, 64); err != nil {
			return 0, 0, "after and Last-Event-ID must be the id of an event, not " +
				plaintext.Escape(plaintext.Cut(after))
		}
	}
	n = maxEvents
	if limit != "" {
		wanted, err := strconv.ParseUint(limit, 10, 16)
		if err != nil || wanted == 0 || wanted > maxEvents {
			return 0, 0, "limit must be a number from 1 to " + strconv.Itoa(maxEvents) + ", not " +
				plaintext.Escape(plaintext.Cut(limit))
		}
		n = int(wanted)
	}
	return id, n, ""
}

// streamEvents sends events as they come. Nothing is stored for a client: each round asks for the
// events after the last one sent, so a slow client costs a connection and no memory.
func (s *server) streamEvents(w http.ResponseWriter, r *http.Request, after uint64, limit int) {
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		w.Header().Set("Retry-After", "10")
		writeProblem(w, http.StatusServiceUnavailable, fmt.Sprintf(
			"%d clients already follow the events of this node: ask another node, or use ?format=json",
			maxStreams))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // for a proxy in between
	st := &stream{w: w, control: http.NewResponseController(w)}
	if r.Method == http.MethodHead {
		return
	}
	st.send(fmt.Appendf(nil, "retry: %d\n\n", streamRetry.Milliseconds()))
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for st.err == nil {
		news := s.backend.EventNews() // before the query, or an event in between would wait
		events, err := s.backend.Events(r.Context(), after, limit)
		if err != nil {
			return // the client reconnects
		}
		for _, e := range events {
			st.send(eventText(e))
			after, limit = e.ID, maxEvents
		}
		if len(events) > 0 {
			continue
		}
		limit = maxEvents
		select {
		case <-news:
		case <-beat.C:
			st.send([]byte(": still here\n\n"))
		case <-r.Context().Done():
			return
		case <-ending(r.Context()):
			return
		}
	}
}

// eventText is an event on a stream.
func eventText(e crawl.Event) []byte {
	data, err := json.Marshal(e)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return fmt.Appendf(nil, "id: %d\ndata: %s\n\n", e.ID, data)
}

// stream writes pieces that the client gets at once.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	err     error // of the first write that failed
}

func (s *stream) send(text []byte) {
	if s.err != nil {
		return
	}
	_ = s.control.SetWriteDeadline(time.Now().Add(streamPatience)) // a recorder in a test has none
	if _, s.err = s.w.Write(text); s.err == nil {
		s.err = s.control.Flush()
	}
}

// endingKey is the context key of ending.
type endingKey struct{}

// ending is closed when the server starts to stop: endless answers must end then.
func ending(ctx context.Context) <-chan struct{} {
	c, _ := ctx.Value(endingKey{}).(<-chan struct{})
	return c
}
