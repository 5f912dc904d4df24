package scheduler

import (
	"context"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/scheduler/core"
)

// This file loads hosts from disk into memory.
//
// A host is loaded when URLs are queued for it and there is room, or when its partition is swept:
// the wake index is read from the start, a piece at a time, one partition after the other, and
// hosts whose time is near are loaded. A partition is swept when it was acquired, when a host was
// skipped for lack of room, when a gap got smaller, and when the time of a skipped host has come,
// but at most once a second; and when nothing else is left to do here although the store counts
// queued URLs in it.
//
// A host whose domain has used its share of the memory is denied. A few denied hosts of each
// partition are kept, and loaded as soon as there is room. When all of them are loaded, a top-up
// reads the wake index from its start until as many are kept again. The delay of the next whole
// sweep grows with the number of denied hosts.

const (
	// deniedPause is the minimum time from a sweep to the next one for hosts that were denied.
	deniedPause = 2 * time.Second
	// deniedHostPause is added for each of them: reading one takes about 2 us, so a domain with
	// millions of hosts cannot use more than 2 % of a processor by them.
	deniedHostPause = 100 * time.Microsecond
	// deniedKept is how many denied hosts of a partition are loaded without another read.
	deniedKept = 32
)

// maxFailingTold bounds the failing domains in the status.
const maxFailingTold = 3

// sweepPiece is how many hosts are read at once from a wake index.
const sweepPiece = 64

// holding is a partition whose visits are handed out here.
type holding struct {
	partition crawl.Partition
	epoch     crawl.Epoch
	// acquired: no host is requested before this time plus its delay. It never decreases.
	acquired time.Time
	// taken is when somebody else, or an earlier process, may have made a request last. acquired is
	// not before it, and later when gaps grew.
	taken  time.Time
	frozen bool
	// turn counts how often the partition's hosts were dropped, so that results read before a drop
	// are recognised as old.
	turn    int
	dropped bool // and was not taken up again

	cursor frontier.WakeCursor
	passed []frontier.Wake // read, and not loaded yet for lack of room
	queued bool            // it is in sweeps, or is being read
	begun  int             // counts the sweeps; a piece read for an earlier one is ignored
	since  time.Time       // when the last began
	again  bool            // it must be swept once more, from the start
	early  int             // how many sweeps load waiting hosts as well: a gap got smaller
	// earlySites is the same for the hosts whose gap did, by a rule for sites.
	earlySites int
	due        time.Time // the earliest time of a skipped host
	denied     denials
	// lost: notes for hosts in memory may have been lost. The next sweep must then be thorough: it
	// also tells hosts in memory that URLs are queued.
	lost, thorough bool
	// topUp: the current read is not a sweep. It ends when enough denied hosts are kept.
	topUp bool

	visits int // handed out and not completed
	// strays are visits that were open when the partition was dropped, and are not released yet;
	// awaited is what to do when there are no more.
	strays  int
	awaited *order
	leaving int // hosts whose state is being written
	quiet   []chan struct{}
}

// denials are hosts that were not loaded because their domain has used its share.
type denials struct {
	kept   []frontier.Wake // up to deniedKept
	hosts  int             // denied by this sweep; a top-up counts none
	before int             // denied by the last one
}

// pauseDenied is how long denied hosts wait for a sweep. It depends on their number in all
// partitions, which are swept one after the other.
func (l *loop) pauseDenied() time.Duration {
	return deniedPause + time.Duration(l.denied)*deniedHostPause
}

// deny keeps a denied host, if there is room.
func (h *holding) deny(w frontier.Wake) {
	if !h.topUp {
		h.denied.hosts++
	}
	if !h.denied.full() {
		h.denied.kept = append(h.denied.kept, w)
	}
}

func (d *denials) full() bool { return len(d.kept) >= deniedKept }

// waits notes that a host of h waits on disk until t.
func (h *holding) waits(now, t time.Time) {
	if t.Sub(now) <= core.LoadAhead {
		h.again = true
	} else if h.due.IsZero() || t.Before(h.due) {
		h.due = t
	}
}

