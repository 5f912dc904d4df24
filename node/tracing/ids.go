package tracing

import (
	"encoding/binary"
	"math"

	"github.com/zeebo/xxh3"
	"go.opentelemetry.io/otel/trace"

	"crawlnode/web/urlnorm"
)

// Sampler says which URLs are traced, and names their traces. It is immutable, and safe for
// concurrent use.
type Sampler struct {
	seed  uint64
	below uint64 // traced when the hash is below
	match []func(urlnorm.URL) bool
}

// NewSampler makes the sampler of a cluster. share is the part of URLs that is traced, 0 to 1; a
// URL that match accepts is always traced. Samplers with the same cluster name agree on all names
// of traces, and the sample of a larger share contains that of a smaller one.
func NewSampler(cluster string, share float64, match []func(urlnorm.URL) bool) *Sampler {
	s := &Sampler{seed: xxh3.HashString(cluster), match: match}
	switch {
	case share >= 1:
		s.below = math.MaxUint64
	case share > 0:
		s.below = uint64(share * math.MaxUint64)
	}
	return s
}

// Trace is the id of a URL's trace; ok: the URL is traced.
func (s *Sampler) Trace(u urlnorm.URL) (id trace.TraceID, ok bool) {
	id, ok = s.drawn(u.String())
	for i := 0; !ok && i < len(s.match); i++ {
		ok = s.match[i](u)
	}
	return id, ok
}

// stored is Trace of a canonical URL as text.
func (s *Sampler) stored(text string) (id trace.TraceID, ok bool) {
	if id, ok = s.drawn(text); ok || len(s.match) == 0 {
		return id, ok
	}
	u, err := urlnorm.ParseStored(text)
	if err != nil {
		return id, false // whoever receives it says so
	}
	return s.Trace(u)
}

// drawn is the id of a URL's trace; ok: the URL is in the sample.
func (s *Sampler) drawn(url string) (id trace.TraceID, ok bool) {
	h := xxh3.HashString128Seed(url, s.seed)
	binary.BigEndian.PutUint64(id[:8], h.Hi)
	binary.BigEndian.PutUint64(id[8:], h.Lo|1) // an id of zeros is invalid
	return id, h.Lo < s.below
}

// root is the id of a trace's root span.
func root(t trace.TraceID) (id trace.SpanID) {
	binary.BigEndian.PutUint64(id[:], xxh3.Hash(t[:])|1)
	return id
}
