package stdio

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// output gathers what is written.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// connect opens a connection.
func connect(t *testing.T, tr *Transport) mcp.Connection {
	t.Helper()
	c, err := tr.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() }) // it never fails
	return c
}

// echo answers each request with its method, and returns those methods and those of notifications.
func echo(t *testing.T, in string) (out string, methods []string) {
	t.Helper()
	var o output
	c := connect(t, &Transport{In: strings.NewReader(in), Out: &o})
	for {
		msg, err := c.Read(t.Context())
		if errors.Is(err, io.EOF) {
			return o.String(), methods
		}
		if err != nil {
			t.Fatal(err)
		}
		r, ok := msg.(*jsonrpc.Request)
		if !ok {
			t.Fatalf("%T was passed on", msg)
		}
		methods = append(methods, r.Method)
		if r.IsCall() {
			result, err := json.Marshal(r.Method)
			if err == nil {
				err = c.Write(t.Context(), &jsonrpc.Response{ID: r.ID, Result: result})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// problems shortens answers with errors to "ID CODE", others to "ID RESULT".
func problems(t *testing.T, out string) string {
	t.Helper()
	type answer struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  json.RawMessage `json:"result"`
		Error   *jsonrpc.Error  `json:"error"`
	}
	short := func(raw json.RawMessage) string {
		var a answer
		if err := json.Unmarshal(raw, &a); err != nil || a.Version != "2.0" || len(a.ID) == 0 {
			t.Fatalf("no answer: %s (%v)", raw, err)
		}
		if a.Error != nil {
			if a.Error.Message == "" || a.Result != nil {
				t.Errorf("an error without words, or with a result: %s", raw)
			}
			return fmt.Sprintf("%s %d", a.ID, a.Error.Code)
		}
		return fmt.Sprintf("%s %s", a.ID, a.Result)
	}
	var all []string
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, "[") {
			all = append(all, short(json.RawMessage(line)))
			continue
		}
		var list []json.RawMessage
		if err := json.Unmarshal([]byte(line), &list); err != nil {
			t.Fatal(err)
		}
		var group []string
		for _, raw := range list {
			group = append(group, short(raw))
		}
		all = append(all, "["+strings.Join(group, ", ")+"]")
	}
	return strings.Join(all, "; ")
}

func ping(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}` }

// TestAnswers: each line is answered as doc.go says, and the next one is read.
func TestAnswers(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001)
	for _, c := range []struct{ name, line, want string }{
		{"a request", ping("1"), `1 "ping"`},
		{"spaces around it", " \t" + ping("1") + "\r", `1 "ping"`},
		{"blank", " \r", ""},
		{"no JSON", "no", "null -32700"},
		{"half of it", `{"jsonrpc":"2.0","id":1`, "null -32700"},
		{"two of it", ping("1") + ping("2"), "null -32700"},
		{"no UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"ping\"}", "null -32700"},
		{"NUL", ping("1") + "\x00", "null -32700"},
		{"too deep", deep, "null -32700"},
		{"too long", ping(`"` + strings.Repeat("x", MaxLine) + `"`), "null -32700"},
		{"as deep as is read", strings.TrimSuffix(ping("1"), "}") +
			`,"params":` + deep[2:len(deep)-2] + `}`, `1 "ping"`},
		{"a number", "7", "null -32600"},
		{"a text", `"ping"`, "null -32600"},
		{"null", "null", "null -32600"},
		{"empty", "{}", "null -32600"},
		{"another version", `{"jsonrpc":"1.0","id":1,"method":"ping"}`, "1 -32600"},
		{"without a version", `{"id":1,"method":"ping"}`, "1 -32600"},
		{"without a method", `{"jsonrpc":"2.0","id":1}`, "1 -32600"},
		{"a method that is a number", `{"jsonrpc":"2.0","id":1,"method":1}`, "1 -32600"},
		{"a method that is null", `{"jsonrpc":"2.0","id":1,"method":null}`, "1 -32600"},
		{"names of members in capitals", `{"jsonrpc":"2.0","ID":1,"Method":"ping"}`, "null -32600"},
		{"a member twice", `{"jsonrpc":"2.0","id":1,"method":"ping","method":"x"}`, "1 -32600"},
		{"other members", `{"x":[],"jsonrpc":"2.0","id":1,"method":"ping","y":{"id":2}}`, `1 "ping"`},
		{"a call without params", `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, "1 -32602"},
		{"a call with null", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":null}`, "1 -32602"},
		{"a notification", `{"jsonrpc":"2.0","method":"x"}`, ""},
		{"an answer", `{"jsonrpc":"2.0","id":1,"result":{}}`, ""},
		{"a failed answer", `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}`, "null -32600"},
		{"an id that is null", ping("null"), "null -32600"},
		{"an id that is a list", ping("[1]"), "null -32600"},
		{"an id that is true", ping("true"), "null -32600"},
		{"a text as id", ping(`"é\u0007\" "`), `"é\u0007\" " "ping"`},
		{"an empty text as id", ping(`""`), `"" "ping"`},
		{"an id with our mark", ping(`"\u0000n5"`), `"\u0000n5" "ping"`},
		{"zero", ping("0"), `0 "ping"`},
		{"negative zero", ping("-0"), `-0 "ping"`},
		{"negative", ping("-17"), `-17 "ping"`},
		{"a fraction", ping("1.50"), `1.50 "ping"`},
		{"an exponent", ping("1E2"), `1E2 "ping"`},
		{"more than a float64 holds", ping("9007199254740993"), `9007199254740993 "ping"`},
		{"more than any number holds", ping("1" + strings.Repeat("0", 400)),
			"1" + strings.Repeat("0", 400) + ` "ping"`},
		{"an empty array", "[]", "null -32600"},
		{"an array", "[" + ping("1") + "," + ping("2") + "]", `[1 "ping", 2 "ping"]`},
		{"an array of notifications", `[{"jsonrpc":"2.0","method":"x"}]`, ""},
		{"a mixed array", "[" + ping("1") + `,{"jsonrpc":"2.0","method":"x"},7]`,
			`[1 "ping", null -32600]`},
		{"an array of nonsense", "[1,[" + ping("1") + "]]", `[null -32600, null -32600]`},
		{"an array that is too long", "[" + strings.Repeat("1,", MaxBatch) + "1]", "null -32600"},
		{"an id twice in an array", "[" + ping("1") + "," + ping("1") + "]", `[1 "ping", 1 "ping"]`},
	} {
		out, _ := echo(t, c.line+"\n"+ping(`"after"`))
		want := `"after" "ping"`
		if c.want != "" {
			want = c.want + "; " + want
		}
		if got := problems(t, out); got != want {
			t.Errorf("%s: %.300s, want %.300s", c.name, got, want)
		}
	}
}

