package urllist

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"crawlnode/crawl"
)

// Fetch reads a page.
type Fetch func(context.Context, crawl.URLQuery) (*crawl.URLPage, error)

// Patience is how long Walk asks again for what could not be read: longer than a move takes, and
// about as long as the others wait before they take over from a dead node.
const Patience = 15 * time.Second

// retryEvery is the pause before something is asked for again.
const retryEvery = 500 * time.Millisecond

// Incomplete is the error of a list that lacks partitions.
type Incomplete struct{ Unread []crawl.UnreadPartition }

func (e *Incomplete) Error() string {
	const named = 20
	var numbers []string
	for _, u := range e.Unread[:min(len(e.Unread), named)] {
		numbers = append(numbers, fmt.Sprint(u.Partition))
	}
	more := ""
	if rest := len(e.Unread) - named; rest > 0 {
		more = fmt.Sprintf(" and %d more", rest)
	}
	return fmt.Sprintf("the list is not complete: it lacks URLs of partition %s%s: %s",
		strings.Join(numbers, ", "), more, e.Unread[0].Why)
}

// walk is a list that is being walked.
type walk struct {
	fetch    Fetch
	q        crawl.URLQuery
	left     int // lines that are wanted; 0: all
	patience time.Duration
	emit     func([]crawl.URLLine) error
	unread   []crawl.UnreadPartition
}

var errEnough = errors.New("as many lines as were wanted")

// Walk calls emit with the lines of each page, in order. With a Limit in the query it ends after so
// many lines. It asks again, for as long as patience, for partitions that could not be read, and
// for pages behind the first that failed. Its error is that of emit, of the first page, of ctx, or
// an *Incomplete.
func Walk(
	ctx context.Context,
	fetch Fetch,
	q crawl.URLQuery,
	patience time.Duration,
	emit func([]crawl.URLLine) error,
) error {
	w := &walk{fetch: fetch, q: q, left: q.Limit, patience: patience, emit: emit}
	err := w.pages(ctx, q)
	for until := time.Now().Add(patience); err == nil && len(w.unread) > 0 &&
		time.Now().Before(until); {
		if err = pause(ctx, retryEvery); err == nil {
			err = w.again(ctx)
		}
	}
	switch {
	case errors.Is(err, errEnough):
		return nil
	case err == nil && len(w.unread) > 0:
		return &Incomplete{w.unread}
	}
	return err
}

// again asks once more for what could not be read.
func (w *walk) again(ctx context.Context) error {
	unread := w.unread
	w.unread = nil
	for _, u := range unread {
		q := w.q
		q.Partition, q.After = &u.Partition, u.After
		if err := w.pages(ctx, q); err != nil {
			return err
		}
	}
	return nil
}

// pages walks from the query's place to the end.
func (w *walk) pages(ctx context.Context, q crawl.URLQuery) error {
	for {
		q.Limit = crawl.MaxURLLines
		if w.q.Limit > 0 {
			q.Limit = min(q.Limit, w.left)
		}
		page, err := w.page(ctx, q)
		if err != nil {
			return err
		}
		for _, u := range page.Unread {
			w.unread = slices.DeleteFunc(w.unread,
				func(o crawl.UnreadPartition) bool { return o.Partition == u.Partition })
			w.unread = append(w.unread, u)
		}
		if len(page.URLs) > 0 {
			if err := w.emit(page.URLs); err != nil {
				return err
			}
		}
		if w.left -= len(page.URLs); w.q.Limit > 0 && w.left <= 0 {
			return errEnough
		}
		if page.Next == nil {
			return nil
		}
		q.After = *page.Next
	}
}

// page reads one page, and behind the first tries again when that fails.
func (w *walk) page(ctx context.Context, q crawl.URLQuery) (*crawl.URLPage, error) {
	for until := time.Now().Add(w.patience); ; {
		page, err := w.fetch(ctx, q)
		if err == nil || q.After == w.q.After || ctx.Err() != nil || !time.Now().Before(until) {
			return page, err
		}
		if err := pause(ctx, retryEvery); err != nil {
			return nil, err
		}
	}
}

// pause waits, but not beyond the end of ctx.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
