package fetcher

import (
	"errors"
	"fmt"
	"io"
	"time"
)

// This file manages the memory of payloads. Small ones use buffers that are reused, and so do a few
// of up to 1 MiB. Others use spools or, where there is no room for another spool, anonymous memory
// that they wait for.

const (
	smallBodyBytes = 64 << 10 // first memory of a payload
	// beyond this it takes one of few buffers, is spooled, or memory is reserved
	largeBodyBytes = 256 << 10
	// buffers of firstSpool bytes, if Options.LargeBodyMemory is at least 16 times as much
	mostMedium    = 8
	minSpoolBytes = 512 << 10 // payloads with a lower limit (robots.txt) are not spooled
	firstSpool    = 1 << 20   // first size of a spool; it doubles
	// spoolReserve is left free on the disk of the spools. It is larger than the free space at
	// which the disk watchers stop the crawl.
	spoolReserve = 256 << 20
)

// fill reads r into *buf until its end or the limit. need is the memory to reserve when the payload
// turns out to be large and cannot be spooled. expect is how long the payload claims to be, or
// less: memory of that size, up to firstSpool, is taken at once, which saves copies.
func (x *exchange) fill(
	buf *[]byte,
	r io.Reader,
	limit, need, expect int64,
) (out []byte, cut bool, err error) {
	expect = min(expect+1, limit+1, firstSpool) // one more, to find the end
	b := (*buf)[:0]
	var file *spool
	for {
		if len(b) == cap(b) || int64(cap(b)) < expect {
			if int64(len(b)) > limit {
				*buf = b
				return b[:limit], true, nil
			}
			if b, file, err = x.larger(b, file, expect, limit+1, need); err != nil {
				return nil, false, err
			}
		}
		var n int
		n, err = r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		*buf = b
		if int64(len(b)) > limit {
			return b[:limit], true, nil
		}
		if errors.Is(err, io.EOF) {
			return b, false, nil
		}
		if err != nil {
			return b, false, err
		}
	}
}

// larger moves b to more memory, of least bytes or more, and of most bytes in the end: to that of
// file, when b is in one that can grow; to a new spool; or to anonymous memory.
func (x *exchange) larger(b []byte, file *spool, least, most, need int64) ([]byte, *spool, error) {
	size := int64(2 * cap(b))
	for size < least { // always a doubling, so that what is used again has few sizes
		size *= 2
	}
	size = min(size, most)
	switch {
	case size <= largeBodyBytes:
		return append(make([]byte, 0, size), b...), nil, nil
	case file != nil:
		if x.growSpool(file, size) {
			return file.memory[:len(b):size], file, nil
		}
	case size <= firstSpool && x.takeMedium():
		return append(x.medium[len(x.medium)-1][:0:min(firstSpool, most)], b...), nil, nil
	case most > minSpoolBytes && x.f.o.SpoolDir != "":
		if file = newSpool(x.f.o.SpoolDir, most); file != nil {
			x.spools = append(x.spools, file)
			if size = min(max(size, firstSpool), most); x.growSpool(file, size) {
				return append(file.memory[:0:size], b...), file, nil
			}
		}
	}
	if err := x.reserve(need); err != nil {
		return nil, nil, err
	}
	// Allocated once, without garbage; untouched memory costs nothing.
	return append(make([]byte, 0, most), b...), nil, nil
}

// takeMedium takes one of the buffers of firstSpool bytes, if one is free: the pages of a web are
// rarely so large that they are worth a file.
func (x *exchange) takeMedium() bool {
	select {
	case b := <-x.f.medium:
		if b == nil {
			b = make([]byte, firstSpool)
		}
		x.medium = append(x.medium, b)
		return true
	default:
		return false
	}
}

// growSpool grows s to size, if there is room. It does not wait.
func (x *exchange) growSpool(s *spool, size int64) bool {
	more := size - s.size
	if !x.f.spooled.TryAcquire(more) {
		return false
	}
	if !s.grow(size, spoolReserve) {
		x.f.spooled.Release(more)
		return false
	}
	return true
}

// reserve takes bytes of the memory for large payloads and waits if necessary. Only the first call
// of an exchange takes any, for all that the exchange may need, so no exchange waits while it holds
// a share. The wait is added to the deadline.
func (x *exchange) reserve(bytes int64) error {
	if x.reserved > 0 {
		return nil
	}
	bytes = min(bytes, x.f.o.LargeBodyMemory)
	from := time.Now()
	if err := x.f.large.Acquire(x.ctx, bytes); err != nil {
		return fmt.Errorf("%w: %w", errNoMemory, err)
	}
	x.reserved = bytes
	x.waited.Add(int64(time.Since(from)))
	return nil
}

// free releases what the exchange holds.
func (x *exchange) free() {
	for _, s := range x.spools {
		s.close()
		x.f.spooled.Release(s.size)
	}
	x.spools = nil
	for _, b := range x.medium {
		x.f.medium <- b // there is room: it came from there
	}
	x.medium = nil
	for i, b := range x.bufs {
		if b != nil && cap(*b) <= largeBodyBytes {
			*b = (*b)[:0]
			x.f.bodies.Put(b)
		}
		x.bufs[i] = nil
	}
	if x.reserved > 0 {
		x.f.large.Release(x.reserved)
		x.reserved = 0
	}
}
