package inspect

import (
	"context"
	"errors"
	"fmt"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/frontier/listing"
	"crawlnode/peer/fanout"
	"crawlnode/ring"
)

// This file lists URLs. A list is read page by page, partition after partition, each from its
// holder, and nothing is kept between two pages. So a client that is slow, or has gone, costs
// nothing, no snapshot is older than a page, and a partition may move in between.

const (
	// pageTime bounds the reading for one page. A rare match may need many pages.
	pageTime = time.Second
	// pageBytes bounds the lines of an answer between nodes, far below the size of a message.
	pageBytes = 2 << 20
	// maxWindow is how many partitions are asked for at a time, when they have few URLs.
	maxWindow = 256
	// scansAtOnce bounds the pages that a node reads at a time, so that lists cannot take all of its
	// disk and processor from the crawl.
	scansAtOnce = 2
)

// listQuestion asks a member for URLs of partitions that it holds, in this order.
type listQuestion struct {
	Query crawl.URLQuery    `json:"query"` // its Limit counts, After and Partition do not
	Parts []crawl.Partition `json:"parts"`
	After string            `json:"after,omitempty"` // in the first of the parts: a cursor
	// Milliseconds bound the reading.
	Milliseconds int64 `json:"milliseconds"`
}

// listAnswer is the answer: the lines of the first partitions that were asked for.
type listAnswer struct {
	Lines []crawl.URLLine `json:"lines"`
	// Done counts the partitions that were read to their end. Next is the cursor in the one behind
	// them, when it was begun.
	Done int    `json:"done"`
	Next string `json:"next,omitempty"`
	// Unread are those of the done ones that could not be read; their cursors are empty.
	Unread  []crawl.UnreadPartition `json:"unread,omitempty"`
	Scanned int64                   `json:"scanned"`
}

// List reads a page of the URLs that a query wants. A partition that cannot be read is left out and
// named. The error wraps crawl.ErrBadQuery when nobody can answer the query.
func (i *Inspector) List(ctx context.Context, q crawl.URLQuery) (*crawl.URLPage, error) {
	l, err := i.newLister(q)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*pageTime) // a member that does not answer
	defer cancel()
	over := time.Now().Add(pageTime)
	if q.Reading > 0 && q.Reading < pageTime {
		over = time.Now().Add(q.Reading)
	}
	for l.at < l.end && len(l.page.URLs) < l.q.Limit {
		window := min(l.window, l.end-l.at)
		full := l.round(ctx, window, time.Until(over))
		l.window = min(2*l.window, maxWindow)
		if full || !time.Now().Before(over) {
			break
		}
	}
	if l.at < l.end {
		next := listing.Cursor(crawl.Partition(l.at), l.after)
		l.page.Next = &next
	}
	return &l.page, nil
}

// lister makes one page.
type lister struct {
	i       *Inspector
	q       crawl.URLQuery
	at, end int              // the partition to be read next, and the one behind the last
	after   listing.Position // in partition at
	window  int
	page    crawl.URLPage
}

// newLister checks a query.
func (i *Inspector) newLister(q crawl.URLQuery) (*lister, error) {
	f, err := listing.Compile(q)
	if err != nil {
		return nil, err
	}
	p, after, err := listing.ParseCursor(q.After)
	if err != nil {
		return nil, err
	}
	if q.Limit <= 0 || q.Limit > crawl.MaxURLLines {
		q.Limit = crawl.MaxURLLines
	}
	l := &lister{i: i, q: q, at: int(p), end: i.o.Cluster.Partitions(), after: after, window: 1,
		page: crawl.URLPage{URLs: []crawl.URLLine{}, Unread: []crawl.UnreadPartition{}}}
	if f.Host() != "" {
		l.only(ring.PartitionOf(f.Host(), l.end))
	}
	if q.Partition != nil {
		if int(*q.Partition) >= l.end {
			return nil, fmt.Errorf("%w: there are only the partitions 0 to %d", crawl.ErrBadQuery, i.o.Cluster.Partitions()-1)
		}
		l.only(*q.Partition)
	}
	return l, nil
}

// only leaves no more than one partition to be read.
func (l *lister) only(p crawl.Partition) {
	if l.at < int(p) {
		l.at, l.after = int(p), ""
	}
	l.end = min(l.end, int(p)+1)
}

// share is what one node is asked for.
type share struct {
	holder crawl.NodeID // "": nobody
	q      listQuestion
}

// round reads the next partitions, at the same time from all of their holders, and adds what it
// gets up to the first partition that was not read to its end. It returns true when there was one.
func (l *lister) round(ctx context.Context, window int, left time.Duration) (full bool) {
	shares := l.shares(window, left)
	answers := fanout.Ask(shares, func(s *share) (listAnswer, error) { return l.i.askList(ctx, s) })
	next := make(map[crawl.Partition]*cutter, window)
	for k := range answers {
		c := &cutter{share: shares[k], answer: answers[k].Value, err: answers[k].Err}
		l.page.Scanned += c.answer.Scanned
		for _, p := range c.share.q.Parts {
			next[p] = c
		}
	}
	for to := l.at + window; l.at < to; l.at++ {
		room := l.q.Limit - len(l.page.URLs)
		if room == 0 {
			return true
		}
		p := crawl.Partition(l.at)
		lines, cursor, why := next[p].cut(p)
		if len(lines) > room {
			lines, cursor = lines[:room], listing.CursorOf(&lines[room-1])
		}
		l.page.URLs = append(l.page.URLs, lines...)
		if why != "" {
			l.page.Unread = append(l.page.Unread, crawl.UnreadPartition{Partition: p, After: listing.Cursor(p, l.after), Why: why})
		}
		l.after = ""
		if cursor != "" {
			_, l.after, _ = listing.ParseCursor(cursor) // a false one begins anew, which no member sends
			return true
		}
	}
	return false
}

