package spread

import (
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"crawlnode/crawl"
	"crawlnode/peer"
	"crawlnode/settings/crawldoc"
	"crawlnode/settings/scopeset"
)

// maxPieces bounds the entries that a peer may send at once, in bytes.
const maxPieces = 1 << 20

// Serve answers another member's exchange of document and scope entries. A question
// is answered only when this node has installed the asker's view: a member that joined with
// it must miss nothing that was stored under an older one.
func (s *Spreader) Serve(req *peer.CrawlRequest) (*peer.CrawlReply, error) {
	if view := uint64(s.o.viewNumber()); req.Fetch && view < req.View {
		return nil, status.Errorf(codes.Unavailable, "this node is at view %d, not yet at %d", view,
			req.View)
	}
	if req.Fetch && s.founding() {
		return nil, status.Error(codes.Unavailable, "this node is founding the cluster")
	}
	size := 0
	for _, p := range req.Pieces {
		size += len(p.Lines)
	}
	if size > maxPieces {
		return nil, status.Errorf(codes.InvalidArgument,
			"%d bytes of scope entries in one message, %d are allowed", size, maxPieces)
	}
	reply := &peer.CrawlReply{}
	if err := s.takeOver(req.Document, req.Pieces); err != nil {
		reply.Error = err.Error()
	}
	// After storing: had a newer view come before, the sender must count under that.
	reply.View = uint64(s.o.viewNumber())
	reply.Rules, reply.Have = s.Stamp(), wireLengths(s.o.Document.Scope.Lengths())
	theirs := crawldoc.Document{
		Version: req.Rules.GetCrawlVersion(),
		By:      crawl.NodeID(req.Rules.GetCrawlBy()),
	}
	if doc := s.o.document(); doc.NewerThan(&theirs) {
		reply.Document = encodeDocument(doc)
	}
	if !req.Fetch {
		return reply, nil
	}
	pieces, more, err := s.o.Document.Scope.Missing(lengthsOf(req.Have), maxPiece)
	if err != nil {
		return nil, status.Error(codes.Internal, fmt.Sprintf("read the scope entries: %v", err))
	}
	reply.Pieces, reply.More = wirePieces(pieces), more
	return reply, nil
}

// Stamp names the rules of this moment: calls between nodes carry it.
func (s *Spreader) Stamp() *peer.RulesStamp {
	d := s.o.document()
	return &peer.RulesStamp{
		CrawlVersion: d.Version,
		CrawlBy:      string(d.By),
		ScopeHash:    s.o.Document.Scope.Digest(),
	}
}

// agrees reports whether a stamp names the rules of this node.
func (s *Spreader) agrees(r *peer.RulesStamp) bool {
	own := s.Stamp()
	return r.GetCrawlVersion() == own.CrawlVersion && r.GetCrawlBy() == own.CrawlBy &&
		r.GetScopeHash() == own.ScopeHash
}

func encodeDocument(d *crawldoc.Document) []byte {
	raw, err := d.Message()
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
