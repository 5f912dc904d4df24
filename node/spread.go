package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"crawlnode/crawl"
	"crawlnode/membership"
	"crawlnode/node/crawldoc"
	"crawlnode/node/datadir"
	"crawlnode/peer"
	"crawlnode/store/scopeset"
)

const (
	// spreadPiece bounds the scope entries of one message, in bytes.
	spreadPiece = 256 << 10
	// spreadTimeout bounds one call: a member that is silent keeps nobody but its own turn.
	spreadTimeout = 3 * time.Second
	// spreadRest is how long a member rests after a call that failed.
	spreadRest = 250 * time.Millisecond
)

// spreader keeps the crawl document and the scope entries the same on all members.
// What one adds it sends to each other one at once; what that missed is exchanged
// when a renewal tells of a difference. Each member has at most one call under way,
// so a silent one delays nobody.
type spreader struct {
	node    *Node
	look    chan struct{} // capacity 1
	lacking atomic.Int32  // members that may have more than this node

	mu    sync.Mutex // guards the rest
	peers map[crawl.NodeID]*counterpart
	moved chan struct{} // closed, and made anew, when a call has ended
}

// counterpart is another member as the spreader knows it.
type counterpart struct {
	busy    bool
	ask     bool      // its rules differ from those here: hear what it has
	since   time.Time // when ask was set
	asks    uint64    // raised each time ask is set
	heardTo uint64    // the last of asks that it has answered whole
	failed  time.Time // when the last call did; zero: it did not
	told    *answer   // the last one; nil: it has never answered
	heard   bool      // it has told all that it has since hearAll asked
}

// answer is what a member said that it has.
type answer struct {
	view     crawl.Epoch       // that it had installed then
	document crawldoc.Document // version and author only
	lengths  map[string]int64
}

// has reports whether the member had all this, in a view that this node knows of:
// who is ahead may have told a member that joined since what it knew before.
func (t *answer) has(w *wanted, view crawl.Epoch) bool {
	return t != nil && t.view <= view && !w.document.NewerThan(&t.document) && scopeset.Covers(t.lengths, w.lengths)
}

// wanted is what others are to have.
type wanted struct {
	document *crawldoc.Document
	lengths  map[string]int64
}

func newSpreader(n *Node) *spreader {
	return &spreader{node: n, look: make(chan struct{}, 1), peers: map[crawl.NodeID]*counterpart{}, moved: make(chan struct{})}
}

// all is what this node has now.
func (s *spreader) all() *wanted {
	return &wanted{document: s.node.doc.Current().Doc, lengths: s.node.doc.Scope.Lengths()}
}

// soon has the members told what is new here.
func (s *spreader) soon() { signal(s.look) }

// compareRules has another member asked when it judges by other rules.
func (n *Node) compareRules(id crawl.NodeID, theirs *peer.RulesStamp) {
	if theirs == nil || agree(n.doc, theirs) {
		return
	}
	v := n.members.Snapshot().View
	if v == nil {
		return
	}
	if _, member := v.Member(id); !member {
		return // what it knows and no member does was never acknowledged
	}
	n.spread.mu.Lock()
	n.spread.askLocked(id)
	n.spread.mu.Unlock()
	n.spread.soon()
}

func (s *spreader) askLocked(id crawl.NodeID) {
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
func (s *spreader) countLocked() {
	var k int32
	for _, c := range s.peers {
		if c.ask {
			k++
		}
	}
	s.lacking.Store(k)
}

// run exchanges with every member that lacks something or has more. It ends with ctx
// or an error of the disk, when all calls have.
func (s *spreader) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		due, rests := s.claim(time.Now())
		for _, m := range due {
			wg.Go(func() {
				if err := s.exchange(ctx, m); errors.Is(err, ErrStorage) && !isFull(err) {
					cancel(err)
				}
			})
		}
		var again <-chan time.Time
		if rests {
			again = time.After(spreadRest)
		}
		select {
		case <-ctx.Done():
			if err := context.Cause(ctx); errors.Is(err, ErrStorage) {
				return err
			}
			return nil
		case <-s.look:
		case <-again:
		}
	}
}

// claim picks the members to exchange with now. rests: another one is to be tried
// again when it has rested.
func (s *spreader) claim(now time.Time) (due []membership.Member, rests bool) {
	members, all, view := s.node.others(), s.all(), s.node.viewNumber()
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
		case c.busy || !c.ask && c.told.has(all, max(view, c.viewLocked())):
		case now.Sub(c.failed) < spreadRest:
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
	if c.told == nil {
		return 0
	}
	return c.told.view
}

