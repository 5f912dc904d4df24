package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"crawlnode/crawl"
	"crawlnode/membership"
	"crawlnode/peer"
)

// scopePage is how many scope entries travel in one message.
const scopePage = 2000

// spreader keeps the crawl document and the scope entries the same on all
// members. Changes are pushed by who makes them; what a push missed is pulled
// after a renewal told of a newer version.
type spreader struct {
	node *Node
	look chan struct{} // capacity 1

	mu   sync.Mutex // guards from
	from map[crawl.NodeID]bool
}

// compareRules has another member's document and scope entries pulled when they
// are not the same as here. Both sides do; the union is what both end with.
func (n *Node) compareRules(id crawl.NodeID, theirs *peer.RulesStamp) {
	if theirs == nil || n.doc.agrees(theirs) {
		return
	}
	n.spread.mu.Lock()
	n.spread.from[id] = true
	n.spread.mu.Unlock()
	select {
	case n.spread.look <- struct{}{}:
	default:
	}
}

// run pulls from the members that were found to have more.
func (s *spreader) run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.look:
		}
		s.mu.Lock()
		from := s.from
		s.from = map[crawl.NodeID]bool{}
		s.mu.Unlock()
		for id := range from {
			if err := s.node.pullDocument(ctx, id); errors.Is(err, ErrStorage) {
				return err
			}
		}
	}
}

// pullDocument takes over the document, when it is newer, and all scope entries
// of another member that has this node's view installed.
func (n *Node) pullDocument(ctx context.Context, id crawl.NodeID) error {
	to := n.target(id)
	for after := uint64(0); ; {
		req := &peer.CrawlRequest{View: uint64(n.viewNumber()), Fetch: true, After: after}
		reply, err := peer.Call(ctx, n.pool, to, req, peer.PeerClient.Crawl)
		if err != nil {
			return err
		}
		if err := n.takeOver(reply.Document, reply.Scope); err != nil {
			return err
		}
		if !reply.More {
			return nil
		}
		after += uint64(len(reply.Scope))
	}
}

// takeOver stores a document and scope entries from another member.
func (n *Node) takeOver(raw []byte, entries []string) error {
	if err := n.doc.AddScope(entries); err != nil {
		return err
	}
	if len(raw) == 0 {
		return nil
	}
	doc := &document{}
	if err := json.Unmarshal(raw, doc); err != nil {
		return fmt.Errorf("a peer's crawl document: %w", err)
	}
	changed, err := n.doc.Merge(doc)
	if changed {
		n.documentChanged()
	}
	return err
}

// Crawl answers pushes and pulls of the document and the scope entries. A push
// by somebody with an older view is refused: its sender must learn of the
// members that joined since, or they would miss it.
func (h handler) Crawl(_ context.Context, _ string, req *peer.CrawlRequest) (*peer.CrawlReply, error) {
	n := h.node
	view := uint64(n.viewNumber())
	switch {
	case !req.Fetch && req.View < view:
		return &peer.CrawlReply{View: view, Error: fmt.Sprintf("the sender is at view %d, this node at %d", req.View, view)}, nil
	case req.Fetch && view < req.View:
		return nil, status.Errorf(codes.Unavailable, "this node is at view %d, not yet at %d", view, req.View)
	case len(req.Scope) > scopePage:
		return nil, status.Errorf(codes.InvalidArgument, "%d scope entries in one message, %d are allowed", len(req.Scope), scopePage)
	}
	if err := n.takeOver(req.Document, req.Scope); err != nil {
		return &peer.CrawlReply{View: view, Error: err.Error()}, nil
	}
	reply := &peer.CrawlReply{View: view}
	if !req.Fetch {
		n.answerPush(req, reply)
		return reply, nil
	}
	doc, err := json.Marshal(n.doc.Current().doc)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	reply.Document = doc
	all := n.doc.seeds.All()
	start := min(req.After, uint64(len(all)))
	end := min(start+scopePage, uint64(len(all)))
	reply.Scope, reply.More = all[start:end], end < uint64(len(all))
	return reply, nil
}

