package workers

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"crawlnode/crawl"
	"crawlnode/peer/fanout"
	"crawlnode/ring"
	"crawlnode/web/urlnorm"
)

const (
	// firstWait is how long a call waits for this node's hosts before it asks the other nodes.
	firstWait = 20 * time.Millisecond
	// longestRound bounds one round of asking; each round is twice as long as the one before.
	longestRound = time.Second
	// callRoom is what a call of another node may take beyond the wait that it asks for.
	callRoom = copyPatience + time.Second
	// pieceBytes bounds the results in one call of another node, about; a single larger one goes
	// alone.
	pieceBytes = 2 << 20
	// MaxPatience bounds one call of Next.
	MaxPatience = time.Minute
)

// Cluster is this node and the others, as a Front sees them. Any goroutine calls it. Only Call,
// OpenPorts and Add block.
type Cluster interface {
	// Ready says why workers cannot be served; nil: they can be. Before the node has joined it is not
	// nil, and Desk must not be called.
	Ready() error
	// Desk is this node's.
	Desk() *Desk
	// Others are the other members.
	Others() []crawl.NodeID
	// Partitions is their number; 0 before the node has joined.
	Partitions() int
	// Holder is the node that holds p, as far as this node knows; "": none is known.
	Holder(p crawl.Partition) crawl.NodeID
	// Call sends a question to the Serve of a node's Desk.
	Call(ctx context.Context, to crawl.NodeID, payload []byte) ([]byte, error)
	// State is the crawl's, with its user agent and the product token of robots directives.
	State() (state, userAgent, robotsAgent string)
	// Normalize is what the settings make of a canonical URL.
	Normalize(u urlnorm.URL) urlnorm.URL
	// OpenPorts lets URLs of other crawls at these ports be requested. After an error some may be.
	OpenPorts(ctx context.Context, ports []uint16) error
	// Add stores URLs that programs have found.
	Add(ctx context.Context, found []crawl.FoundURL) (crawl.FoundReport, error)
}

// FrontOptions are the parts of a Front. All are required but Start.
type FrontOptions struct {
	Self    crawl.NodeID
	Cluster Cluster
	// Start starts a crawl that waits for its first URLs; nil: there is nothing to start.
	Start Start
	// Lease is how long leases last.
	Lease time.Duration
}

// Start lets URLs of clients start the crawl.
type Start interface {
	// May returns why the crawl could fetch nothing at all; nil when it could.
	May() error
	// Run starts an idle or finished crawl, and waits until more than half of the members know.
	Run(ctx context.Context) error
}

// Front answers workers for the whole cluster. It keeps nothing: every node answers for every
// lease.
type Front struct {
	o     FrontOptions
	first time.Duration // firstWait
}

// NewFront makes a Front.
func NewFront(o FrontOptions) *Front { return &Front{o, firstWait} }

// AddFound stores URLs that programs outside of the cluster have found.
func (f *Front) AddFound(ctx context.Context, found crawl.FoundURLs) (crawl.FoundReport, error) {
	if err := f.o.Cluster.Ready(); err != nil {
		return crawl.FoundReport{}, err
	}
	return f.o.Cluster.Add(ctx, found.URLs)
}

// NextURLs leases URLs to a worker: of this node's hosts first, then of the others'. It waits until
// there are any, for as long as the query says.
func (f *Front) NextURLs(ctx context.Context, q crawl.NextQuery) (crawl.WorkerLease, error) {
	if err := f.o.Cluster.Ready(); err != nil {
		return crawl.WorkerLease{}, err
	}
	l, err := f.next(ctx, q)
	l.CrawlState, l.UserAgent, l.RobotsAgent = f.o.Cluster.State()
	return l, err
}

func (f *Front) next(ctx context.Context, q crawl.NextQuery) (crawl.WorkerLease, error) {
	life := f.o.Lease
	if q.Life > 0 {
		q.Life = min(q.Life, crawl.MaxLeaseLife)
		life = q.Life
	}
	if q.Host != "" {
		return f.nextOf(ctx, q, life)
	}
	b := batch{
		id:     newLeaseID(time.Now().Add(life)),
		query:  q,
		worker: q.Worker,
		most:   q.Most,
		lease:  crawl.WorkerLease{URLs: []crawl.LeasedURL{}},
	}
	until := time.Now().Add(min(max(q.Wait, 0), MaxPatience))
	for wait := f.first; ; wait = min(2*wait, longestRound) {
		others := f.o.Cluster.Others()
		left := time.Until(until)
		if len(others) > 0 {
			left = min(left, wait)
		}
		g, here := f.o.Cluster.Desk().answerNext(ctx, b.question(b.missing(), max(left, 0)))
		b.add(g)
		if b.missing() > 0 && len(others) > 0 && ctx.Err() == nil {
			f.askOthers(ctx, &b, others, min(wait, max(time.Until(until), 0)))
		}
		switch {
		case len(b.lease.URLs) > 0:
			return b.finish(), nil
		case ctx.Err() != nil:
			return crawl.WorkerLease{}, context.Cause(ctx)
		case errors.Is(here, crawl.ErrTooManyLeased), here != nil && !time.Now().Before(until):
			return crawl.WorkerLease{}, here
		case !time.Now().Before(until):
			return b.lease, nil
		case here != nil:
			crawl.Wait(ctx, wait) // this node did not wait
		}
	}
}

