package listing

import (
	"context"
	"fmt"

	"crawlnode/crawl"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/reader"
)

// Budget bounds a page.
type Budget struct {
	Lines int         // at most
	Bytes int         // of URLs and reasons: no further line is begun beyond
	Over  func() bool // asked after each piece of rows: the time is over; nil: never
}

// Page is a part of the list of one partition.
type Page struct {
	Lines []crawl.URLLine
	Next  Position // all URLs up to here were looked at
	Done  bool     // none is behind Next
	Read  int      // keys that were read
	Bytes int      // about, of Lines
}

// Page reads the wanted URLs behind a place. It ends with the budget, but not before it has come
// further than that place.
func (f *Filter) Page(
	ctx context.Context,
	v *reader.Partition,
	after Position,
	b Budget,
) (Page, error) {
	m := merge{ctx: ctx, begin: after, over: b.Over, p: Page{Next: after}}
	m.tables[0] = newRows(v, layout.TableRecords, f.host, after)
	m.tables[1] = &rows{ended: true}
	if f.wantsInline() {
		m.tables[1] = newRows(v, layout.TableHosts, f.host, after)
	}
	for len(m.p.Lines) < b.Lines && m.p.Bytes <= b.Bytes {
		r, more, err := m.next()
		if err != nil || !more {
			return m.end(err)
		}
		line, ok, err := f.line(v, &r)
		if err != nil {
			return m.end(fmt.Errorf("a URL of host %s: %w", r.host, err))
		}
		if ok {
			m.p.Lines = append(m.p.Lines, line)
			m.p.Bytes += len(line.URL) + lineBytes
			if line.Reason != nil {
				m.p.Bytes += len(*line.Reason)
			}
		}
	}
	return m.end(nil)
}

// lineBytes is about what a line has beside its URL and its reason.
const lineBytes = 200

// merge goes through the rows of both tables in order.
type merge struct {
	ctx    context.Context
	begin  Position
	over   func() bool
	tables [2]*rows
	p      Page
}

// next returns the next row. It returns false at the end, and when the time is over after a piece
// was read.
func (m *merge) next() (row, bool, error) {
	for {
		first := m.first()
		if first != nil && m.other(first).nextKnown(first.piece[0].at) {
			r := first.piece[0]
			first.piece = first.piece[1:]
			m.p.Next = r.at
			return r, true, nil
		}
		behind := m.behind()
		if behind == nil {
			m.p.Done = true
			return row{}, false, nil
		}
		if m.over != nil && m.far() > m.begin && m.over() {
			return row{}, false, nil
		}
		if err := m.ctx.Err(); err != nil {
			return row{}, false, err
		}
		if err := behind.fill(m.begin); err != nil {
			return row{}, false, err
		}
	}
}

// first are the rows that have the next one of those that are known; nil: there are none.
func (m *merge) first() *rows {
	a, b := m.tables[0], m.tables[1]
	switch {
	case len(a.piece) == 0 && len(b.piece) == 0:
		return nil
	case len(a.piece) == 0:
		return b
	case len(b.piece) == 0 || a.piece[0].at <= b.piece[0].at:
		return a
	}
	return b
}

func (m *merge) other(t *rows) *rows {
	if t == m.tables[0] {
		return m.tables[1]
	}
	return m.tables[0]
}

// behind are the rows without a known one that are known the least far; nil: there are none.
func (m *merge) behind() *rows {
	var least *rows
	for _, t := range m.tables {
		if len(t.piece) == 0 && !t.ended && (least == nil || t.known < least.known) {
			least = t
		}
	}
	return least
}

// far is the place up to which every row was looked at. Without a known row that is as far as the
// table goes which is known the least.
func (m *merge) far() Position {
	t, first := m.behind(), m.first()
	if t == nil || t.known <= m.p.Next || first != nil && t.known >= first.piece[0].at {
		return m.p.Next
	}
	return t.known
}

// end completes the page.
func (m *merge) end(err error) (Page, error) {
	m.p.Read = m.tables[0].read + m.tables[1].read
	if !m.p.Done {
		m.p.Next = m.far()
	}
	return m.p, err
}
