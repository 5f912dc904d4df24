package simweb

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"time"
)

// Changes make the pages of a web change, each at a rate of its own. The zero value: no page ever
// changes, and the web is as it was without this type.
//
// The changes of a page are a Poisson process: a pure function of Config.Seed, the page and the
// time. A page's rate is drawn from a gamma distribution around its host's rate, and the host's
// interval evenly in its logarithm around Mean. A change replaces the text, so that its fingerprint
// is another; the links stay, so that Reachable does not depend on time.
type Changes struct {
	// Mean is the mean interval between two changes on the middle host; 0: nothing changes.
	Mean time.Duration
	// Start is when the changes begin; every page is at its first version then. Default: the time of
	// New.
	Start time.Time
	// Spread is the factor by which a host's interval is at most longer or shorter than Mean (default
	// 1: all are Mean).
	Spread float64
	// Shape is the shape of the gamma distribution of the rates of a host's pages: the smaller, the
	// more they differ (default 1; negative: all are alike).
	Shape float64
	// Turn is how long a page keeps its rate before it is drawn again (default: for ever).
	Turn time.Duration

	// Gone is how many pages in a thousand go away, of those that lead to no page that depends on
	// them. The time until then is exponential with the mean GoneAfter (default 10 times Mean). Half
	// of them answer 410 from then on, the other half 404; these come back after BackAfter (default:
	// never).
	Gone                 int
	GoneAfter, BackAfter time.Duration

	// Noise is how many pages in a thousand have the time and a counter in their text, so that no two
	// answers are the same. They count as unchanged. Their ETags are weak.
	Noise int

	// What hosts say of changes. ETags and Dates (Last-Modified) are validators: a request that names
	// what is current is answered by 304. Lastmods stand in sitemaps, which then list every page. Ages
	// are in Cache-Control, or in Expires on every second host.
	ETags, Dates, Lastmods, Ages Claims
}

// Claims is how many hosts in a thousand make a claim, and whether it is true; the other hosts make
// none.
//
//	          truthful                         lying
//	ETags     another for each version         always the same, so 304 hides changes
//	Dates     of the last change (see below)   that of the start for ever, or always the present
//	Lastmods  of the last change               always the present, or times without a reason
//	Ages      half of the mean interval        a year
//
// A date has no fractions of a second. So that a true one never hides a change, a page has none
// during the second in which it changed. Of two ways to lie a host has one.
type Claims struct{ Truthful, Lying int }

// honesty is what a host's claims are worth.
type honesty uint8

const (
	silent honesty = iota
	truthful
	lying
)

func (c Claims) of(r uint64) honesty {
	switch n := int(r % 1000); {
	case n < c.Truthful:
		return truthful
	case n < c.Truthful+c.Lying:
		return lying
	}
	return silent
}

func (c *Changes) on() bool { return c.Mean > 0 }

func (c Changes) withDefaults(now time.Time) Changes {
	if !c.on() {
		return c
	}
	if c.Start.IsZero() {
		c.Start = now
	}
	c.Spread = cmp.Or(c.Spread, 1)
	c.Shape = cmp.Or(c.Shape, 1)
	c.GoneAfter = cmp.Or(c.GoneAfter, 10*c.Mean)
	return c
}

func (c *Changes) validate() error {
	if !c.on() {
		if c.Mean < 0 || *c != (Changes{}) {
			return fmt.Errorf(
				"config: Changes has Mean %v, must be positive when anything else of it is set", c.Mean)
		}
		return nil
	}
	var errs []error
	fail := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf("config: Changes."+format, args...))
		}
	}
	fail(!(c.Spread >= 1 && c.Spread <= 1e6), "Spread is %v, must be from 1 to a million", c.Spread)
	fail(!(c.Shape < 0 || c.Shape >= 0.01 && c.Shape <= 1e6),
		"Shape is %v, must be negative, or from 0.01 to a million", c.Shape)
	fail(c.Turn < 0 || c.BackAfter < 0 || c.GoneAfter < 0,
		"Turn, BackAfter and GoneAfter are %v, %v and %v, must not be negative", c.Turn, c.BackAfter,
		c.GoneAfter)
	fail(c.Turn > 0 && c.Turn < minCell, "Turn is %v, must be at least %v", c.Turn, minCell)
	fail(c.Gone < 0 || c.Gone > 1000 || c.Noise < 0 || c.Noise > 1000,
		"Gone and Noise are %d and %d, must be from 0 to 1000", c.Gone, c.Noise)
	for _, s := range [...]Claims{c.ETags, c.Dates, c.Lastmods, c.Ages} {
		fail(s.Truthful < 0 || s.Lying < 0 || s.Truthful+s.Lying > 1000,
			"a claim is made by %d and %d hosts in a thousand, must be from 0 to 1000 in sum", s.Truthful,
			s.Lying)
	}
	return errors.Join(errs...)
}