// nextOf leases a URL of one host, at the node that holds it.
func (f *Front) nextOf(
	ctx context.Context,
	q crawl.NextQuery,
	life time.Duration,
) (crawl.WorkerLease, error) {
	b := batch{
		id:     newLeaseID(time.Now().Add(life)),
		query:  q,
		worker: q.Worker,
		most:   1,
		lease:  crawl.WorkerLease{URLs: []crawl.LeasedURL{}},
	}
	wait := min(max(q.Wait, 0), longestRound)
	start := time.Now()
	switch to := f.o.Cluster.Holder(ring.PartitionOf(q.Host, f.o.Cluster.Partitions())); to {
	case f.o.Self:
		g, err := f.o.Cluster.Desk().answerNext(ctx, b.question(1, wait))
		if b.add(g); err != nil {
			return crawl.WorkerLease{}, err
		}
	case "":
		return crawl.WorkerLease{}, fmt.Errorf("no node is known that holds %s now: %w", q.Host,
			crawl.ErrMoving)
	default:
		// As in askOthers, who hangs up does not end the call.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), wait+callRoom)
		defer cancel()
		a, err := f.call(ctx, to, encode(question{Next: b.question(1, wait)}))
		if err = errors.Join(err, a.err()); err != nil {
			return crawl.WorkerLease{}, fmt.Errorf("URLs of %s at node %s: %w", q.Host, to, err)
		}
		if a.Grant != nil {
			g := *a.Grant
			g.Left -= time.Since(start)
			b.add(g)
		}
	}
	if len(b.lease.URLs) == 0 {
		return b.lease, nil
	}
	return b.finish(), nil
}

// batch is a lease that is being gathered.
type batch struct {
	id, worker string
	query      crawl.NextQuery
	most       int
	lease      crawl.WorkerLease
	left       time.Duration
}

func (b *batch) missing() int { return b.most - len(b.lease.URLs) }

// question is what a node is asked for.
func (b *batch) question(most int, wait time.Duration) *nextQuestion {
	q := &b.query
	return &nextQuestion{
		Lease:  b.id,
		Worker: b.worker,
		Most:   most,
		Wait:   wait,
		Life:   q.Life,
		Host:   q.Host,
		Crawl:  q.Crawl,
		Any:    q.Any,
	}
}

func (b *batch) add(g Grant) {
	if len(g.URLs) == 0 {
		return
	}
	b.lease.URLs = append(b.lease.URLs, g.URLs...)
	b.lease.Notes = append(b.lease.Notes, g.Notes...)
	for len(b.lease.Notes) < len(b.lease.URLs) { // a node of an earlier version says none
		b.lease.Notes = append(b.lease.Notes, crawl.LeaseNote{})
	}
	if b.left == 0 || g.Left < b.left {
		b.left = g.Left
	}
}

// finish completes the document.
func (b *batch) finish() crawl.WorkerLease {
	at := time.Now().Add(b.left).UTC()
	b.lease.LeaseID, b.lease.LeaseExpiresAt, b.lease.LeaseSeconds = b.id, &at, b.left.Seconds()
	return b.lease
}

// askOthers asks the other nodes for what is missing, an equal share of each. If less is missing
// than there are nodes, only as many of them are asked, by chance: what one gives beyond the batch
// would be leased for nothing.
func (f *Front) askOthers(
	ctx context.Context,
	b *batch,
	others []crawl.NodeID,
	wait time.Duration,
) {
	missing := b.missing()
	others = slices.Clone(others)
	rand.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
	others = others[:min(len(others), missing)]
	share := func(to crawl.NodeID) int {
		n := missing / len(others)
		if slices.Index(others, to) < missing%len(others) {
			n++
		}
		return n
	}
	// A worker that hangs up does not end the calls: what a node has leased for it is told to
	// nobody then, but no call is without an answer.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), wait+callRoom)
	defer cancel()
	start := time.Now()
	for _, a := range fanout.Ask(others, func(to crawl.NodeID) (answer, error) {
		return f.call(ctx, to, encode(question{Next: b.question(share(to), wait)}))
	}) {
		if a.Err == nil && a.Value.Grant != nil { // a node that does not answer has nothing for now
			g := *a.Value.Grant
			g.Left -= time.Since(start) // it began when that node answered, at the earliest at start
			b.add(g)
		}
	}
}

