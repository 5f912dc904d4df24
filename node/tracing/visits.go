package tracing

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/links"
	"crawlnode/pipeline"
)

// Visits follows the visits of one node. Its Source, Archive, Sink and Store decorate those of the
// pipeline and of the links, and know the same visits.
type Visits struct {
	tracer *Tracer
	mu     sync.Mutex // guards open
	open   map[string]visit
}

// visit is a traced visit that is under way. There is one of a URL at a time, because there is one
// of its host.
type visit struct {
	trace trace.TraceID
	span  trace.Span
	began time.Time
}

// NewVisits makes what follows visits.
func NewVisits(t *Tracer) *Visits { return &Visits{tracer: t, open: map[string]visit{}} }

// of finds the open visit of a URL.
func (v *Visits) of(url string) (visit, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	found, ok := v.open[url]
	return found, ok
}

// Source decorates where visits come from.
func (v *Visits) Source(s pipeline.Source) pipeline.Source { return source{s, v} }

type source struct {
	pipeline.Source
	visits *Visits
}

func (s source) Next(ctx context.Context) (crawl.Visit, error) {
	next, err := s.Source.Next(ctx)
	if err != nil || next.Item.Via.Errand() {
		return next, err
	}
	id, ok := s.visits.tracer.sampler.Trace(next.Item.URL)
	if !ok {
		return next, nil
	}
	now := time.Now()
	span := s.visits.tracer.open(id, "visit", now)
	span.SetAttributes(attribute.Int("crawl.attempts", next.Item.Attempts),
		attribute.Bool("crawl.revisit", next.Item.Revisit))
	s.visits.mu.Lock()
	defer s.visits.mu.Unlock()
	s.visits.open[next.Item.URL.String()] = visit{id, span, now}
	return next, nil
}

// Archive decorates where exchanges are stored.
func (v *Visits) Archive(a pipeline.Archive) pipeline.Archive { return archive{a, v} }

type archive struct {
	pipeline.Archive
	visits *Visits
}

func (a archive) Put(ctx context.Context, c crawl.Capture) (crawl.ArchiveRef, error) {
	from := time.Now()
	ref, err := a.Archive.Put(ctx, c)
	if open, ok := a.visits.of(c.URL.String()); ok {
		a.visits.tracer.span(open.trace, open.span.SpanContext().SpanID(), "archive", from, time.Now(),
			attribute.String("archive.file", ref.File), attribute.Int64("archive.offset", ref.Offset))
	}
	return ref, err
}

// Store decorates the frontier as links are stored there.
func (v *Visits) Store(s links.Store) links.Store { return store{s, v} }

type store struct {
	links.Store
	visits *Visits
}

// Add sees which links are new.
func (s store) Add(ctx context.Context, targets []crawl.Routed) ([]frontier.Admission, error) {
	from := time.Now()
	admissions, err := s.Store.Add(ctx, targets)
	for i, a := range admissions {
		if id, ok := s.visits.tracer.sampler.Trace(targets[i].Target.URL); ok {
			s.visits.tracer.span(id, root(id), "admit", from, time.Now(),
				attribute.String("admission", admissionText(a)))
		}
	}
	return admissions, err
}

func (s store) Complete(ctx context.Context, c frontier.Completion) error {
	from := time.Now()
	err := s.Store.Complete(ctx, c)
	if open, ok := s.visits.of(c.Lease.Item.URL.String()); ok {
		s.visits.tracer.span(open.trace, open.span.SpanContext().SpanID(), "store", from, time.Now(),
			attribute.Int("links.own", len(c.Own)), attribute.Int("links.outbox", len(c.Outbox)))
	}
	return err
}

func admissionText(a frontier.Admission) string {
	switch a {
	case frontier.Added:
		return "added"
	case frontier.Known:
		return "known"
	case frontier.NotHolder:
		return "not_holder"
	}
	return "refused"
}

// Sink decorates where outcomes go. An outcome ends its visit, and finds the URLs of its links.
func (v *Visits) Sink(s pipeline.Sink) pipeline.Sink { return sink{s, v} }

type sink struct {
	pipeline.Sink
	visits *Visits
}

func (s sink) Complete(ctx context.Context, v crawl.Visit, o crawl.Outcome) error {
	t, now := s.visits.tracer, time.Now()
	for i := range o.Targets {
		if id, ok := t.sampler.Trace(o.Targets[i].URL); ok {
			t.span(id, root(id), "found", now, now, attribute.String("page.url", v.Item.URL.String()),
				attribute.Int("crawl.depth", o.Targets[i].Depth))
		}
	}
	err := s.Sink.Complete(ctx, v, o)
	s.visits.ended(&v, &o)
	return err
}

// ended ends a visit's span, and sends the root with the first visit that was made.
func (v *Visits) ended(of *crawl.Visit, o *crawl.Outcome) {
	url := of.Item.URL.String()
	v.mu.Lock()
	open, ok := v.open[url]
	delete(v.open, url)
	v.mu.Unlock()
	if !ok {
		return
	}
	now := time.Now()
	if o.Took > 0 {
		v.tracer.span(open.trace, open.span.SpanContext().SpanID(), "fetch", o.FetchedAt,
			o.FetchedAt.Add(o.Took), attribute.Int("http.response.status_code", o.Status),
			attribute.Int64("http.response.body.size", o.Bytes))
	}
	open.span.SetAttributes(attribute.String("kind", o.Kind.String()))
	if o.Reason != "" {
		open.span.SetAttributes(attribute.String("reason", o.Reason))
	}
	open.span.End(trace.WithTimestamp(now))
	if first := of.Item.Attempts == 0 && !of.Item.Revisit; first && endsFirst(o.Kind) {
		v.tracer.rootSpan(open.trace, open.began, now, attribute.String("url.full", url),
			attribute.String("server.address", string(of.Host)))
	}
}

// endsFirst reports whether a visit counts: one that was taken back, or spent on robots.txt, comes
// again with as many attempts.
func endsFirst(k crawl.Kind) bool {
	switch k {
	case crawl.Aborted, crawl.RobotsFetched, crawl.RobotsPending, crawl.HostFailed:
		return false
	}
	return true
}
