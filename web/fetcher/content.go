package fetcher

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Content undoes the content codings of a payload that was stored as it came; codings are the
// values of its Content-Encoding header. What would be longer than limit bytes, or than the ratio
// that a fetch allows, is cut there, and cut is true: no more is unpacked, and the memory is at
// most one and a half times what is returned. A payload without codings is cut at limit as well. A
// payload that is not in the coding that it names is returned as it is, and bytes behind the coded
// ones are ignored, as Fetcher.Do does.
func Content(payload []byte, codings []string, limit int64) (content []byte, cut bool, err error) {
	names, err := codingsOf(codings)
	if err != nil {
		return nil, false, err
	}
	if len(names) == 0 || len(payload) == 0 {
		content, cut = upTo(payload, limit)
		return content, cut, nil
	}
	limit = min(limit, unpackedMost(len(payload), defaultRatio))
	s := stack{d: &contentDecoders, limit: max(limit, ratioFreeBytes)}
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
		content, cut = upTo(payload, limit)
		return content, cut, nil
	case s.err != nil:
		return nil, false, s.err
	}
	content, cut, err = readUpTo(out, limit, 4*int64(len(payload)))
	if cut {
		return content, true, nil
	}
	if err != nil && plain(payload) {
		content, cut = upTo(payload, limit)
		return content, cut, nil
	}
	return content, s.cut, err
}

// contentDecoders are shared by all calls of Content.
var contentDecoders decoders

// unpackedMost is how many bytes a payload may unpack to.
func unpackedMost(payload int, ratio int64) int64 {
	return max(ratioFreeBytes, ratio*int64(payload))
}

// upTo cuts b at limit.
func upTo(b []byte, limit int64) (kept []byte, cut bool) {
	if int64(len(b)) > limit {
		return b[:limit:limit], true
	}
	return b, false
}

// readUpTo reads at most limit bytes; cut says that there are more. expect is a guess of the size.
// The buffer doubles, but never beyond limit: io.ReadAll would grow past it.
func readUpTo(r io.Reader, limit, expect int64) (content []byte, cut bool, err error) {
	content = make([]byte, 0, min(limit, max(expect, 512), firstRead))
	for {
		if int64(len(content)) == limit {
			var more [1]byte
			n, err := io.ReadFull(r, more[:])
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return content, n > 0, err
		}
		if len(content) == cap(content) {
			grown := make([]byte, len(content), min(2*int64(cap(content)), limit))
			copy(grown, content)
			content = grown
		}
		n, err := r.Read(content[len(content):cap(content)])
		content = content[:len(content)+n]
		if errors.Is(err, io.EOF) {
			return content, false, nil
		}
		if err != nil {
			return content, false, err
		}
	}
}

// firstRead bounds what is allocated before anything was unpacked.
const firstRead = 1 << 20