// exchange calls a member until both have the same, or one call fails.
func (s *spreader) exchange(ctx context.Context, m membership.Member) error {
	for {
		req, asks, err := s.request(m.ID)
		if err != nil {
			s.note(m.ID, nil, req, asks, err)
			return datadir.Failed("read the scope entries", err)
		}
		reply, err := s.call(ctx, m, req)
		if err == nil {
			err = s.node.takeOver(reply.Document, reply.Pieces)
		}
		if done := s.note(m.ID, reply, req, asks, err); done || err != nil {
			s.soon() // what came meanwhile is looked for again
			return err
		}
	}
}

func (s *spreader) call(ctx context.Context, m membership.Member, req *peer.CrawlRequest) (*peer.CrawlReply, error) {
	ctx, cancel := context.WithTimeout(ctx, spreadTimeout)
	defer cancel()
	reply, err := peer.Call(ctx, s.node.pool, targetOf(m), req, peer.PeerClient.Crawl)
	if err == nil && reply.Error != "" {
		err = errors.New(reply.Error)
	}
	return reply, err
}

// request says what is here, with what the member lacks by its last answer.
func (s *spreader) request(id crawl.NodeID) (*peer.CrawlRequest, uint64, error) {
	s.mu.Lock()
	var c counterpart
	if known := s.peers[id]; known != nil {
		c = *known
	}
	s.mu.Unlock()
	n := s.node
	req := &peer.CrawlRequest{View: uint64(n.viewNumber()), Fetch: c.ask, Rules: stampOf(n.doc), Have: wireLengths(n.doc.Scope.Lengths())}
	if c.told == nil {
		return req, c.asks, nil // first hear what it has
	}
	if doc := n.doc.Current().Doc; doc.NewerThan(&c.told.document) {
		req.Document = encodeDocument(doc)
	}
	pieces, _, err := n.doc.Scope.Missing(c.told.lengths, spreadPiece)
	req.Pieces = wirePieces(pieces)
	return req, c.asks, err
}

// note keeps what a call brought, and reports whether nothing is left to exchange. A
// call after which the member has no more than before is the last one, too: whatever
// keeps it from storing has to end first.
func (s *spreader) note(id crawl.NodeID, reply *peer.CrawlReply, req *peer.CrawlRequest, asks uint64, err error) (done bool) {
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
	before := c.told
	c.failed, c.told = time.Time{}, answerOf(reply)
	if req.Fetch && !reply.More {
		c.ask, c.heardTo = c.asks != asks, asks // else asked anew meanwhile
		c.heard = c.heard || !c.ask
	}
	complete := c.told.has(all, c.told.view)
	grew := before == nil || !scopeset.Covers(before.lengths, c.told.lengths) || c.told.document.NewerThan(&before.document)
	more := !scopeset.Covers(lengthsOf(req.Have), all.lengths) || all.document.Version != req.Rules.CrawlVersion
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
	t := &answer{view: crawl.Epoch(reply.View), lengths: make(map[string]int64, len(reply.Have))}
	t.document.Version, t.document.By = reply.Rules.GetCrawlVersion(), crawl.NodeID(reply.Rules.GetCrawlBy())
	for _, l := range reply.Have {
		t.lengths[l.Origin] = int64(l.Length)
	}
	return t
}

// takeOver stores a document and pieces of logs from another member. On a full disk
// the document has its place, and the pieces come again.
func (n *Node) takeOver(raw []byte, pieces []*peer.ScopePiece) error {
	var full error
	if len(pieces) > 0 {
		if err := n.doc.TakeScope(fromWirePieces(pieces)); isFull(err) {
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
	changed, err := n.doc.Merge(doc, time.Now())
	if changed {
		n.documentChanged()
	}
	return errors.Join(full, err)
}

// joinScope stores an entry here and returns; the members are being told. It needs no
// majority, since it stands on nothing but a URL that says the same: a seed, or
// what a seed redirects to, opens its own scope wherever it is stored or fetched
// (pipeline.OpensScope). So the entry is as safe as that URL.
func (n *Node) joinScope(entries ...string) error {
	if len(entries) == 0 {
		return nil
	}
	if err := n.doc.AddScope(entries); err != nil {
		return err
	}
	n.spread.soon()
	return nil
}

// Prepare is the pipeline's: it waits a moment for entries that are on their way. entry,
// unless it is "", is what the page's own URL opens.
func (n *Node) Prepare(ctx context.Context, entry string) (complete bool, err error) {
	complete = n.spread.caughtUp(ctx)
	if entry == "" {
		return complete, nil
	}
	return complete, n.joinScopeInTime(ctx, entry)
}

// joinScopeInTime is joinScope for a page or a link that is at hand: a full disk holds it
// up, and nothing is lost.
func (n *Node) joinScopeInTime(ctx context.Context, entries ...string) error {
	return onceThereIsSpace(ctx, n.running, func() error { return n.joinScope(entries...) })
}