// promises are a host's claims.
type promises struct {
	etags, dates, lastmods, ages honesty
	second                       bool    // of two ways to do a thing, the second
	factor                       float64 // of the mean interval
}

func (w *Web) promisesOf(hostIndex int) promises {
	c := &w.cfg.Changes
	if !c.on() {
		return promises{}
	}
	draw := func(salt uint64) uint64 { return w.random(uint64(hostIndex), salt) }
	return promises{
		etags: c.ETags.of(draw(saltETags)), dates: c.Dates.of(draw(saltDates)),
		lastmods: c.Lastmods.of(draw(saltLastmods)),
		ages:     c.Ages.of(draw(saltAges)), second: draw(saltSecond)%2 == 1,
		factor: math.Pow(c.Spread, 2*unit(draw(saltSpread))-1),
	}
}

// minCell and maxCell bound the mean interval of a page, and with it the work to find its last
// change.
const (
	minCell = time.Millisecond
	maxCell = 100 * 365 * 24 * time.Hour
)

// cell is a part of a page's time in which at most one change is expected. The changes in it are
// drawn from its number alone, so the last change before any moment is found without the ones
// before it.
type cell struct {
	turn, index int64
	from, to    time.Duration // since Changes.Start
	mean        float64       // expected changes in it
}

// intervalIn is the mean interval between changes of a page in a turn.
func (w *Web) intervalIn(page uint32, turn int64) time.Duration {
	c := &w.cfg.Changes
	mean := float64(c.Mean) * w.hosts[w.hostOf(page)].says.factor
	if c.Shape > 0 {
		d := draws{w.random(uint64(page), saltPace) ^ mix(uint64(turn))}
		mean /= d.gamma(c.Shape)
	}
	return time.Duration(min(max(mean, float64(minCell)), float64(maxCell)))
}

// meanInterval is the mean interval between changes of a page at a time.
func (w *Web) meanInterval(page uint32, at time.Time) time.Duration {
	return w.intervalIn(page, w.cellAt(page, max(at.Sub(w.cfg.Changes.Start), 0)).turn)
}

// cellAt is the cell of a page in which a time lies.
func (w *Web) cellAt(page uint32, at time.Duration) cell {
	turn := int64(0)
	if t := w.cfg.Changes.Turn; t > 0 {
		turn = int64(at / t)
	}
	return w.cellIn(page, turn,
		func(length, begin time.Duration) int64 { return int64((at - begin) / length) })
}

// cellIn is a cell of a turn; index chooses it by the length of the turn's cells and the turn's
// beginning.
func (w *Web) cellIn(page uint32, turn int64, index func(length, begin time.Duration) int64) cell {
	length := w.intervalIn(page, turn)
	begin, end := time.Duration(0), time.Duration(math.MaxInt64)
	if t := w.cfg.Changes.Turn; t > 0 {
		begin = time.Duration(turn) * t
		end = begin + t
	}
	c := cell{turn: turn, index: index(length, begin)}
	c.from = begin + time.Duration(c.index)*length
	c.to = min(c.from+length, end)
	c.mean = float64(c.to-c.from) / float64(length)
	return c
}

func (w *Web) after(page uint32, c cell) cell {
	if t := w.cfg.Changes.Turn; t > 0 && c.to == time.Duration(c.turn+1)*t {
		return w.cellIn(page, c.turn+1, func(time.Duration, time.Duration) int64 { return 0 })
	}
	return w.cellIn(page, c.turn, func(time.Duration, time.Duration) int64 { return c.index + 1 })
}

// appendChanges appends the times of the changes in a cell, in order.
func (w *Web) appendChanges(dst []time.Duration, page uint32, c cell) []time.Duration {
	d := draws{w.random(uint64(page)^mix(uint64(c.turn))^mix(mix(uint64(c.index))), saltChange)}
	first := len(dst)
	for range d.poisson(c.mean) {
		at := c.from + time.Duration(d.unit()*float64(c.to-c.from))
		i := len(dst)
		dst = append(dst, at)
		for ; i > first && dst[i-1] > at; i-- {
			dst[i] = dst[i-1]
		}
		dst[i] = at
	}
	return dst
}

