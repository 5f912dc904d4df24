package node

import (
	"crawlnode/links"
	"crawlnode/node/tracing"
	"crawlnode/pipeline"
)

// This file fits package tracing to the rest of the node. Without --otlp-endpoint nothing is
// decorated.

func (n *Node) openTraces() (err error) {
	if n.cfg.OTLPEndpoint == "" {
		return nil
	}
	n.tracer, err = tracing.New(tracing.Options{
		Endpoint: n.cfg.OTLPEndpoint,
		Share:    n.cfg.TraceSample,
		Match:    n.cfg.TraceMatch,
		Cluster:  n.cfg.ClusterName,
		Node:     n.name,
		Version:  n.version,
		Log:      n.log,
	})
	if err != nil {
		return usageError(err)
	}
	n.traced = tracing.NewVisits(n.tracer)
	return nil
}

// traceLinks decorates the way of links.
func (n *Node) traceLinks(s links.Store, p links.Peers) (links.Store, links.Peers) {
	if n.tracer == nil {
		return s, p
	}
	return n.traced.Store(s), n.tracer.Peers(p)
}

// tracePages decorates the way of pages.
func (n *Node) tracePages(o pipeline.Options) pipeline.Options {
	if n.tracer != nil {
		o.Source, o.Sink, o.Archive = n.traced.Source(o.Source), n.traced.Sink(o.Sink),
			n.traced.Archive(o.Archive)
	}
	return o
}
