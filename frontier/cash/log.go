package cash

import (
	"cmp"
	"fmt"
	"slices"

	"crawlnode/crawl"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/reader"
	"crawlnode/importance/opic"
)

// logPiece is the beginning of what a log has that was not folded.
type logPiece struct {
	numbers []uint64  // of credits and deltas
	last    uint64    // of all; 0: there is nothing
	visits  []visited // by URL
	deltas  []opic.Delta
	more    bool
}

// visited is a page that was fetched.
type visited struct {
	layout.CashVisit
	numbers []uint64 // of all its visits, the last one at the end
	done    bool     // the accounts have it
	before  bool     // they had it before this fold
	keep    uint64   // with done: the number under which its links are
}

// at is the number of the last visit.
func (s *visited) at() uint64 { return s.numbers[len(s.numbers)-1] }

// readLog reads the log behind a number, up to the limits.
func readLog(v *reader.Partition, after uint64, limits *Limits, s *scratch) (*logPiece, error) {
	l := &logPiece{}
	prefix := []byte{layout.TableCash, layout.CashLog}
	it := v.Iterate(prefix)
	defer it.Close()
	var credits []opic.Entry
	room := s.visited[:0] // for links
	read, size, links := 0, 0, 0
	for it.Seek(v.Abs(layout.AppendCashKey(nil, layout.CashLog, after+1))); it.Valid(); it.Next() {
		if read >= limits.Entries || size >= limits.LogBytes || links >= limits.Links {
			l.more = true
			break
		}
		value, err := it.Value()
		if err != nil {
			return nil, err
		}
		// links that are there stay where they are
		if n := len(value) / opic.LinkBytes; cap(room)-len(room) < n {
			room = make([]opic.Target, 0, max(2*cap(room), n))
		}
		e, err := layout.DecodeCashLogInto(room[len(room):], value)
		if err != nil {
			return nil, err
		}
		number, ok := layout.ParseCashKey(it.Key()[layout.PrefixLen:], layout.CashLog)
		if !ok {
			return nil, fmt.Errorf("%w: key of the log of credits", layout.ErrCorrupt)
		}
		read++
		size += len(value)
		l.last = number
		if e.Visit != nil {
			l.visits = append(l.visits, visited{CashVisit: *e.Visit, numbers: []uint64{number}})
			links += len(e.Visit.Links)
			room = room[:len(room)+len(e.Visit.Links)]
			continue
		}
		l.numbers = append(l.numbers, number)
		for i := range e.Credits {
			links += len(e.Credits[i].Credits)
		}
		links += len(e.Deltas)
		credits = append(credits, e.Credits...)
		l.deltas = opic.MergeDeltas(l.deltas, e.Deltas)
	}
	s.visited = room
	l.deltas = opic.MergeDeltas(l.deltas, s.summer.SumCredits(credits))
	l.sortVisits()
	return l, nil
}

// sortVisits puts the visits in the order of URLs, the last of each.
func (l *logPiece) sortVisits() {
	slices.SortStableFunc(l.visits, func(a, b visited) int { return cmp.Compare(a.URL, b.URL) })
	once := l.visits[:0]
	for _, s := range l.visits {
		if n := len(once); n > 0 && once[n-1].URL == s.URL {
			s.numbers = append(once[n-1].numbers, s.numbers...)
			once[n-1] = s
			continue
		}
		once = append(once, s)
	}
	l.visits = once
}

// visitOf is the visit of a page in this piece; nil: there is none.
func (l *logPiece) visitOf(u opic.URL) *visited {
	i, ok := slices.BinarySearchFunc(l.visits, u,
		func(s visited, u opic.URL) int { return cmp.Compare(s.URL, u) })
	if !ok {
		return nil
	}
	return &l.visits[i]
}

