package spread

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"crawlnode/crawl"
	"crawlnode/local/datadir"
	"crawlnode/membership"
	"crawlnode/peer"
	"crawlnode/settings/crawldoc"
	"crawlnode/settings/scopeset"
)

const (
	// maxPiece bounds the scope entries of one message, in bytes.
	maxPiece = 256 << 10
	// callTimeout bounds one call.
	callTimeout = 3 * time.Second
	// rest is how long a member rests after a call that failed.
	rest = 250 * time.Millisecond
)

// Spreader keeps the crawl document and the scope entries the same on all members.
// Run exchanges with them; the other methods may be called from anywhere.
type Spreader struct {
	o       Options
	look    chan struct{} // capacity 1
	lacking atomic.Int32  // members that may have more than this node

	mu    sync.Mutex // guards the rest
	peers map[crawl.NodeID]*counterpart
	moved chan struct{} // closed, and made anew, when a call has ended
}

// New makes a node's Spreader.
func New(o Options) *Spreader {
	return &Spreader{
		o:     o,
		look:  make(chan struct{}, 1),
		peers: map[crawl.NodeID]*counterpart{},
		moved: make(chan struct{}),
	}
}

// counterpart is another member as the spreader knows it.
type counterpart struct {
	busy     bool      // a call is under way
	ask      bool      // its stamp differs from the one here: fetch what it has
	since    time.Time // when ask was set
	asks     uint64    // raised each time ask is set
	answered uint64    // the last of asks that it has answered whole
	failed   time.Time // when the last call failed; zero: it did not
	last     *answer   // the last one; nil: it has never answered
	fetched  bool      // all that it has is here, since CatchUp asked
}

// answer is what a member has, by its answer.
type answer struct {
	view     crawl.Epoch       // that it had installed then
	document crawldoc.Document // version and author only
	lengths  map[string]int64
}

// has reports whether the member had all this, in a view that this node knows: a member
// with a later view may have sent less than this to a member that joined with that view.
func (a *answer) has(w *wanted, view crawl.Epoch) bool {
	return a != nil && a.view <= view && !w.document.NewerThan(&a.document) &&
		scopeset.Covers(a.lengths, w.lengths)
}

// wanted is what others are to have.
type wanted struct {
	document *crawldoc.Document
	lengths  map[string]int64
}

// all is what this node has now.
func (s *Spreader) all() *wanted {
	return &wanted{document: s.o.document(), lengths: s.o.Document.Scope.Lengths()}
}

// Wake has Run look at once for members that lack something.
func (s *Spreader) Wake() {
	crawl.Signal(s.look)
}

// Compare takes the stamp of another node's rules: a member with other rules is asked for
// what it has. agrees: its rules are those of this node.
func (s *Spreader) Compare(id crawl.NodeID, theirs *peer.RulesStamp) (agrees bool) {
	if s.agrees(theirs) {
		return true
	}
	v := s.o.Cluster.View()
	if theirs == nil || v == nil {
		return false
	}
	if _, member := v.Member(id); !member {
		return false // what no member has was never acknowledged
	}
	s.mu.Lock()
	s.askLocked(id)
	s.mu.Unlock()
	s.Wake()
	return false
}

func (s *Spreader) askLocked(id crawl.NodeID) {
	c := s.peers[id]
	if c == nil {
		c = &counterpart{}
		s.peers[id] = c
	}
	if !c.ask {
		c.ask, c.since = true, time.Now()
	}
	c.asks++
	s.countLocked()
}

// countLocked brings lacking up to date.
func (s *Spreader) countLocked() {
	var k int32
	for _, c := range s.peers {
		if c.ask {
			k++
		}
	}
	s.lacking.Store(k)
}

// Run exchanges with every member that lacks something or has more. It ends with ctx
// or an error of the disk, when all calls have.
func (s *Spreader) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		due, rests := s.claim(time.Now())
		for _, m := range due {
			wg.Go(func() {
				if err := s.exchange(ctx, m); datadir.Fatal(err) {
					cancel(err)
				}
			})
		}
		var again <-chan time.Time
		if rests {
			again = time.After(rest)
		}
		select {
		case <-ctx.Done():
			if err := context.Cause(ctx); errors.Is(err, datadir.ErrStorage) {
				return err
			}
			return nil
		case <-s.look:
		case <-again:
		}
	}
}

// claim picks the members to exchange with now. rests: another one is to be tried
// again after its rest.
func (s *Spreader) claim(now time.Time) (due []membership.Member, rests bool) {
	members, all, view := s.o.others(), s.all(), s.o.viewNumber()
	s.mu.Lock()
	defer s.mu.Unlock()
	left := make(map[crawl.NodeID]*counterpart, len(members))
	for _, m := range members {
		c := s.peers[m.ID]
		if c == nil {
			c = &counterpart{ask: true, asks: 1, since: now}
		}
		left[m.ID] = c
		switch {
		case c.busy || !c.ask && c.last.has(all, max(view, c.viewLocked())):
		case now.Sub(c.failed) < rest:
			rests = true
		default:
			c.busy = true
			due = append(due, m)
		}
	}
	s.peers = left
	s.countLocked()
	return due, rests
}