// TestErrorsOfTheSDK: an error has the code that it wraps, and its text is bounded and clean.
func TestErrorsOfTheSDK(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		code int64
	}{
		{&jsonrpc.Error{Code: -32601, Message: "x"}, -32601},
		{fmt.Errorf("of old: %w", &jsonrpc.Error{Code: -32602, Message: "x"}), -32602},
		{errors.New("before the session"), -32600},
		{fmt.Errorf("it is: %w", context.Canceled), -32603},
	} {
		var o output
		tr := &Transport{In: strings.NewReader(ping("1") + "\n"), Out: &o,
			Clean: func(s string) string { return strings.ReplaceAll(s, "o", "0") }}
		conn := connect(t, tr)
		msg, err := conn.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		long := fmt.Errorf("%w: %s", c.err, strings.Repeat("o", 10_000))
		response := &jsonrpc.Response{ID: msg.(*jsonrpc.Request).ID, Error: long}
		if err := conn.Write(t.Context(), response); err != nil {
			t.Fatal(err)
		}
		if got, want := problems(t, o.String()), fmt.Sprint("1 ", c.code); got != want {
			t.Errorf("%v: %s, want %s", c.err, got, want)
		}
		if len(o.String()) > 2*maxMessage || strings.Contains(o.String(), "oo") {
			t.Errorf("%v: %d bytes: %.100s", c.err, len(o.String()), o.String())
		}
	}
}