// lastChange is the time of a page's last change until at, since Changes.Start; 0: there was none
// yet.
func (w *Web) lastChange(page uint32, at time.Duration) time.Duration {
	if at <= 0 {
		return 0
	}
	var buf [16]time.Duration
	for c := w.cellAt(page, at); ; c = w.cellAt(page, c.from-1) {
		times := w.appendChanges(buf[:0], page, c)
		for i := len(times) - 1; i >= 0; i-- {
			if times[i] <= at && times[i] > 0 {
				return times[i]
			}
		}
		if c.from <= 0 {
			return 0
		}
	}
}

// version names what a page has at a time: the time of its last change since Changes.Start, or
// gone. In a web that does not change it is 0.
type version = time.Duration

const (
	gone version = -1 - iota
	unknown
)

// versionAt is what an answer that begins at a time has.
func (w *Web) versionAt(page uint32, at time.Time) version {
	c := &w.cfg.Changes
	if !c.on() {
		return 0
	}
	since := at.Sub(c.Start)
	if from, to := w.absence(page); since >= from && since < to {
		return gone
	}
	return w.lastChange(page, since)
}

// absence is when a page goes away and when it comes back; never: it goes in the end of time.
func (w *Web) absence(page uint32) (from, to time.Duration) {
	c := &w.cfg.Changes
	h := &w.hosts[w.hostOf(page)]
	n := page - h.first
	if !w.quirk(page, saltGone, c.Gone) || !w.isLeaf(h, n) {
		return math.MaxInt64, math.MaxInt64
	}
	r := w.random(uint64(page), saltGone)
	wait := -math.Log1p(-unit(mix(r))) * float64(c.GoneAfter)
	from, to = time.Duration(min(wait, float64(maxCell))), math.MaxInt64
	if c.BackAfter > 0 && !w.removed(page) {
		to = from + c.BackAfter
	}
	return from, to
}

// removed reports whether a page that goes away answers 410, and never comes back.
func (w *Web) removed(page uint32) bool { return w.random(uint64(page), saltGone)>>32%2 == 0 }

// isLeaf reports whether no page is reached by this one alone.
func (w *Web) isLeaf(h *host, n uint32) bool {
	fanout := uint64(w.fanout)
	if w.cfg.Thin && h.chained {
		fanout = 1
	}
	return n > 0 && n < h.pages && uint64(n)*fanout+1 >= uint64(h.pages) &&
		len(w.hanging[h.first+n]) == 0
}

// draws is a stream of random numbers from one hash.
type draws struct{ state uint64 }

func (d *draws) next() uint64  { d.state = mix(d.state); return d.state }
func (d *draws) unit() float64 { return unit(d.next()) }

// unit makes a number from 0 to below 1.
func unit(r uint64) float64 { return float64(r>>11) / (1 << 53) }

// poisson draws the number of events where mean are expected, at most 15; mean is at most 1.
func (d *draws) poisson(mean float64) (n int) {
	for left := d.unit() - math.Exp(-mean); left >= 0 && n < 15; n++ {
		left -= math.Exp(-mean) * math.Pow(mean, float64(n+1)) / math.Gamma(float64(n+2))
	}
	return n
}

// normal draws from the normal distribution of mean 0 and deviation 1 (Box and Muller 1958).
func (d *draws) normal() float64 {
	return math.Sqrt(-2*math.Log(1-d.unit())) * math.Cos(2*math.Pi*d.unit())
}

// gamma draws from the gamma distribution of a shape and the mean 1 (Marsaglia and Tsang 2000).
func (d *draws) gamma(shape float64) float64 {
	boost := 1.0
	k := shape
	if k < 1 {
		boost = math.Pow(1-d.unit(), 1/k)
		k++
	}
	a := k - 1.0/3
	for {
		x := d.normal()
		v := 1 + x/math.Sqrt(9*a)
		if v <= 0 {
			continue
		}
		v *= v * v
		if math.Log(1-d.unit()) < x*x/2+a-a*v+a*math.Log(v) {
			return a * v * boost / shape
		}
	}
}