// announceQuiet tells Freeze when h has no more visits or writes.
func (h *holding) announceQuiet() {
	if h.visits > 0 || h.leaving > 0 {
		return
	}
	for _, q := range h.quiet {
		close(q)
	}
	h.quiet = nil
}

// takeNotes handles the orders and notes from callers.
func (l *loop) takeNotes(now time.Time) {
	d := l.d
	d.mu.Lock()
	if len(d.orders)+len(d.notes)+len(d.swept)+len(d.came) == 0 && !d.woken {
		d.mu.Unlock()
		return
	}
	orders, came := d.orders, d.came
	d.orders, d.came = nil, nil
	// A map is taken whole or not at all. An empty one is left alone and not read below, where the
	// lock is no longer held.
	var notes map[crawl.Host]note
	if len(d.notes) > 0 {
		notes, d.notes = d.notes, make(map[crawl.Host]note)
	}
	var swept map[crawl.Partition]bool
	if len(d.swept) > 0 {
		swept, d.swept = d.swept, make(map[crawl.Partition]bool)
	}
	if d.woken {
		l.noPermit, d.woken = false, false
	}
	d.mu.Unlock()
	for _, o := range orders {
		l.obey(now, o)
	}
	for _, ip := range came {
		l.core.TurnCame(now, ip)
	}
	for host, n := range notes {
		l.noted(now, host, n)
	}
	for p := range swept {
		if h := l.held[p]; h != nil {
			h.again, h.lost = true, true
		}
	}
}

// noted loads a host with new URLs, or remembers to do so.
func (l *loop) noted(now time.Time, host crawl.Host, n note) {
	h := l.held[n.partition]
	if h == nil || l.core.NoteQueued(now, host, n.band) {
		return
	}
	if band, ok := l.loading[host]; ok {
		l.loading[host] = min(band, n.band)
		return
	}
	if h.frozen {
		return // Resume starts a sweep
	}
	if l.leaving[host] || l.room() <= 0 {
		h.again = true
		return
	}
	if !l.core.Fits(host) {
		h.deny(frontier.Wake{Host: host, Band: n.band})
		h.waits(now, now.Add(core.LoadAhead+l.pauseDenied()))
		return
	}
	l.load(h, host)
}

// room is how many more hosts may be loaded.
func (l *loop) room() int { return l.core.Places() - len(l.loading) }

// sweep queues h to be read from the start of its wake index. A sweep that is running starts again.
func (l *loop) sweep(now time.Time, h *holding) {
	h.again, h.due, h.topUp = false, time.Time{}, false
	h.denied = denials{before: h.denied.hosts}
	h.thorough, h.lost = h.thorough || h.lost, false
	l.fromStart(now, h)
}

// topUp queues h to have denied hosts kept again. Other hosts that it finds are loaded as well,
// but it does not replace a sweep: it ends early.
func (l *loop) topUp(now time.Time, h *holding) {
	h.topUp = true
	l.fromStart(now, h)
}

func (l *loop) fromStart(now time.Time, h *holding) {
	h.begun++
	h.since, h.cursor = now, ""
	if !h.queued {
		h.queued = true
		l.sweeps = append(l.sweeps, h)
	}
}

// fill loads hosts while there is room: first skipped ones, then the next piece of a wake index.
func (l *loop) fill(now time.Time) {
	for n := len(l.sweeps); n > 0 && l.room() > 0 && l.pending < 4*l.d.o.Readers; n-- {
		h := l.sweeps[0]
		l.sweeps = l.sweeps[1:]
		switch {
		case h.frozen:
			h.queued = false
		case len(h.passed) > 0:
			wakes := h.passed
			h.passed = nil
			l.admit(now, h, wakes)
			l.sweeps = append(l.sweeps, h)
		default:
			l.readWakes(h)
		}
	}
}