// session is a connection whose calls wait until they are told to answer.
type session struct {
	t    *testing.T
	conn mcp.Connection
	in   *io.PipeWriter
	out  output
	stop chan struct{}
	got  chan jsonrpc.Message // what was read
	done chan struct{}        // closed after the last of it
	end  error                // how it ended, after that
}

func open(t *testing.T) *session {
	r, w := io.Pipe()
	s := &session{t: t, in: w, stop: make(chan struct{}), got: make(chan jsonrpc.Message, 10*MaxOpen),
		done: make(chan struct{})}
	tr := &Transport{In: r, Out: &s.out, Stop: s.stop}
	s.conn = connect(t, tr)
	go func() {
		defer close(s.done)
		for {
			msg, err := s.conn.Read(context.Background())
			if err != nil {
				s.end = err
				return
			}
			s.got <- msg
		}
	}()
	return s
}

// ended is how the session ended; nil: it goes on.
func (s *session) ended() error {
	select {
	case <-s.done:
		return s.end
	default:
		return nil
	}
}

func (s *session) send(lines ...string) {
	s.t.Helper()
	for _, l := range lines {
		if _, err := io.WriteString(s.in, l+"\n"); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *session) answer(id any) {
	s.t.Helper()
	made, err := jsonrpc.MakeID(id)
	if err == nil {
		err = s.conn.Write(
			context.Background(),
			&jsonrpc.Response{ID: made, Result: json.RawMessage(`"ok"`)},
		)
	}
	if err != nil {
		s.t.Error(err)
	}
}

// TestIdsInUse: the id of an open call is refused, and good again after its answer.
func TestIdsInUse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := open(t)
		s.send(ping("1"), ping(`"1"`), ping("1.0"), ping("1"))
		synctest.Wait()
		if got := problems(t, s.out.String()); got != "null -32600" || len(s.got) != 3 {
			t.Fatalf("%s after %d calls", got, len(s.got))
		}
		s.answer(1.0)
		s.send(ping("1"))
		synctest.Wait()
		if got := problems(t, s.out.String()); got != `null -32600; 1 "ok"` || len(s.got) != 4 {
			t.Errorf("%s after %d calls", got, len(s.got))
		}
		s.finish(1.0, "1", "\x00n1.0")
	})
}

// finish answers what is open and sees the session end.
func (s *session) finish(ids ...any) {
	s.t.Helper()
	_ = s.in.Close() // it never fails
	synctest.Wait()
	for _, id := range ids {
		if s.ended() != nil {
			s.t.Fatalf("the session ended before all was answered: %v", s.ended())
		}
		s.answer(id)
		synctest.Wait()
	}
	if !errors.Is(s.ended(), io.EOF) {
		s.t.Errorf("the session ended with %v", s.ended())
	}
	_ = s.conn.Close() // it never fails
}