// take takes out what the log has for a URL.
func (l *logPiece) take(u opic.URL) opic.Delta {
	i, ok := slices.BinarySearchFunc(l.deltas, u,
		func(d opic.Delta, u opic.URL) int { return cmp.Compare(d.URL, u) })
	if !ok {
		return opic.Delta{URL: u}
	}
	d := l.deltas[i]
	l.deltas[i] = opic.Delta{URL: u}
	return d
}

// rest are the deltas that were not taken out. Those that are left empty do no harm: by them a page
// whose visit has changed nothing settles in the second pass.
func (l *logPiece) rest() []opic.Delta { return l.deltas }

// finish calls remove with the number of each entry that is in the plan and has no links of a page.
// It returns the number of entries that the plan is the first to have, and the number up to which
// all have been folded now.
func (l *logPiece) finish(remove func(number uint64)) (taken int, folded uint64) {
	taken, folded = len(l.numbers), l.last
	for _, n := range l.numbers {
		remove(n)
	}
	for i := range l.visits {
		s := &l.visits[i]
		if !s.done {
			folded = min(folded, s.numbers[0]-1)
			continue
		}
		for _, n := range s.numbers {
			if n != s.keep {
				remove(n)
			}
		}
		if !s.before {
			taken += len(s.numbers)
		}
	}
	return taken, folded
}

// pieceCredits bounds the credits and the deltas of a log entry of a fold: 64 KiB with the largest
// numbers that occur.
const pieceCredits = 2_000

// cutCredits makes log entries of credits.
func cutCredits(entries []opic.Entry) (out [][]byte) {
	var piece []opic.Entry
	n := 0
	for _, e := range entries {
		for rest := e.Credits; len(rest) > 0; {
			k := min(len(rest), pieceCredits-n)
			piece = append(piece, opic.Entry{Site: e.Site, Credits: rest[:k]})
			rest = rest[k:]
			if n += k; n == pieceCredits {
				out = append(out, layout.EncodeCashCredits(piece))
				piece, n = nil, 0
			}
		}
	}
	if n > 0 {
		out = append(out, layout.EncodeCashCredits(piece))
	}
	return out
}

// cutDeltas makes log entries of deltas.
func cutDeltas(deltas []opic.Delta) (out [][]byte) {
	for piece := range slices.Chunk(deltas, pieceCredits) {
		out = append(out, layout.EncodeCashDeltas(piece))
	}
	return out
}

// away is a credit of a page to a URL of another partition.
type away struct {
	to   crawl.Partition
	site opic.Site
	opic.Credit
}

// postCredits bounds a post.
const postCredits = 4_000

// posts sums the credits by partition, site and URL. All entries are pieces of one slice, and all
// credits of another.
func posts(all []away) (out []Post) {
	slices.SortFunc(all, func(a, b away) int {
		switch {
		case a.to != b.to:
			return cmp.Compare(a.to, b.to)
		case a.site != b.site:
			return cmp.Compare(a.site, b.site)
		}
		return cmp.Compare(a.URL, b.URL)
	})
	credits := make([]opic.Credit, 0, len(all)) // never grows: the pieces stay where they are
	var entries []opic.Entry
	from, n := 0, 0 // where the entries and the number of the credits of the post begin
	for i := range all {
		a := &all[i]
		first := n == 0 || all[i-1].site != a.site
		if first {
			entries = append(entries, opic.Entry{Site: a.site, Credits: credits[len(credits):]})
		}
		e := &entries[len(entries)-1]
		if k := len(e.Credits) - 1; k >= 0 && e.Credits[k].URL == a.URL {
			e.Credits[k].Amount += a.Amount
			e.Credits[k].Links = opic.AddLinks(e.Credits[k].Links, a.Links)
		} else {
			credits = append(credits, a.Credit)
			e.Credits = credits[len(credits)-k-2 : len(credits) : len(credits)]
		}
		n++
		if i+1 == len(all) || all[i+1].to != a.to || n >= postCredits {
			out = append(out, Post{To: a.to, Credits: entries[from:len(entries):len(entries)]})
			from, n = len(entries), 0
		}
	}
	return out
}