// shares divides the next partitions among their holders.
func (l *lister) shares(window int, left time.Duration) []*share {
	var shares []*share
	byHolder := map[crawl.NodeID]*share{}
	q := l.q
	q.Limit, q.Partition, q.After = l.q.Limit-len(l.page.URLs), nil, ""
	for n := range window {
		p := crawl.Partition(l.at + n)
		holder := l.i.o.Self
		if !l.i.holds(p) {
			holder = l.i.o.Cluster.Holder(p)
		}
		s := byHolder[holder]
		if s == nil {
			s = &share{holder: holder, q: listQuestion{Query: q, Milliseconds: max(left.Milliseconds(), 1)}}
			byHolder[holder] = s
			shares = append(shares, s)
		}
		if n == 0 && l.after != "" {
			s.q.After = listing.Cursor(p, l.after)
		}
		s.q.Parts = append(s.q.Parts, p)
	}
	return shares
}

// askList asks a node, which may be this one.
func (i *Inspector) askList(ctx context.Context, s *share) (listAnswer, error) {
	switch s.holder {
	case "":
		return listAnswer{}, errors.New("no member reports to hold it: it may be moving to a new holder")
	case i.o.Self:
		return i.ownList(ctx, &s.q)
	}
	a, err := i.askMember(ctx, s.holder, question{List: &s.q})
	switch {
	case err != nil:
		return listAnswer{}, fmt.Errorf("%s, its holder, did not answer: %w", i.o.Cluster.Ref(s.holder).Name, err)
	case a.List == nil:
		return listAnswer{}, fmt.Errorf("%s, its holder, does not know this question", i.o.Cluster.Ref(s.holder).Name)
	}
	return *a.List, nil
}

// cutter divides an answer among the partitions that were asked for.
type cutter struct {
	share  *share
	answer listAnswer
	err    error
	taken  int // partitions
}

// cut takes the lines of the next partition. A cursor means that there are more. why is not empty
// when it was not read.
func (c *cutter) cut(p crawl.Partition) (lines []crawl.URLLine, cursor, why string) {
	n := 0
	for n < len(c.answer.Lines) && c.answer.Lines[n].Partition == p {
		n++
	}
	lines, c.answer.Lines = c.answer.Lines[:n], c.answer.Lines[n:]
	c.taken++
	switch {
	case c.err != nil:
		return nil, "", c.err.Error()
	case c.taken == c.answer.Done+1 && c.answer.Next != "":
		return lines, c.answer.Next, ""
	case c.taken > c.answer.Done: // it was not begun
		return nil, listing.Cursor(p, ""), ""
	}
	for _, u := range c.answer.Unread {
		if u.Partition == p {
			return nil, "", u.Why
		}
	}
	return lines, "", ""
}

// ownList answers from this node's own store. It waits for its turn.
func (i *Inspector) ownList(ctx context.Context, q *listQuestion) (a listAnswer, err error) {
	f, err := listing.Compile(q.Query)
	if err != nil {
		return a, fmt.Errorf("%w: %w", ErrBadQuestion, err)
	}
	_, after, err := listing.ParseCursor(q.After)
	if err != nil {
		return a, fmt.Errorf("%w: %w", ErrBadQuestion, err)
	}
	select {
	case i.scans <- struct{}{}:
		defer func() { <-i.scans }()
	case <-ctx.Done():
		return a, ctx.Err()
	}
	end := time.Now().Add(min(time.Duration(q.Milliseconds)*time.Millisecond, pageTime))
	budget := listing.Budget{Lines: min(q.Query.Limit, crawl.MaxURLLines), Bytes: pageBytes, Over: func() bool { return !time.Now().Before(end) }}
	a.Lines = []crawl.URLLine{}
	for _, p := range q.Parts {
		page, err := i.o.Store.List(ctx, p, &f, after, budget)
		a.Scanned += int64(page.Read)
		switch {
		case ctx.Err() != nil:
			return a, ctx.Err()
		case errors.Is(err, frontier.ErrNotHolder):
			a.Unread = append(a.Unread, crawl.UnreadPartition{Partition: p, Why: "it is just moving to another node"})
			page = listing.Page{Done: true}
		case err != nil:
			a.Unread = append(a.Unread, crawl.UnreadPartition{Partition: p, Why: err.Error()})
			page = listing.Page{Done: true}
		}
		a.Lines = append(a.Lines, page.Lines...)
		if !page.Done {
			a.Next = listing.Cursor(p, page.Next)
			return a, nil
		}
		a.Done++
		after = ""
		budget.Lines -= len(page.Lines)
		if budget.Bytes -= page.Bytes; budget.Lines <= 0 || budget.Bytes <= 0 || budget.Over() {
			return a, nil
		}
	}
	return a, nil
}
