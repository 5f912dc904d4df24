package frontiertest

import (
	"context"
	"testing"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/frontier/storage"
)

// Holding runs a frontier in memory that holds the partitions since the epoch. It runs until the
// test ends, which fails when the frontier has failed. In a synctest bubble it runs in that bubble.
func Holding(t testing.TB, epoch crawl.Epoch, ps ...crawl.Partition) *frontier.Frontier {
	t.Helper()
	return WithPlanner(t, nil, epoch, ps...)
}

// WithPlanner is Holding with a planner of visits; nil: without.
func WithPlanner(
	t testing.TB,
	j frontier.Planner,
	epoch crawl.Epoch,
	ps ...crawl.Partition,
) *frontier.Frontier {
	t.Helper()
	front, err := frontier.New(storage.NewMemory(), frontier.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if j != nil {
		front.SetPlanner(j)
	}
	ctx, stop := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() { over <- front.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-over; err != nil {
			t.Errorf("the frontier: %v", err)
		}
	})
	if err := front.Found(t.Context(), ps, epoch); err != nil {
		t.Fatal(err)
	}
	return front
}
