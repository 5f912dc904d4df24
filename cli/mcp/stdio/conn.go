package stdio

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// MaxOpen bounds the calls that are open at the same time.
	MaxOpen = 64
	// maxMessage bounds the text of an error, in bytes: it may repeat what was sent.
	maxMessage = 500
	// grace is how long calls may take that are open when Stop is closed.
	grace = 5 * time.Second
)

// Transport is one session over two streams. It may be connected once.
type Transport struct {
	In  io.Reader
	Out io.Writer
	// Stop ends the reading when it is closed, as the end of In does; what is open then has 5 s.
	Stop <-chan struct{}
	// Clean makes a text harmless that repeats what was sent; nil: it is as it is.
	Clean func(string) string
}

// Connect implements mcp.Transport.
func (t *Transport) Connect(context.Context) (mcp.Connection, error) {
	c := &conn{
		out: t.Out, stop: t.Stop, clean: t.Clean, lines: make(chan lineOrError),
		closed: make(chan struct{}), freed: make(chan struct{}, 1), open: map[jsonrpc.ID]*call{},
	}
	go c.read(newLineReader(t.In)) // ends with In, or after Close with the read that goes on
	return c, nil
}

type lineOrError struct {
	line []byte
	err  error
}

// call is a request that is not answered yet.
type call struct {
	raw       json.RawMessage // its id as it was written
	bytes     int
	batch     *batch // nil: it came alone
	cancelled bool   // nobody waits for the answer
}

// batch gathers the answers to the messages of an array.
type batch struct {
	left    int // answers that are missing
	answers []json.RawMessage
}

// conn implements mcp.Connection. Read is called by one goroutine, Write by many.
type conn struct {
	out    io.Writer
	stop   <-chan struct{}
	clean  func(string) string
	lines  chan lineOrError // without room
	closed chan struct{}    // Close closes it
	once   sync.Once
	freed  chan struct{} // of capacity 1: look at open again

	// Only Read uses these.
	rest  []message // of the line
	batch *batch    // of rest

	mu    sync.Mutex // guards what follows, and the answers of batches; never held while writing
	open  map[jsonrpc.ID]*call
	bytes int // of the open calls

	writing sync.Mutex // held while a line is written; taken without mu
}

func (c *conn) read(in *lineReader) {
	for {
		line, err := in.next()
		select {
		case c.lines <- lineOrError{line, err}:
		case <-c.closed:
			return
		}
		if err != nil && !errors.Is(err, errLong) {
			return
		}
	}
}

// SessionID implements mcp.Connection: there is one session, without a name.
func (*conn) SessionID() string { return "" }

