package dashboard

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"crawlnode/crawl"
	"crawlnode/ticks"
)

// sampleEvery is the distance of the finest samples.
const sampleEvery = time.Second

// maxCurves bounds the nodes that have a curve of their own.
const maxCurves = 32

// Span is a length of time that the curves can show.
type Span struct {
	Name  string // in addresses, such as 1h
	Title string
	step  time.Duration // distance of its samples
	of    int           // so many samples of the span before make one
	kept  int           // samples
}

// spans lists the spans, the finest first.
var spans = [...]Span{
	{"10m", "10 minutes", sampleEvery, 1, 600},
	{"1h", "1 hour", 5 * time.Second, 5, 720},
	{"24h", "1 day", time.Minute, 12, 1440},
	{"7d", "1 week", 10 * time.Minute, 10, 1008},
}

// usualSpan is the place in spans of what is shown unless another one is asked for.
const usualSpan = 1

// SpanNames lists the names of the spans.
func SpanNames() []string {
	names := make([]string, len(spans))
	for i := range spans {
		names[i] = spans[i].Name
	}
	return names
}

// spanOf is the place in spans of a name; of an unknown one, that of the usual span.
func spanOf(name string) int {
	if i := slices.IndexFunc(spans[:], func(s Span) bool { return s.Name == name }); i >= 0 {
		return i
	}
	return usualSpan
}

// History keeps the cluster's figures. The zero value is not ready: use NewHistory.
type History struct {
	backend Backend

	mu     sync.Mutex // guards the rest; held for moments only
	nodes  []curve    // only ever grows, to maxCurves
	rings  [len(spans)]ring
	errors float64 // total of the status before
	visits float64 // the same, of revisits
	last   time.Time
}

// ring has the samples of one span.
type ring struct {
	samples []sample
	first   int // place of the oldest
	adding  int // samples since the next coarser ring got one
}

// push adds a sample, in the place of the oldest when there are as many as are kept.
func (r *ring) push(s sample, kept int) {
	switch len(r.samples) {
	case 0:
		r.samples = append(make([]sample, 0, kept), s)
	case kept:
		r.samples[r.first] = s
		r.first = (r.first + 1) % kept
	default:
		r.samples = append(r.samples, s)
	}
}

// last returns the newest n samples, oldest first.
func (r *ring) last(n int) []sample {
	list := make([]sample, n)
	for i := range list {
		list[i] = r.samples[(r.first+len(r.samples)-n+i)%len(r.samples)]
	}
	return list
}

// curve is a node in the history.
type curve struct {
	id   crawl.NodeID
	name string
}

// sample is the cluster at one moment. Speeds are per second.
type sample struct {
	at                   time.Time
	pages, bytes, errors float32
	queued, inFlight     float32
	revisits, due        float32
	expected             float32 // NaN: there is no model
	nodes                Points  // pages per second by the order of History.nodes; NaN: not known
}

// NewHistory returns an empty history of b's status. Run fills it.
func NewHistory(b Backend) *History { return &History{backend: b} }

