package tracing

import (
	"context"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"crawlnode/crawl"
	"crawlnode/links"
	"crawlnode/peer"
)

// Peers decorates the way of links to other nodes.
func (t *Tracer) Peers(p links.Peers) links.Peers { return peers{p, t} }

type peers struct {
	links.Peers
	tracer *Tracer
}

func (p peers) Forward(
	ctx context.Context,
	to crawl.NodeID,
	batch []*peer.Link,
) ([]peer.Verdict, error) {
	from := time.Now()
	verdicts, err := p.Peers.Forward(ctx, to, batch)
	now := time.Now()
	for i, l := range batch {
		id, ok := p.tracer.sampler.stored(l.Url)
		if !ok {
			continue
		}
		answer := "none"
		if err == nil && i < len(verdicts) {
			answer = strings.ToLower(strings.TrimPrefix(verdicts[i].String(), "VERDICT_"))
		}
		p.tracer.span(id, root(id), "forward", from, now, attribute.String("to", string(to)),
			attribute.String("verdict", answer))
	}
	return verdicts, err
}