// Close implements mcp.Connection. The streams stay open: they are the caller's.
func (c *conn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

// Read implements mcp.Connection: the next request or notification. io.EOF: there is none, and
// everything is answered.
func (c *conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		if err := c.await(ctx, c.stop, c.hasRoom); err != nil {
			return nil, c.end(ctx, err)
		}
		if len(c.rest) > 0 {
			m := c.rest[0]
			c.rest = c.rest[1:]
			r, err := c.take(&m)
			if r != nil || err != nil {
				return r, err
			}
			continue
		}
		select {
		case l := <-c.lines:
			if err := c.begin(l); err != nil {
				return nil, c.end(ctx, err)
			}
		case <-c.stop:
			return nil, c.end(ctx, errStopped)
		case <-c.closed:
			return nil, io.EOF
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// errStopped says that Stop was closed.
var errStopped = errors.New("stopped")

// begin takes a line apart.
func (c *conn) begin(l lineOrError) error {
	if errors.Is(l.err, errLong) {
		return c.answer(
			nil,
			null,
			&problem{null, jsonrpc.CodeParseError, "parse error: " + l.err.Error()},
		)
	}
	if l.err != nil {
		return l.err
	}
	list, isBatch := messages(l.line)
	c.rest, c.batch = list, nil
	if !isBatch {
		return nil
	}
	c.batch = &batch{}
	for i := range list {
		if list[i].asksForAnswer() {
			c.batch.left++
		}
	}
	return nil
}

// take passes a message on, or answers it itself. Neither: nobody waits for anything.
func (c *conn) take(m *message) (jsonrpc.Message, error) {
	switch {
	case m.wrong != nil:
		return nil, c.answer(c.batch, m.wrong.id, m.wrong)
	case m.request == nil:
		return nil, nil
	}
	if id, is := cancelled(m.request); is {
		return c.cancel(id)
	}
	if !m.request.IsCall() {
		return m.request, nil
	}
	c.mu.Lock()
	_, used := c.open[m.request.ID]
	if !used {
		c.open[m.request.ID] = &call{raw: m.raw, bytes: m.bytes, batch: c.batch}
		c.bytes += m.bytes
	}
	c.mu.Unlock()
	if used {
		return nil, c.answer(c.batch, null,
			invalid(null, "invalid request: the id %s is that of a call which is not answered yet", m.raw))
	}
	return m.request, nil
}

// cancel has the SDK break off a call, of which it tells by an id of its own form.
func (c *conn) cancel(id jsonrpc.ID) (jsonrpc.Message, error) {
	c.mu.Lock()
	of := c.open[id]
	if of != nil && of.batch == nil { // those who sent an array wait for all of it
		of.cancelled = true
	}
	c.mu.Unlock()
	if of == nil {
		return nil, nil
	}
	params, err := json.Marshal(map[string]any{"requestId": id.Raw()})
	if err != nil {
		return nil, err
	}
	return &jsonrpc.Request{Method: "notifications/cancelled", Params: params}, nil
}

// end waits until all open calls are answered. It returns the error with which Read ends.
func (c *conn) end(ctx context.Context, why error) error {
	var late <-chan struct{}
	if errors.Is(why, errStopped) {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		late = limited.Done()
		why = io.EOF
	}
	_ = c.await(ctx, late, c.isIdle) // whatever ends it, nothing is read any more
	if errors.Is(why, io.EOF) {
		return io.EOF
	}
	return fmt.Errorf("the session ends: %w", why)
}

// await waits until a condition on the open calls holds.
func (c *conn) await(ctx context.Context, stop <-chan struct{}, holds func() bool) error {
	for !holds() {
		select {
		case <-c.freed:
		case <-stop:
			return errStopped
		case <-c.closed:
			return io.EOF
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (c *conn) hasRoom() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open) < MaxOpen && c.bytes < MaxLine
}

func (c *conn) isIdle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open) == 0
}

// Write implements mcp.Connection.
func (c *conn) Write(ctx context.Context, msg jsonrpc.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r, ok := msg.(*jsonrpc.Response)
	if !ok {
		line, err := jsonrpc.EncodeMessage(msg)
		if err != nil {
			return fmt.Errorf("writing a message as JSON: %w", err)
		}
		return c.line(line)
	}
	c.mu.Lock()
	of := c.open[r.ID]
	if of != nil {
		delete(c.open, r.ID) // before the answer, after which its id may be used again
		c.bytes -= of.bytes
	}
	c.mu.Unlock()
	defer c.look() // after the answer: Read ends the session when nothing is open
	switch {
	case of == nil || of.cancelled:
		return nil
	case r.Error != nil:
		return c.answer(of.batch, of.raw, problemOf(r.Error))
	}
	return c.answer(of.batch, of.raw, r.Result)
}

// look has Read look at the open calls again.
func (c *conn) look() {
	select {
	case c.freed <- struct{}{}:
	default:
	}
}

// problemOf is an error of the SDK as an answer. What has no code came before the session had
// begun, or was broken off.
func problemOf(err error) *problem {
	p := &problem{code: jsonrpc.CodeInvalidRequest, text: err.Error()}
	if coded := (*jsonrpc.Error)(nil); errors.As(err, &coded) && coded.Code != 0 {
		p.code = coded.Code
	} else if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		p.code = jsonrpc.CodeInvalidParams // the message itself is well formed: its parameters are not
	} else if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		p.code = jsonrpc.CodeInternalError
	}
	return p
}

// answer writes the answer to a message, when the others of its array are there. what is a
// *problem, or the JSON of a result.
func (c *conn) answer(to *batch, id json.RawMessage, what any) error {
	wire := struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  json.RawMessage `json:"result,omitempty"`
		Error   *jsonrpc.Error  `json:"error,omitempty"`
	}{Version: "2.0", ID: id}
	switch what := what.(type) {
	case *problem:
		wire.Error = &jsonrpc.Error{Code: what.code, Message: c.text(what.text)}
	case json.RawMessage:
		wire.Result = what
	}
	text, err := encode(wire)
	if err != nil {
		return err
	}
	if to == nil {
		return c.line(text)
	}
	c.mu.Lock()
	to.answers = append(to.answers, text)
	to.left--
	whole := to.left == 0
	c.mu.Unlock()
	if !whole {
		return nil
	}
	if text, err = encode(to.answers); err != nil {
		return err
	}
	return c.line(text)
}

// text is what is said of an error.
func (c *conn) text(s string) string {
	if len(s) > maxMessage {
		s = strings.ToValidUTF8(s[:maxMessage], "") + "..."
	}
	if c.clean != nil {
		s = c.clean(s)
	}
	return s
}

// encode is a value as JSON of one line; <, > and & stay as they are.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("writing an answer as JSON: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// line writes a line at once: an answer is never mixed with another.
func (c *conn) line(text []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	if _, err := c.out.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("writing an answer: %w", err)
	}
	return nil
}
