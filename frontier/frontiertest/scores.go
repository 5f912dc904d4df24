package frontiertest

import (
	"context"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/order"
	"crawlnode/importance/opic"
	"crawlnode/web/urlnorm"
)

// ByScore has a frontier order its queues by scores with the default weights and even cuts.
func ByScore(f *frontier.Frontier) {
	f.SetOrder(&order.Policy{
		Weights: opic.DefaultWeights,
		Cuts:    opic.EvenCuts,
		Scores:  &order.Scores{},
	})
}

// Raise lets links say so much, 0 to 1, of URLs of a partition, and returns how many were moved to
// better bands.
func Raise(
	ctx context.Context,
	f *frontier.Frontier,
	p crawl.Partition,
	said map[urlnorm.URL]float64,
) (int, error) {
	var rises []order.Rise
	for u, link := range said {
		rises = append(rises, order.Rise{URL: layout.NumberOf(u), Link: link})
	}
	return f.Raise(ctx, p, rises)
}
