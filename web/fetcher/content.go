package fetcher

import (
	"bytes"
	"fmt"
	"io"
)

// Content undoes the content codings of a payload that was stored as it came; codings are the
// values of its Content-Encoding header. What would be longer than limit is cut there, and cut is
// true. A payload that is not in the coding that it names is returned as it is.
func Content(payload []byte, codings []string, limit int64) (content []byte, cut bool, err error) {
	names, err := codingsOf(codings)
	if err != nil {
		return nil, false, err
	}
	if len(names) == 0 || len(payload) == 0 {
		return payload, false, nil
	}
	s := stack{d: new(decoders), limit: limit}
	defer s.free()
	defer func() {
		if cause := recover(); cause != nil { // hostile input to a decoder that is not ours
			s.frees = nil
			content, err = nil, fmt.Errorf("the decoder gave up: %v", cause)
		}
	}()
	out := s.build(bytes.NewReader(payload), names)
	switch {
	case s.depth == 0 && s.err == nil, s.err != nil && plain(payload):
		return payload, false, nil
	case s.err != nil:
		return nil, false, s.err
	}
	content, err = io.ReadAll(io.LimitReader(out, limit+1))
	if int64(len(content)) > limit {
		return content[:limit], true, nil
	}
	if err != nil && plain(payload) {
		return payload, false, nil
	}
	return content, s.cut, err
}
