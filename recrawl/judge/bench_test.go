package judge

import (
	"context"
	"testing"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/frontier/frontiertest"
	"crawlnode/recrawl/visits"
)

// BenchmarkComplete is the frontier's part of a first visit without links, in memory, with and
// without a plan for the next one.
func BenchmarkComplete(b *testing.B) {
	for name, mode := range map[string]visits.Mode{"off": visits.Off, "adaptive": visits.Adaptive} {
		b.Run(name, func(b *testing.B) {
			terms := realWeek()
			terms.Rules.Mode = mode
			front := frontiertest.WithPlanner(b, by(terms), 1, 0)
			links := make([]crawl.Routed, b.N)
			for n := range links {
				links[n].Target = crawl.Target{URL: url(n), Band: 1}
			}
			if _, err := front.Add(b.Context(), links); err != nil {
				b.Fatal(err)
			}
			q, err := front.Load(0, "h.test", frontier.Cursor{}, b.N)
			if err != nil || len(q.Items) != b.N {
				b.Fatal(len(q.Items), err)
			}
			o := content(1)
			b.ReportAllocs()
			b.ResetTimer()
			for _, it := range q.Items {
				if err := front.Complete(context.Background(), frontier.Completion{
					Lease:   crawl.Lease{Epoch: 1, Host: "h.test", Item: it},
					Outcome: o,
				}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