// readWakes reads the next piece of h's wake index.
func (l *loop) readWakes(h *holding) {
	begun, from := h.begun, h.cursor
	l.disk(func(context.Context) func(time.Time) {
		wakes, next, err := l.d.o.Store.Waiting(h.partition, from, sweepPiece)
		return func(now time.Time) {
			l.broken(err)
			h.queued = false
			switch {
			case h.frozen:
				return // Resume and Hold start a new sweep
			case h.begun != begun: // they did, or will: the cursor is at the start
			case err != nil:
				return
			default:
				h.cursor = next
				l.admit(now, h, wakes)
				if l.swept(now, h, len(wakes) < sweepPiece) {
					return
				}
			}
			h.queued = true
			l.sweeps = append(l.sweeps, h)
		}
	})
}

// swept reports whether a sweep or a top-up of h is over; last says that the wake index was
// read to its end.
func (l *loop) swept(now time.Time, h *holding, last bool) bool {
	switch {
	case len(h.passed) > 0:
		return false
	case h.topUp && (last || h.denied.full()):
		h.topUp = false
		if last {
			h.denied.hosts = len(h.denied.kept) // there are no others
		}
		return true
	case !last:
		return false
	}
	h.thorough, h.early, h.earlySites = false, max(h.early-1, 0), max(h.earlySites-1, 0)
	if h.denied.hosts > 0 {
		h.waits(now, now.Add(core.LoadAhead+l.pauseDenied()))
	}
	return true
}

// admit loads hosts whose time is near. When there is no room left, the rest is kept for later.
func (l *loop) admit(now time.Time, h *holding, wakes []frontier.Wake) {
	for i, w := range wakes {
		if l.present(now, h, w) {
			continue
		}
		// An excluded host is loaded only to be refused, whatever its time.
		soon := l.wide || l.excludes(w.Host)
		switch {
		case l.leaving[w.Host]:
			h.again = true
		case !soon && !l.forgives(h, w.Host) && w.NotBefore.Sub(h.since) > core.LoadAhead:
			// The time of the sweep's start is used. Otherwise hosts that come and go during the
			// sweep would keep it running for ever, and better bands would wait.
			h.waits(now, w.NotBefore)
		case !soon && !l.core.Fits(w.Host):
			h.deny(w)
		case l.room() <= 0:
			h.passed = append([]frontier.Wake(nil), wakes[i:]...)
			return
		default:
			l.load(h, w.Host)
		}
	}
}

// forgives reports whether a host that waits is loaded all the same, because the scheduler may
// forget the failures for which it waits, by the first sweep, or shorten its wait.
func (l *loop) forgives(h *holding, host crawl.Host) bool {
	return h.early > 0 || h.earlySites > 0 && l.shorter(host) ||
		h.begun == 1 && !l.d.o.Scheduler.Forgive.IsZero()
}

// admitDenied loads denied hosts whose domain has room again.
func (l *loop) admitDenied(now time.Time, h *holding) {
	for len(h.denied.kept) > 0 && l.room() > 0 {
		w := h.denied.kept[0]
		if !l.present(now, h, w) {
			if l.leaving[w.Host] || !l.core.Fits(w.Host) {
				return
			}
			l.load(h, w.Host)
		}
		h.denied.kept = h.denied.kept[1:]
	}
}

// present reports whether the host is in memory or being loaded. In a thorough sweep such a host is
// told that URLs are queued.
func (l *loop) present(now time.Time, h *holding, w frontier.Wake) bool {
	band, loading := l.loading[w.Host]
	switch {
	case loading && h.thorough:
		l.loading[w.Host] = min(band, w.Band)
	case loading:
	case !l.core.Has(w.Host):
		return false
	case h.thorough:
		l.core.NoteQueued(now, w.Host, w.Band)
	}
	return true
}

// load reads a host into memory.
func (l *loop) load(h *holding, host crawl.Host) {
	turn := h.turn
	l.loading[host] = crawl.Bands
	l.disk(func(context.Context) func(time.Time) {
		q, err := l.d.o.Store.Load(h.partition, host, frontier.Cursor{}, l.d.o.Scheduler.ItemsPerHost)
		return func(now time.Time) {
			l.broken(err)
			band := l.loading[host]
			delete(l.loading, host)
			if err != nil || h.turn != turn || h.frozen {
				h.again = true
				return
			}
			if len(q.Items) == 0 && !q.More && band == crawl.Bands && !l.wantsErrand(host) {
				return // its URLs have been fetched meanwhile
			}
			l.core.Activate(now, core.Queue{
				Partition: h.partition, Host: host, State: q.State, Robots: q.Robots, Items: q.Items,
				Next: core.Cursor(q.Next), More: q.More, Queued: q.Queued,
				Shorter: l.shorter(host), Taken: h.taken,
			}, l.acquired(h, host))
			if band < crawl.Bands {
				l.core.NoteQueued(now, host, band)
			}
			l.offerErrands(now, host)
		}
	})
}

