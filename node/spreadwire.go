package node

import (
	"context"
	"encoding/json"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"crawlnode/crawl"
	"crawlnode/node/crawldoc"
	"crawlnode/peer"
	"crawlnode/store/scopeset"
)

// This file is the spreader's side towards the wire: what other members send and ask.

// maxSpreadBytes bounds the entries that a peer may send at once.
const maxSpreadBytes = 1 << 20

// Crawl answers another member's exchange of document and scope entries. A question
// is answered only by who has the asker's view installed: a member that joined with
// it must miss nothing that was stored under an older one.
func (h handler) Crawl(_ context.Context, _ string, req *peer.CrawlRequest) (*peer.CrawlReply, error) {
	n := h.node
	if view := uint64(n.viewNumber()); req.Fetch && view < req.View {
		return nil, status.Errorf(codes.Unavailable, "this node is at view %d, not yet at %d", view, req.View)
	}
	if req.Fetch && n.foundsDocument() {
		return nil, status.Error(codes.Unavailable, "this node is founding the cluster")
	}
	size := 0
	for _, p := range req.Pieces {
		size += len(p.Lines)
	}
	if size > maxSpreadBytes {
		return nil, status.Errorf(codes.InvalidArgument, "%d bytes of scope entries in one message, %d are allowed", size, maxSpreadBytes)
	}
	reply := &peer.CrawlReply{}
	if err := n.takeOver(req.Document, req.Pieces); err != nil {
		reply.Error = err.Error()
	}
	// After storing: had a newer view come before, the sender must count under that.
	reply.View = uint64(n.viewNumber())
	reply.Rules, reply.Have = stampOf(n.doc), wireLengths(n.doc.Scope.Lengths())
	theirs := crawldoc.Document{Version: req.Rules.GetCrawlVersion(), By: crawl.NodeID(req.Rules.GetCrawlBy())}
	if doc := n.doc.Current().Doc; doc.NewerThan(&theirs) {
		reply.Document = encodeDocument(doc)
	}
	if !req.Fetch {
		return reply, nil
	}
	pieces, more, err := n.doc.Scope.Missing(lengthsOf(req.Have), spreadPiece)
	if err != nil {
		return nil, status.Error(codes.Internal, fmt.Sprintf("read the scope entries: %v", err))
	}
	reply.Pieces, reply.More = wirePieces(pieces), more
	return reply, nil
}

func encodeDocument(d *crawldoc.Document) []byte {
	raw, err := json.Marshal(d)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return raw
}

func wireLengths(lengths map[string]int64) []*peer.ScopeLog {
	logs := make([]*peer.ScopeLog, 0, len(lengths))
	for origin, n := range lengths {
		logs = append(logs, &peer.ScopeLog{Origin: origin, Length: uint64(n)})
	}
	return logs
}

func lengthsOf(logs []*peer.ScopeLog) map[string]int64 {
	lengths := make(map[string]int64, len(logs))
	for _, l := range logs {
		lengths[l.Origin] = int64(l.Length)
	}
	return lengths
}

func wirePieces(pieces []scopeset.Piece) []*peer.ScopePiece {
	wire := make([]*peer.ScopePiece, len(pieces))
	for i, p := range pieces {
		wire[i] = &peer.ScopePiece{Origin: p.Origin, From: uint64(p.From), Lines: []byte(p.Lines)}
	}
	return wire
}

func fromWirePieces(wire []*peer.ScopePiece) []scopeset.Piece {
	pieces := make([]scopeset.Piece, len(wire))
	for i, p := range wire {
		pieces[i] = scopeset.Piece{Origin: p.Origin, From: int64(p.From), Lines: string(p.Lines)}
	}
	return pieces
}

// stampOf names the rules of this moment.
func stampOf(s *crawldoc.Store) *peer.RulesStamp {
	d := s.Current().Doc
	return &peer.RulesStamp{CrawlVersion: d.Version, CrawlBy: string(d.By), ScopeHash: s.Scope.Digest()}
}

// agree reports whether another node judges by the rules of s.
func agree(s *crawldoc.Store, r *peer.RulesStamp) bool {
	own := stampOf(s)
	return r.GetCrawlVersion() == own.CrawlVersion && r.GetCrawlBy() == own.CrawlBy && r.GetScopeHash() == own.ScopeHash
}