func (c *counterpart) viewLocked() crawl.Epoch {
	if c.last == nil {
		return 0
	}
	return c.last.view
}

// exchange calls a member until both have the same, or one call fails.
func (s *Spreader) exchange(ctx context.Context, m membership.Member) error {
	for {
		req, asks, err := s.request(m.ID)
		if err != nil {
			s.note(m.ID, nil, req, asks, err)
			return datadir.Failed("read the scope entries", err)
		}
		reply, err := s.call(ctx, m, req)
		if err == nil {
			err = s.takeOver(reply.Document, reply.Pieces)
		}
		if done := s.note(m.ID, reply, req, asks, err); done || err != nil {
			s.Wake() // for what came meanwhile
			return err
		}
	}
}

func (s *Spreader) call(
	ctx context.Context,
	m membership.Member,
	req *peer.CrawlRequest,
) (*peer.CrawlReply, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	reply, err := s.o.Cluster.Call(ctx, m, req)
	if err == nil && reply.Error != "" {
		err = errors.New(reply.Error)
	}
	return reply, err
}

// request is the next one to a member: what this node has, with what the member lacks by its last
// answer.
func (s *Spreader) request(id crawl.NodeID) (*peer.CrawlRequest, uint64, error) {
	s.mu.Lock()
	var c counterpart
	if known := s.peers[id]; known != nil {
		c = *known
	}
	s.mu.Unlock()
	req := &peer.CrawlRequest{
		View:  uint64(s.o.viewNumber()),
		Fetch: c.ask,
		Rules: s.Stamp(),
		Have:  wireLengths(s.o.Document.Scope.Lengths()),
	}
	if c.last == nil {
		return req, c.asks, nil // its answer shows what it lacks
	}
	if doc := s.o.document(); doc.NewerThan(&c.last.document) {
		req.Document = encodeDocument(doc)
	}
	pieces, _, err := s.o.Document.Scope.Missing(c.last.lengths, maxPiece)
	req.Pieces = wirePieces(pieces)
	return req, c.asks, err
}

// note keeps the result of a call, and reports whether nothing is left to exchange. A
// call after which the member has no more than before is the last one, too: the member
// rests until it can store again.
func (s *Spreader) note(
	id crawl.NodeID,
	reply *peer.CrawlReply,
	req *peer.CrawlRequest,
	asks uint64,
	err error,
) (done bool) {
	all := s.all()
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() {
		s.countLocked()
		close(s.moved)
		s.moved = make(chan struct{})
	}()
	c := s.peers[id]
	if c == nil {
		return true // it has left the view
	}
	if err != nil {
		c.busy, c.failed = false, time.Now()
		return true
	}
	before := c.last
	c.failed, c.last = time.Time{}, answerOf(reply)
	if req.Fetch && !reply.More {
		c.ask, c.answered = c.asks != asks, asks // else asked anew meanwhile
		c.fetched = c.fetched || !c.ask
	}
	complete := c.last.has(all, c.last.view)
	grew := before == nil || !scopeset.Covers(before.lengths, c.last.lengths) ||
		c.last.document.NewerThan(&before.document)
	more := !scopeset.Covers(lengthsOf(req.Have), all.lengths) ||
		all.document.Version != req.Rules.CrawlVersion
	if c.ask || !complete && (grew || more) {
		return false
	}
	if !complete {
		c.failed = time.Now()
	}
	c.busy = false
	return true
}

func answerOf(reply *peer.CrawlReply) *answer {
	a := &answer{view: crawl.Epoch(reply.View), lengths: lengthsOf(reply.Have)}
	a.document.Version, a.document.By = reply.Rules.GetCrawlVersion(),
		crawl.NodeID(reply.Rules.GetCrawlBy())
	return a
}

// takeOver stores a document and pieces of logs from another member. On a full disk
// the document is stored none the less, and the pieces come again.
func (s *Spreader) takeOver(raw []byte, pieces []*peer.ScopePiece) error {
	var full error
	if len(pieces) > 0 {
		if err := s.o.Document.TakeScope(fromWirePieces(pieces)); errors.Is(err, datadir.ErrNoRoom) {
			full = err
		} else if err != nil {
			return err
		}
	}
	if len(raw) == 0 {
		return full
	}
	doc := &crawldoc.Document{}
	if err := json.Unmarshal(raw, doc); err != nil {
		return fmt.Errorf("a peer's crawl document: %w", err)
	}
	changed, err := s.o.Document.Merge(doc, time.Now())
	if changed {
		s.o.Cluster.Changed()
	}
	return errors.Join(full, err)
}

// Add stores entries here and returns; Run sends them to the members. It needs no majority,
// since the URL that opens its own scope says the same: see the package's page.
func (s *Spreader) Add(entries ...string) error {
	if len(entries) == 0 {
		return nil
	}
	if err := s.o.Document.AddScope(entries); err != nil {
		return err
	}
	s.Wake()
	return nil
}