// refillJob reads more URLs of a host in memory.
func (l *loop) refillJob(a core.Action) job {
	h := l.held[a.Partition]
	turn := h.turn
	return func(context.Context) func(time.Time) {
		q, err := l.d.o.Store.Load(a.Partition, a.Host, frontier.Cursor(a.After), a.N)
		return func(now time.Time) {
			l.broken(err)
			switch {
			case h.turn != turn:
			case err != nil:
				l.core.OfferFailed(now, a.Host) // the partition is leaving
			default:
				l.core.Offer(now, a.Host, q.Items, core.Cursor(q.Next), q.More)
				l.core.Counted(a.Host, q.Queued)
			}
		}
	}
}

// lookAtDisk runs once a second. It finds partitions that must be swept, makes room for waiting
// hosts, and checks whether anything is left that can be fetched.
func (l *loop) lookAtDisk(now time.Time) {
	l.forgetChanges(now)
	l.denied = 0
	for _, h := range l.held {
		l.denied += max(h.denied.hosts, h.denied.before)
	}
	for _, h := range l.held {
		if h.frozen {
			continue
		}
		l.admitDenied(now, h)
		if h.queued {
			continue
		}
		switch {
		case h.again || !h.due.IsZero() && h.due.Sub(now) <= core.LoadAhead:
			l.sweep(now, h)
		case len(h.denied.kept) == 0 && h.denied.hosts > deniedKept:
			l.topUp(now, h)
		}
	}
	piece := max(l.d.o.Scheduler.MaxActive/20, 1)
	// In a pause no host in memory gets its turn, so none has to make room.
	if !l.wide && len(l.sweeps) > 0 && l.room() < piece && !l.d.paused.Load() {
		if parked := l.core.Evict(now, piece); len(parked) > 0 {
			l.parkJob(parked, true)
		}
	}
	l.runErrands(now)
	l.lookAtEnd(now)
	failing := l.core.Failing(maxFailingTold)
	l.d.mu.Lock()
	l.d.failing = failing
	l.d.mu.Unlock()
}

// lookAtEnd gives frozen hosts their last try when nothing else is left: no host in memory can be
// fetched within an hour, and none on disk, which takes a sweep that also loads hosts with long
// waits. The sweep is thorough and uses the store's counters, so that a lost note cannot stall the
// crawl.
func (l *loop) lookAtEnd(now time.Time) {
	idle := l.d.busy.Load() == 0 && l.pending+len(l.loading)+len(l.leaving) == 0 &&
		(len(l.sweeps) == 0 || l.room() <= 0)
	left := core.Remaining{Active: 1}
	if idle {
		left = l.core.Remaining(now)
	}
	if left.Active > 0 {
		l.wide = false
		l.d.stalled.Store(false)
		return
	}
	if !l.wide {
		l.wide = true
		for _, h := range l.held {
			if !h.frozen && !h.queued && (h.again || !h.due.IsZero() || l.countsQueued(h)) {
				h.lost = true
				l.sweep(now, h)
			}
		}
		return
	}
	l.d.stalled.Store(left.Stalled > 0)
	if left.Stalled == 0 || l.d.paused.Load() || l.d.halted.Load() ||
		!l.d.o.Node.MayLastTry() {
		return
	}
	n := l.core.LastTries(now)
	l.d.log.Info("only unreachable hosts are left; each gets one last try", "hosts", n)
}

// countsQueued reports whether the store counts queued URLs in h's partition.
func (l *loop) countsQueued(h *holding) bool {
	m, ok := l.d.o.Store.Meta(h.partition)
	return ok && m.Counters.QueuedTotal() > 0
}
