package seedlist

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"

	"crawlnode/cli/command"
	"crawlnode/crawl"
	"crawlnode/web/cdx"
	"crawlnode/web/statuses"
)

// indexBatch is how many seeds of an index are given on at once.
const indexBatch = 1000

// IndexCounts is what became of the captures of indexes.
type IndexCounts struct {
	Captures int64 // that were read
	Left     int64 // with a status that was not asked for, or none
	Repeated int64 // of the URL before
}

// FromIndexes reads the URLs of captures from index files, plain or packed, and calls add with up
// to a thousand at a time, of which each knows its file and line; the next ones are read meanwhile.
// "-" is standard input. A URL counts once for all of its captures that stand together, as they do
// in a sorted index. Lines that cannot be read are added to bad, and passed over.
//
// It returns an error of add as it is, ErrSignalled when ctx ends, and what is wrong with a file.
// The goroutine that reads stays behind when it waits for standard input: the process must end
// then.
func FromIndexes(ctx context.Context, env *command.Env, files []string, take *statuses.Set,
	bad *command.Errors, add func([]Entry) error,
) (IndexCounts, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := indexReader{env: env, take: take, out: make(chan indexPiece), done: ctx.Done()}
	go func() { r.end(r.readAll(files)) }()
	var counts IndexCounts
	for {
		var p indexPiece
		select {
		case p = <-r.out:
		case <-ctx.Done():
			return counts, ErrSignalled
		}
		for _, line := range p.bad {
			bad.Add(func() string { return line })
		}
		counts.Captures += p.counts.Captures
		counts.Left += p.counts.Left
		counts.Repeated += p.counts.Repeated
		if len(p.seeds) > 0 {
			if err := add(p.seeds); err != nil {
				return counts, err
			}
		}
		if p.last {
			return counts, p.err
		}
	}
}

// indexPiece is a part of what was read.
type indexPiece struct {
	seeds  []Entry
	bad    []string
	counts IndexCounts
	last   bool
	err    error // of the last piece
}

// indexReader reads files into pieces.
type indexReader struct {
	env  *command.Env
	take *statuses.Set
	out  chan indexPiece
	done <-chan struct{}

	next indexPiece
}

// errEnough says that nobody takes pieces any more.
var errEnough = errors.New("enough")

// flush gives the piece on.
func (r *indexReader) flush() error {
	select {
	case r.out <- r.next:
		r.next = indexPiece{}
		return nil
	case <-r.done:
		return errEnough
	}
}

// end gives the last piece on.
func (r *indexReader) end(err error) {
	if errors.Is(err, errEnough) {
		return
	}
	r.next.last, r.next.err = true, err
	_ = r.flush()
}

func (r *indexReader) readAll(files []string) error {
	for i, file := range files {
		if file == "-" && slices.Contains(files[:i], "-") {
			return errors.New("- stands twice: standard input can be read once only")
		}
		if err := r.readFile(file); err != nil {
			return err
		}
	}
	return nil
}

func (r *indexReader) readFile(file string) error {
	in, name := r.env.Stdin, "standard input"
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return fmt.Errorf("%w: give an index such as one of crawlnode export cdxj", err)
		}
		defer func() { _ = f.Close() }()
		if info, err := f.Stat(); err == nil && info.IsDir() {
			return fmt.Errorf("%s is a folder: give an index such as one of crawlnode export cdxj",
				file)
		}
		in, name = f, file
	}
	index, err := cdx.NewReader(in)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	last := ""
	for {
		record, err := index.Next()
		switch line := (*cdx.LineError)(nil); {
		case errors.As(err, &line):
			r.next.bad = append(r.next.bad, fmt.Sprintf("%s:%d: %v", name, line.Line, line.Err))
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("%s: %w", name, err)
		default:
			last = r.record(&record, last, fmt.Sprintf("%s:%d", name, index.Line()))
		}
		if len(r.next.seeds) >= indexBatch || len(r.next.bad) >= indexBatch {
			if err := r.flush(); err != nil {
				return err
			}
		}
	}
}

// record takes a capture, and returns the URL that counts as the one before.
func (r *indexReader) record(record *cdx.Record, last, place string) string {
	r.next.counts.Captures++
	switch status := statusOf(record); {
	case !r.take.Has(status):
		r.next.counts.Left++
		return last
	case record.URL == last:
		r.next.counts.Repeated++
		return last
	}
	r.next.seeds = append(r.next.seeds, Entry{Place: place,
		Seed: crawl.Seed{URL: record.URL, Line: len(r.next.seeds) + 1}})
	return record.URL
}

// statusOf is the status for which a capture counts. Some programs write none for a revisit; it
// stands for an answer with a payload that is stored elsewhere, so it counts as 200.
func statusOf(r *cdx.Record) int {
	if r.Status == 0 && r.IsRevisit() {
		return http.StatusOK
	}
	return r.Status
}
