package peer

import (
	"slices"
	"testing"

	"google.golang.org/grpc"
)

// sentBatches is a stream that keeps the sizes of what is sent.
type sentBatches struct {
	grpc.BidiStreamingClient[LinkBatch, LinkAck]
	sizes []int
}

func (s *sentBatches) Send(b *LinkBatch) error {
	s.sizes = append(s.sizes, len(b.Links))
	return nil
}

// A small batch waits for the answer to the one before; a large one does not, as long
// as few are in flight.
func TestBatchesGather(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what     string
		pieces   []int
		inFlight int
		want     []int
		left     int // pieces
	}{
		{"nothing waits", nil, 0, nil, 0},
		{"nothing is in flight", []int{1, 2}, 0, []int{3}, 0},
		{"one is in flight", []int{1, 2}, 1, nil, 2},
		{"one is in flight and many wait", []int{100, 100, 50}, 1, []int{250}, 0},
		{"the last stays behind", []int{900, 200}, 0, []int{900}, 1},
		{"a piece is never parted", []int{600, 600, 600}, 1, []int{600, 600, 600}, 0},
		{"the largest", []int{MaxBatchLinks, 1}, 0, []int{MaxBatchLinks}, 1},
		{"enough are in flight", []int{MaxBatchLinks}, maxInFlight, nil, 1},
	} {
		s := &linkStream{conn: &conn{pool: &Pool{}}, inFlight: make([]batch, c.inFlight)}
		for _, n := range c.pieces {
			s.held = append(s.held, piece{links: make([]*Link, n)})
			s.heldSize += n
		}
		var sent sentBatches
		if err := s.sendDue(&sent); err != nil {
			t.Fatal(err)
		}
		left := 0
		for _, p := range s.held {
			left += len(p.links)
		}
		if !slices.Equal(sent.sizes, c.want) || len(s.held) != c.left || left != s.heldSize ||
			len(s.inFlight) != c.inFlight+len(c.want) {
			t.Errorf("%s: sent %v, want %v; %d pieces of %d links left, want %d; %d in flight", c.what,
				sent.sizes, c.want, len(s.held), s.heldSize, c.left, len(s.inFlight))
		}
	}
}
