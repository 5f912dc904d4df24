package linkgraph

import (
	"bufio"
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// A link is its target's number above its source's: links sort by target.
type link uint64

func linkOf(source, target uint32) link { return link(target)<<32 | link(source) }

func (l link) target() uint32 { return uint32(l >> 32) }
func (l link) source() uint32 { return uint32(l) }

const (
	runLinks  = 4 << 20  // links in memory before they become a run
	runBuffer = 64 << 10 // bytes for each open run
)

// spill writes the links in memory as a sorted run.
func (b *Builder) spill() error {
	if len(b.links) == 0 {
		return nil
	}
	slices.Sort(b.links)
	b.links = slices.Compact(b.links)
	f, err := os.CreateTemp(b.dir, "run-")
	if err != nil {
		return err
	}
	b.runs = append(b.runs, f)
	out := bufio.NewWriterSize(f, runBuffer)
	var piece [binary.MaxVarintLen64]byte
	last := link(0)
	for _, l := range b.links {
		// The first error of out is kept, and returned by Flush.
		_, _ = out.Write(piece[:binary.PutUvarint(piece[:], uint64(l-last))])
		last = l
	}
	b.links = b.links[:0]
	return out.Flush()
}

// run reads a run from its beginning.
type run struct {
	in   *bufio.Reader
	head link
}

// next reads the next link into head.
func (r *run) next() error {
	distance, err := binary.ReadUvarint(r.in)
	r.head += link(distance)
	return err
}

// runs is a heap of runs by their heads.
type runs []*run

func (h runs) Len() int           { return len(h) }
func (h runs) Less(i, j int) bool { return h[i].head < h[j].head }
func (h runs) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push adds a run.
func (h *runs) Push(x any) { *h = append(*h, x.(*run)) }

// Pop takes the last run away.
func (h *runs) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// merge calls f with the links of all runs, in order and without repeats.
func merge(sorted []*os.File, f func(link) error) error {
	var h runs
	for _, file := range sorted {
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return err
		}
		r := &run{in: bufio.NewReaderSize(file, runBuffer)}
		if err := r.next(); err != nil {
			return fmt.Errorf("%s: %w", file.Name(), err)
		}
		h = append(h, r)
	}
	heap.Init(&h)
	last, any := link(0), false
	for len(h) > 0 {
		if l := h[0].head; !any || l != last {
			last, any = l, true
			if err := f(l); err != nil {
				return err
			}
		}
		switch err := h[0].next(); {
		case errors.Is(err, io.EOF):
			heap.Pop(&h)
		case err != nil:
			return err
		default:
			heap.Fix(&h, 0)
		}
	}
	return nil
}

// graphWriter writes the links of one target at a time.
type graphWriter struct {
	out     *bufio.Writer
	last    uint32 // the target before, + 1; 0: none
	target  uint32
	sources []uint32
	links   int64
}

// add takes the next link.
func (w *graphWriter) add(l link) error {
	if len(w.sources) > 0 && l.target() != w.target {
		w.end()
	}
	w.target = l.target()
	w.sources = append(w.sources, l.source())
	w.links++
	return nil
}

// end writes the target whose sources are complete. The first error of out is kept for Flush.
func (w *graphWriter) end() {
	if len(w.sources) == 0 {
		return
	}
	w.put(w.target + 1 - w.last)
	w.put(uint32(len(w.sources)))
	before := uint32(0)
	for _, s := range w.sources {
		w.put(s - before)
		before = s
	}
	w.last, w.sources = w.target+1, w.sources[:0]
}

func (w *graphWriter) put(v uint32) {
	var piece [binary.MaxVarintLen32]byte
	_, _ = w.out.Write(piece[:binary.PutUvarint(piece[:], uint64(v))])
}
