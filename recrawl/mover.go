package recrawl

import (
	"context"
	"errors"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
)

// Bounds of one turn.
const (
	// readOf is how many due pages are looked at in a partition: some of them cannot be paid for.
	readOf = 256
	// checksAtOnce bounds the pages that are planned anew.
	checksAtOnce = 1024
	// spareOf is how many pages of a host may be moved unpaid, askedOf how many hosts are looked up
	// for that.
	spareOf, askedOf = 4, 256
	// waitOf is how many queued URLs of a host are looked at: they may all wait for their next try.
	waitOf = 8
	// furtherOf is how many partitions are read for their checks once a page could not be paid for.
	furtherOf = 16
)

// mover takes due pages into the queue. The Keeper's goroutine owns it.
type mover struct {
	pages  Pages
	heads  heads
	bucket bucket
	recent recent
	last   crawl.Partition // the last that was read for its checks alone
}

// haul is what one turn moves and plans anew.
type haul struct {
	visits, checks []frontier.Due
	looked         []crawl.Partition // partitions whose due pages were read
	blocked        bool              // a page could not be paid for
	spare          map[crawl.Host]int
	now            time.Time
}

// turn moves what is due, most pages at most, and what the bucket pays for. It plans pages anew
// whose check has come. more says that due pages are left.
func (m *mover) turn(ctx context.Context, now time.Time, most int, l *load) (more bool, err error) {
	room := most - m.recent.left(now, l.revisits)
	h := haul{spare: map[crawl.Host]int{}, now: now}
	full := func() bool { return len(h.visits) >= room || len(h.checks) >= checksAtOnce }
	for !full() && !h.blocked {
		p, at, ok := m.heads.first()
		if !ok || at.After(now) {
			break
		}
		if err := m.open(&h, p, now, room, l); err != nil {
			return false, err
		}
	}
	// the next partitions in turn, so that checks are not held up by those that are due first
	if h.blocked {
		for _, p := range m.heads.overdue(now, m.last, furtherOf) {
			if full() {
				break
			}
			m.last = p
			if err := m.open(&h, p, now, room, l); err != nil {
				return false, err
			}
		}
	}
	moved, err := m.carry(ctx, &h)
	if err != nil {
		return false, err
	}
	m.recent.note(now, moved)
	for _, p := range h.looked {
		if err := m.look(p); err != nil {
			return false, err
		}
	}
	_, at, ok := m.heads.first()
	return ok && !at.After(now), nil
}

// open reads the due pages of a partition, which then has no head until it is looked at again.
func (m *mover) open(h *haul, p crawl.Partition, now time.Time, room int, l *load) error {
	due, err := m.pages.Due(p, now, readOf)
	if err != nil && !errors.Is(err, frontier.ErrNotHolder) {
		return err
	}
	h.looked = append(h.looked, p)
	m.heads.set(p, time.Time{}, false)
	return m.load(h, due, room, l)
}

// load takes what can be paid for of a partition's due pages.
func (m *mover) load(h *haul, due []frontier.Due, room int, l *load) error {
	for i := range due {
		d := &due[i]
		switch {
		case !d.Visit():
			h.checks = append(h.checks, *d)
		case len(h.visits) >= room:
			return nil
		case !l.fresh || m.bucket.take():
			h.visits = append(h.visits, *d)
		case l.idle():
			free, err := m.unpaid(h, d)
			if err != nil {
				return err
			}
			if free {
				h.visits = append(h.visits, *d)
			} else {
				h.blocked = true
			}
		default:
			h.blocked = true
		}
	}
	return nil
}

// unpaid reports whether a page may be moved without being paid for, while fetchers are idle: its
// host has nothing else to fetch now, so it takes no fetch from a new URL.
func (m *mover) unpaid(h *haul, d *frontier.Due) (bool, error) {
	left, known := h.spare[d.Host]
	if !known && len(h.spare) >= askedOf {
		return false, nil
	}
	if !known {
		idle, err := m.hostIdle(h.now, d)
		if errors.Is(err, frontier.ErrNotHolder) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if idle {
			left = spareOf
		}
	}
	h.spare[d.Host] = max(left-1, 0)
	return left > 0, nil
}

// hostIdle reports whether a page's host has nothing to fetch now: nothing is queued, or only a few
// URLs that wait for their next try.
func (m *mover) hostIdle(now time.Time, d *frontier.Due) (bool, error) {
	_, queued, ok, err := m.pages.Host(d.Partition, d.Host)
	if err != nil || !ok {
		return false, err
	}
	total := int64(0)
	for _, n := range queued {
		total += n
	}
	if total == 0 || total > waitOf {
		return total == 0, nil
	}
	q, err := m.pages.Load(d.Partition, d.Host, frontier.Cursor{}, waitOf)
	if err != nil {
		return false, err
	}
	for i := range q.Items {
		if !q.Items[i].NotBefore.After(now) {
			return false, nil
		}
	}
	return !q.More, nil
}

// carry writes what a turn has chosen, and counts the pages that were moved.
func (m *mover) carry(ctx context.Context, h *haul) (moved int, err error) {
	if moved, err = write(ctx, h.visits, m.pages.MoveDue); err != nil {
		return moved, err
	}
	_, err = write(ctx, h.checks, m.pages.Replan)
	return moved, err
}

// write does a job. A partition that is not held any more holds up no other.
func write(
	ctx context.Context,
	pages []frontier.Due,
	do func(context.Context, []frontier.Due) (int, error),
) (sum int, err error) {
	if len(pages) == 0 {
		return 0, nil
	}
	sum, err = do(ctx, pages)
	if errors.Is(err, frontier.ErrNotHolder) {
		var n int
		n, err = eachPartition(ctx, pages, do)
		sum += n
	}
	return sum, err
}

// eachPartition does a job for one partition after the other, without those that are not held.
func eachPartition(
	ctx context.Context,
	pages []frontier.Due,
	do func(context.Context, []frontier.Due) (int, error),
) (sum int, err error) {
	for len(pages) > 0 {
		k := 1
		for k < len(pages) && pages[k].Partition == pages[0].Partition {
			k++
		}
		n, err := do(ctx, pages[:k])
		sum += n
		if err != nil && !errors.Is(err, frontier.ErrNotHolder) {
			return sum, err
		}
		pages = pages[k:]
	}
	return sum, nil
}

// look reads the head of a partition.
func (m *mover) look(p crawl.Partition) error {
	at, ok, err := m.pages.DueHead(p)
	if errors.Is(err, frontier.ErrNotHolder) {
		ok, err = false, nil
	}
	if err != nil {
		return err
	}
	m.heads.set(p, at, ok)
	return nil
}