// answerPush tells who pushes a document that a newer one has won here.
func (n *Node) answerPush(req *peer.CrawlRequest, reply *peer.CrawlReply) {
	if len(req.Document) == 0 {
		return
	}
	own, pushed := n.doc.Current().doc, &document{}
	if err := json.Unmarshal(req.Document, pushed); err != nil || !own.newerThan(pushed) {
		return
	}
	raw, err := json.Marshal(own)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	reply.Document = raw
}

// spreadScope stores scope entries here and on every active member, and returns
// when all have them on disk. It goes on until ctx ends.
func (n *Node) spreadScope(ctx context.Context, entries []string) error {
	var fresh []string
	for _, e := range entries {
		if !n.doc.seeds.Has(e) {
			fresh = append(fresh, e)
		}
	}
	if len(fresh) == 0 {
		// Whoever stored it here first may still be telling the others; a link
		// judged out of scope there would be lost, so tell them ourselves.
		fresh = entries
	}
	if err := n.doc.AddScope(fresh); err != nil {
		return err
	}
	for len(fresh) > 0 {
		page := fresh[:min(len(fresh), scopePage)]
		fresh = fresh[len(page):]
		if err := n.pushAll(ctx, func() *peer.CrawlRequest { return &peer.CrawlRequest{Scope: page} }, true); err != nil {
			return err
		}
	}
	return nil
}

// pushDocument sends the document to every active member. With all it goes on
// until each has it or ctx ends; without, one try is made and the renewals do
// the rest.
func (n *Node) pushDocument(ctx context.Context, all bool) error {
	return n.pushAll(ctx, func() *peer.CrawlRequest {
		doc, err := json.Marshal(n.doc.Current().doc)
		if err != nil {
			panic("BUG: " + err.Error())
		}
		return &peer.CrawlRequest{Document: doc}
	}, all)
}

// pushAll sends a request to every other member of the installed view, and again
// to those that did not take it. The view is read anew each time, so a member
// that joined meanwhile gets it too.
func (n *Node) pushAll(ctx context.Context, make func() *peer.CrawlRequest, until bool) error {
	took := map[crawl.NodeID]bool{}
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		view := n.viewNumber()
		var missing []membership.Member
		for _, m := range n.others() {
			if !took[m.ID] {
				missing = append(missing, m)
			}
		}
		if len(missing) == 0 {
			return nil
		}
		req := make()
		req.View = uint64(view)
		last := n.pushOnce(ctx, missing, req, took)
		if len(n.othersWithout(took)) == 0 {
			return nil
		}
		if !until {
			return last
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not every member could be told: %w", last)
		case <-time.After(wait):
		}
	}
}

// pushOnce sends req to members at once and notes who took it; it returns one
// of the errors.
func (n *Node) pushOnce(ctx context.Context, to []membership.Member, req *peer.CrawlRequest, took map[crawl.NodeID]bool) error {
	var mu sync.Mutex // guards took and last
	var last error
	var wg sync.WaitGroup
	for _, m := range to {
		wg.Go(func() {
			reply, err := peer.Call(ctx, n.pool, targetOf(m), req, peer.PeerClient.Crawl)
			if err == nil && reply.Error != "" {
				err = errors.New(reply.Error)
			}
			if err == nil { // perhaps with a newer document than the one that was sent
				err = n.takeOver(reply.Document, nil)
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				last = fmt.Errorf("member %s: %w", m.Name, err)
				return
			}
			took[m.ID] = true
		})
	}
	wg.Wait()
	return last
}

func (n *Node) othersWithout(took map[crawl.NodeID]bool) []membership.Member {
	var left []membership.Member
	for _, m := range n.others() {
		if !took[m.ID] {
			left = append(left, m)
		}
	}
	return left
}