// SettleURLs takes results of any node's URLs and returns when what counts is in the frontier.
// crawl.ErrLeaseEnded: none counts. Any other error: some may count already; sending all of them
// again is harmless.
func (f *Front) SettleURLs(
	ctx context.Context,
	r crawl.WorkerResults,
) (crawl.ResultsReport, error) {
	return f.settle(ctx, r, false)
}

// SettleLate is SettleURLs for results that count as well when their lease has ended, or when it is
// not said (""), while nobody else has the URL. Ended are then those that somebody else has, and
// URLs that were never admitted.
func (f *Front) SettleLate(
	ctx context.Context,
	r crawl.WorkerResults,
) (crawl.ResultsReport, error) {
	return f.settle(ctx, r, true)
}

func (f *Front) settle(
	ctx context.Context,
	r crawl.WorkerResults,
	late bool,
) (crawl.ResultsReport, error) {
	if err := f.o.Cluster.Ready(); err != nil {
		return crawl.ResultsReport{}, err
	}
	if late {
		if _, ok := endOf(r.LeaseID); !ok {
			r.LeaseID = ""
		}
	} else if end, ok := endOf(r.LeaseID); !ok || len(r.Results) == 0 && time.Now().After(end) {
		return crawl.ResultsReport{Ended: len(r.Results)}, crawl.ErrLeaseEnded
	}
	var sum crawl.ResultsReport
	by := map[crawl.NodeID][]crawl.WorkerResult{}
	for _, res := range r.Results {
		u, err := urlnorm.ParseRouted(res.URL)
		if err != nil {
			sum.Ended++
			continue
		}
		res.URL = u.String()
		lighten(&res)
		to := f.o.Cluster.Holder(ring.PartitionOf(crawl.Host(u.Host()), f.o.Cluster.Partitions()))
		by[to] = append(by[to], res)
	}
	var mu sync.Mutex // guards sum and errs
	var errs []error
	var calls sync.WaitGroup
	for to, results := range by {
		calls.Go(func() {
			report, err := f.settleAt(ctx, to, r.LeaseID, results, late)
			if err != nil && !late && leaseOver(r.LeaseID, time.Now()) {
				// Nobody can say, and nobody gives the host away before the lease is over: so long
				// the worker has tried.
				report.Ended, err = len(results)-report.Processed, nil
			}
			mu.Lock()
			defer mu.Unlock()
			sum.Add(report)
			if err != nil {
				errs = append(errs, err)
			}
		})
	}
	calls.Wait()
	switch {
	case len(errs) > 0:
		return sum, errors.Join(errs...)
	case sum.Processed == 0 && sum.Ended > 0:
		return sum, crawl.ErrLeaseEnded
	}
	return sum, nil
}

// settleAt takes the results of one node's URLs to it.
func (f *Front) settleAt(
	ctx context.Context,
	to crawl.NodeID,
	id string,
	results []crawl.WorkerResult,
	late bool,
) (crawl.ResultsReport, error) {
	switch to {
	case f.o.Self:
		return f.o.Cluster.Desk().settle(ctx, id, results, late)
	case "":
		return crawl.ResultsReport{}, fmt.Errorf(
			"no node is known that holds %s now: its partition is moving", results[0].URL)
	}
	var sum crawl.ResultsReport
	for len(results) > 0 {
		n := piece(results)
		a, err := f.call(ctx, to,
			encode(question{Results: &crawl.WorkerResults{LeaseID: id, Results: results[:n]}, Late: late}))
		if err = errors.Join(err, a.err()); err != nil {
			return sum, fmt.Errorf("results for node %s: %w", to, err)
		}
		if a.Report != nil {
			sum.Add(*a.Report)
		}
		results = results[n:]
	}
	return sum, nil
}

// piece is how many of the results go into one call: at least one.
func piece(results []crawl.WorkerResult) int {
	size := 0
	for i := range results {
		r := &results[i]
		size += 300 + written(r.URL) + written(r.Error) + written(r.ContentType) +
			written(r.ContentHash) + written(string(r.Simhash))
		for _, l := range r.Links {
			size += written(l)
		}
		if size > pieceBytes && i > 0 {
			return i
		}
	}
	return len(results)
}