// TestCancel: a cancellation reaches the SDK in its own form, and the call is not answered. One of
// no open call reaches nobody.
func TestCancel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := open(t)
		cancel := func(id string) string {
			return `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id +
				`,"reason":"x"}}`
		}
		s.send(ping("1.5"), ping("2"), cancel("1.5"), cancel("3"), cancel("{}"), cancel("[1"),
			`{"jsonrpc":"2.0","method":"notifications/cancelled"}`)
		synctest.Wait()
		var methods []string
		for len(s.got) > 0 {
			r := (<-s.got).(*jsonrpc.Request)
			methods = append(methods, r.Method+string(r.Params))
		}
		const want = `ping ping notifications/cancelled{"requestId":"\u0000n1.5"}`
		if got := strings.Join(methods, " "); got != want {
			t.Errorf("passed on: %s", got)
		}
		s.finish("\x00n1.5", 2.0)
		if got := problems(t, s.out.String()); got != `null -32700; 2 "ok"` {
			t.Errorf("answers: %s", got)
		}
	})
}

// TestRoom: no more than MaxOpen calls are open; the others are read when there is room.
func TestRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := open(t)
		const calls = 3 * MaxOpen
		var sent sync.WaitGroup
		sent.Go(func() {
			for i := range calls {
				s.send(ping(fmt.Sprint(i)))
			}
			_ = s.in.Close() // it never fails
		})
		for i := range calls {
			synctest.Wait()
			if n := len(s.got) - i; n > MaxOpen || n < min(MaxOpen, calls-i) {
				t.Fatalf("%d calls are open", n)
			}
			s.answer(float64(i))
		}
		sent.Wait()
		synctest.Wait()
		if !errors.Is(s.ended(), io.EOF) || strings.Count(s.out.String(), "\n") != calls {
			t.Errorf("%v after %d answers", s.ended(), strings.Count(s.out.String(), "\n"))
		}
		_ = s.conn.Close() // it never fails
	})
}

// TestRoomForBytes: a second long line waits for the answer to the first.
func TestRoomForBytes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := open(t)
		long := func(id int) string {
			return fmt.Sprintf(
				`{"jsonrpc":"2.0","id":%d,"method":"ping","params":{"x":"%s"}}`,
				id,
				strings.Repeat("x", MaxLine/2),
			)
		}
		var sent sync.WaitGroup
		sent.Go(func() { s.send(long(1), long(2), long(3), ping("4")) })
		synctest.Wait()
		if len(s.got) != 2 {
			t.Fatalf("%d calls are open", len(s.got))
		}
		s.answer(1.0)
		synctest.Wait()
		if len(s.got) != 3 {
			t.Fatalf("%d calls came", len(s.got))
		}
		s.answer(2.0)
		sent.Wait()
		s.finish(3.0, 4.0)
	})
}

// TestStop: after Stop nothing is read, and what is open has 5 s.
func TestStop(t *testing.T) {
	t.Parallel()
	for _, answered := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s := open(t)
			s.send(ping("1"))
			synctest.Wait()
			began := time.Now()
			close(s.stop)
			synctest.Wait()
			if s.ended() != nil {
				t.Fatalf("it ended with an open call: %v", s.ended())
			}
			if answered {
				s.answer(1.0)
			}
			<-s.done
			if took := time.Since(began); !errors.Is(s.ended(), io.EOF) || (took == 0) != answered ||
				took > grace {
				t.Errorf("answered %v: %v after %v", answered, s.ended(), took)
			}
			if got := strings.Count(s.out.String(), "\n"); (got == 1) != answered {
				t.Errorf("answered %v: %d answers", answered, got)
			}
			_ = s.conn.Close() // it never fails
			_ = s.in.Close()
		})
	}
}

// TestBrokenStreams: an error of the input ends the session with it, one of the output that call.
func TestBrokenStreams(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	c := connect(t, &Transport{In: r, Out: brokenWriter{}})
	go func() {
		_, _ = io.WriteString(w, ping("1")+"\n")
		_ = w.CloseWithError(errors.New("the disk is gone"))
	}()
	msg, err := c.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	response := &jsonrpc.Response{ID: msg.(*jsonrpc.Request).ID, Result: json.RawMessage("{}")}
	if err := c.Write(t.Context(), response); err == nil ||
		!strings.Contains(err.Error(), "nobody reads") {
		t.Errorf("write: %v", err)
	}
	if _, err := c.Read(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "the disk is gone") {
		t.Errorf("read: %v", err)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("nobody reads") }

// FuzzSession: whatever comes, what is written are answers, a line each; as many as there are calls
// and mistakes; and a call that comes after is answered.
func FuzzSession(f *testing.F) {
	f.Add([]byte(ping("1")))
	f.Add(
		[]byte(
			"[" + ping(
				"1",
			) + `,{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}},7]`,
		),
	)
	f.Add([]byte("{\"jsonrpc\":\"2.0\",\"id\":\"\\u0000s\",\"method\":\"\"}\n\xff\n[]\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		out, methods := echo(t, string(in)+"\n"+ping(`"the last one"`)+"\n")
		got := problems(t, out)
		if !strings.HasSuffix(got, `"the last one" "ping"`) || methods[len(methods)-1] != "ping" {
			t.Fatalf("%s", got)
		}
		lines := bufio.NewScanner(bytes.NewReader(in))
		lines.Buffer(nil, len(in)+1)
		most := 0
		for lines.Scan() {
			if len(bytes.Trim(lines.Bytes(), " \t\r")) > 0 {
				most++
			}
		}
		if n := strings.Count(out, "\n") - 1; n > most {
			t.Fatalf("%d answers to %d lines: %s", n, most, out)
		}
	})
}
