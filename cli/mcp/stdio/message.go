package stdio

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// MaxBatch bounds the messages of an array.
const MaxBatch = 64

// null is the id of an answer to what has none.
var null = json.RawMessage("null")

// problem is what is wrong with a message, as an answer.
type problem struct {
	id   json.RawMessage
	code int64
	text string
}

func invalid(id json.RawMessage, format string, args ...any) *problem {
	return &problem{id, jsonrpc.CodeInvalidRequest, fmt.Sprintf(format, args...)}
}

// message is one message of a line: a request, or what is wrong with it, or, with neither, an
// answer, of which none is awaited.
type message struct {
	request *jsonrpc.Request
	raw     json.RawMessage // the id of the request as it was written; nil: a notification
	wrong   *problem
	bytes   int
}

// asksForAnswer reports whether somebody waits for an answer.
func (m *message) asksForAnswer() bool {
	return m.wrong != nil || m.request != nil && m.request.IsCall()
}

// messages are those of a line; batch says that they came as an array.
func messages(line []byte) (list []message, batch bool) {
	line = bytes.Trim(line, " \t\r")
	unread := func(text string) []message {
		return []message{{wrong: &problem{null, jsonrpc.CodeParseError, text}}}
	}
	switch {
	case len(line) == 0:
		return nil, false
	case !utf8.Valid(line):
		return unread("parse error: the line is not UTF-8"), false
	}
	if err := json.Unmarshal(line, new(json.RawMessage)); err != nil {
		return unread(fmt.Sprintf("parse error: the line is not JSON: %v", err)), false
	}
	if line[0] != '[' {
		return []message{parse(line)}, false
	}
	var raws []json.RawMessage
	if err := json.Unmarshal(line, &raws); err != nil {
		panic("BUG: valid JSON that begins with [ is no array: " + err.Error())
	}
	if len(raws) == 0 || len(raws) > MaxBatch {
		return []message{{wrong: invalid(null, "an array has 1 to %d messages, and this one has %d",
			MaxBatch, len(raws))}}, false
	}
	for _, raw := range raws {
		list = append(list, parse(raw))
	}
	return list, true
}

// envelope are the members of a message as they were written; nil: the member is missing.
type envelope struct{ version, id, method, params, result, failure json.RawMessage }

// open takes the members of an object. Their names count letter by letter, and each may come once:
// what two readers would read differently is refused.
func (e *envelope) open(object []byte) error {
	d := json.NewDecoder(bytes.NewReader(object))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return errors.New("a message is a JSON object")
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		var member *json.RawMessage
		switch name {
		case "jsonrpc":
			member = &e.version
		case "id":
			member = &e.id
		case "method":
			member = &e.method
		case "params":
			member = &e.params
		case "result":
			member = &e.result
		case "error":
			member = &e.failure
		default:
			continue
		}
		if *member != nil {
			return fmt.Errorf("the member %q is there twice", name)
		}
		*member = value
	}
	if _, err := d.Token(); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// needParams are the methods of which a call without params is one with invalid params; the SDK
// calls it an invalid request.
var needParams = map[string]bool{"initialize": true, "tools/call": true}

// parse reads one message.
func parse(raw json.RawMessage) message {
	var e envelope
	m := message{bytes: len(raw)}
	err := e.open(raw)
	id := jsonrpc.ID{}
	answerTo := null
	if e.id != nil {
		var idErr error
		if id, idErr = readID(e.id); idErr == nil {
			answerTo = e.id
		} else if err == nil {
			err = idErr
		}
	}
	if err != nil {
		m.wrong = invalid(answerTo, "invalid request: %v", err)
		return m
	}
	var version, method string
	switch {
	case json.Unmarshal(e.version, &version) != nil || version != "2.0":
		m.wrong = invalid(answerTo, `invalid request: the member "jsonrpc" must be "2.0"`)
		return m
	case e.method == nil && (e.result != nil || e.failure != nil):
		return m
	case e.method == nil || e.method[0] != '"' || json.Unmarshal(e.method, &method) != nil:
		m.wrong = invalid(answerTo, `invalid request: the member "method" must be a string`)
		return m
	}
	missing := e.params == nil || bytes.Equal(e.params, null)
	if missing && id.IsValid() && needParams[method] {
		m.wrong = &problem{answerTo, jsonrpc.CodeInvalidParams,
			`invalid params: the member "params" is missing`}
		return m
	}
	m.request = &jsonrpc.Request{ID: id, Method: method, Params: e.params}
	m.raw = e.id
	return m
}

// plainNumber are the numbers that pass through the SDK unharmed: whole ones that a float64 holds.
var plainNumber = regexp.MustCompile(`^(0|-?[1-9][0-9]{0,14})$`)

// The SDK has ids as strings and int64. Numbers that are neither travel as strings with
// numberMark, and strings that begin as these do with stringMark.
const (
	numberMark = "\x00n"
	stringMark = "\x00s"
)

// readID reads an id. Of numbers the form counts: 1 and 1.0 are two ids.
func readID(raw json.RawMessage) (jsonrpc.ID, error) {
	var v any
	switch c := raw[0]; {
	case c == '"':
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return jsonrpc.ID{}, err
		}
		if strings.HasPrefix(s, "\x00") {
			s = stringMark + s
		}
		v = s
	case plainNumber.Match(raw):
		var n float64
		if err := json.Unmarshal(raw, &n); err != nil {
			return jsonrpc.ID{}, err
		}
		v = n
	case c == '-' || c >= '0' && c <= '9':
		v = numberMark + string(raw)
	default:
		return jsonrpc.ID{}, errors.New(`the member "id" must be a string or a number`)
	}
	return jsonrpc.MakeID(v)
}

// cancelled is the id of the call that a notification takes back, if it is a notification of that.
func cancelled(r *jsonrpc.Request) (id jsonrpc.ID, is bool) {
	if r.Method != "notifications/cancelled" || r.IsCall() {
		return id, false
	}
	var params struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(r.Params, &params) != nil || params.RequestID == nil {
		return id, true
	}
	id, _ = readID(params.RequestID) // an invalid one is of no call
	return id, true
}