// Run samples the status until ctx ends.
func (h *History) Run(ctx context.Context) {
	tick := ticks.New(sampleEvery)
	defer tick.Stop()
	for {
		if st, err := h.backend.Status(ctx, false); err == nil {
			h.add(time.Now(), st)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// add adds one status. They come in order, every sampleEvery.
func (h *History) add(now time.Time, st *crawl.Status) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := sample{
		at: now, pages: float32(st.Throughput.PagesPerSecond.Now),
		bytes:  float32(st.Throughput.BytesInPerSecond.Now),
		queued: float32(st.Frontier.Queued), inFlight: float32(st.Frontier.InFlight),
		due: float32(st.Freshness.Due), expected: float32(math.NaN()),
	}
	if e := st.Freshness.Expected; e != nil {
		s.expected = float32(*e)
	}
	errors, visits := float64(st.Fetch.ErrorsTotal), float64(st.Freshness.RevisitsTotal)
	if !h.last.IsZero() && now.After(h.last) { // totals fall while a partition moves
		passed := now.Sub(h.last).Seconds()
		s.errors, s.revisits = float32(max(errors-h.errors, 0)/passed),
			float32(max(visits-h.visits, 0)/passed)
	}
	h.errors, h.visits, h.last = errors, visits, now
	for i := range st.Nodes {
		n := &st.Nodes[i]
		at := h.curveLocked(n)
		if at < 0 || n.PagesPerSecond == nil ||
			n.State != crawl.NodeAlive && n.State != crawl.NodeDraining {
			continue
		}
		s.nodes = s.nodes.grown(at + 1)
		s.nodes[at] = float32(*n.PagesPerSecond)
	}
	h.pushLocked(s)
}

// pushLocked adds a sample to the finest ring, and to each coarser one the mean of those that make
// one of its own.
func (h *History) pushLocked(s sample) {
	for i := range h.rings {
		r := &h.rings[i]
		r.push(s, spans[i].kept)
		r.adding++
		if i+1 == len(spans) || r.adding < spans[i+1].of {
			return
		}
		r.adding = 0
		s = mean(r.last(spans[i+1].of))
	}
}

// curveLocked finds the place of a node, or -1 when all places are taken.
func (h *History) curveLocked(n *crawl.NodeStatus) int {
	i := slices.IndexFunc(h.nodes, func(c curve) bool { return c.id == n.ID })
	switch {
	case i >= 0:
		h.nodes[i].name = n.Name
		return i
	case len(h.nodes) == maxCurves:
		return -1
	}
	h.nodes = append(h.nodes, curve{n.ID, n.Name})
	return len(h.nodes) - 1
}

// mean is the mean of several samples, at the time of the last.
func mean(list []sample) sample {
	m := sample{at: list[len(list)-1].at}
	n, models := float32(len(list)), float32(0)
	for i := range list {
		s := &list[i]
		m.pages += s.pages / n
		m.bytes += s.bytes / n
		m.errors += s.errors / n
		m.queued += s.queued / n
		m.inFlight += s.inFlight / n
		m.revisits += s.revisits / n
		m.due += s.due / n
		if !isNaN(s.expected) {
			m.expected, models = m.expected+s.expected, models+1
		}
		m.nodes = m.nodes.grown(len(s.nodes))
	}
	m.expected /= models // NaN without any
	for k := range m.nodes {
		sum, known := float32(0), float32(0)
		for i := range list {
			if k < len(list[i].nodes) && !isNaN(list[i].nodes[k]) {
				sum, known = sum+list[i].nodes[k], known+1
			}
		}
		if known > 0 {
			m.nodes[k] = sum / known
		}
	}
	return m
}

// Series is a table of samples by columns, all of one length.
type Series struct {
	Times    []int64 `json:"t"` // Unix seconds
	Pages    Points  `json:"pages_per_second"`
	Bytes    Points  `json:"bytes_in_per_second"`
	Errors   Points  `json:"errors_per_second"`
	Queued   Points  `json:"queued"`
	InFlight Points  `json:"in_flight"`
	Revisits Points  `json:"revisits_per_second"`
	Due      Points  `json:"due"`
	Expected Points  `json:"expected_freshness"` // null: there is no model
	Nodes    []Curve `json:"nodes"`
}

// Curve is one node's pages per second.
type Curve struct {
	ID     crawl.NodeID `json:"id"`
	Name   string       `json:"name"`
	Hue    int          `json:"hue"` // number of its colour; -1: it is not in the status
	Letter string       `json:"letter"`
	Pages  Points       `json:"pages_per_second"` // null: unknown
}

// Series returns the samples of a span, by its place in spans.
func (h *History) Series(span int, ranks ranks) Series {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := h.rings[span].last(len(h.rings[span].samples))
	s := Series{Times: make([]int64, len(list)), Nodes: make([]Curve, len(h.nodes))}
	for _, column := range []*Points{&s.Pages, &s.Bytes, &s.Errors, &s.Queued, &s.InFlight,
		&s.Revisits, &s.Due, &s.Expected} {
		*column = make(Points, len(list))
	}
	for k, n := range h.nodes {
		s.Nodes[k] = Curve{
			ID:     n.id,
			Name:   n.name,
			Hue:    ranks.Hue(n.id),
			Letter: ranks.Letter(n.id),
			Pages:  make(Points, len(list)),
		}
	}
	for i := range list {
		x := &list[i]
		s.Times[i] = x.at.Unix()
		s.Pages[i], s.Bytes[i], s.Errors[i], s.Queued[i], s.InFlight[i] = x.pages, x.bytes, x.errors,
			x.queued, x.inFlight
		s.Revisits[i], s.Due[i], s.Expected[i] = x.revisits, x.due, x.expected
		for k := range s.Nodes {
			s.Nodes[k].Pages[i] = x.nodes.at(k)
		}
	}
	slices.SortFunc(s.Nodes, compareCurves)
	return s
}

func compareCurves(a, b Curve) int {
	return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(string(a.ID), string(b.ID)))
}

// span is the place of the span that the overview shows: that of a name, else the shortest one that
// is not full yet, and no longer than the usual one.
func (h *History) span(name string) int {
	if name != "" {
		return spanOf(name)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	at := 0
	for at < usualSpan && len(h.rings[at].samples) == spans[at].kept {
		at++
	}
	return at
}

// Points are figures, some of them unknown (NaN); those are null in JSON.
type Points []float32

func isNaN(v float32) bool { return v != v }

// at is the figure at a position, NaN beyond the end.
func (p Points) at(i int) float32 {
	if i < len(p) {
		return p[i]
	}
	return float32(math.NaN())
}

// grown returns p with at least n places; new ones are unknown.
func (p Points) grown(n int) Points {
	for len(p) < n {
		p = append(p, float32(math.NaN()))
	}
	return p
}

// MarshalJSON writes at most two decimals.
func (p Points) MarshalJSON() ([]byte, error) {
	b := []byte{'['}
	for i, v := range p {
		if i > 0 {
			b = append(b, ',')
		}
		if isNaN(v) {
			b = append(b, "null"...)
			continue
		}
		b = strconv.AppendFloat(b, math.Round(float64(v)*100)/100, 'f', -1, 64)
	}
	return append(b, ']'), nil
}
