package tracing

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"crawlnode/web/scope"
	"crawlnode/web/urlnorm"
)

// Options say where traces go and of which URLs they are.
type Options struct {
	// Endpoint is the collector's OTLP/gRPC address: http://HOST:PORT without TLS, or
	// https://HOST:PORT (config.Traces).
	Endpoint string
	Share    float64  // the part of URLs that is traced, 0 to 1
	Match    []string // patterns of package scope: URLs that are always traced
	Cluster  string
	Node     string
	Version  string
	Log      *slog.Logger
	// Exporter replaces the collector in tests; nil: Endpoint is called.
	Exporter sdktrace.SpanExporter
}

const (
	// maxWaiting bounds the spans that wait for the collector; the next are lost.
	maxWaiting = 8192
	// sendEvery is how long spans gather at most.
	sendEvery = time.Second
	// closeGrace bounds what the end of a node waits for the collector.
	closeGrace = 2 * time.Second
)

// Tracer makes spans and sends them. Its methods are safe for concurrent use.
type Tracer struct {
	sampler  *Sampler
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
}

// New makes a tracer. It connects in the background: a collector that is away costs spans, and
// nothing else. An error is a bad option.
func New(o Options) (*Tracer, error) {
	match, err := compile(o.Match)
	if err != nil {
		return nil, err
	}
	exporter := o.Exporter
	if exporter == nil {
		if exporter, err = otlptracegrpc.New(context.Background(),
			otlptracegrpc.WithEndpointURL(o.Endpoint)); err != nil {
			return nil, fmt.Errorf("traces to %s: %w", o.Endpoint, err)
		}
	}
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithSampler(sdktrace.AlwaysSample()), // the Sampler has decided
		sdktrace.WithIDGenerator(generator{}),
		sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", "crawlnode"),
			attribute.String("service.namespace", o.Cluster),
			attribute.String("service.instance.id", o.Node),
			attribute.String("service.version", o.Version))),
		sdktrace.WithBatcher(quiet{exporter, o.Log}, sdktrace.WithMaxQueueSize(maxWaiting),
			sdktrace.WithMaxExportBatchSize(maxWaiting/8), sdktrace.WithBatchTimeout(sendEvery)))
	return &Tracer{
		sampler:  NewSampler(o.Cluster, o.Share, match),
		provider: provider,
		tracer:   provider.Tracer("crawlnode"),
	}, nil
}

func compile(patterns []string) (match []func(urlnorm.URL) bool, err error) {
	for _, text := range patterns {
		p, err := scope.ParsePattern(text)
		if err != nil {
			return nil, err
		}
		match = append(match, p.Matches)
	}
	return match, nil
}

// Close sends what waits, for two seconds at most, and ends the connection.
func (t *Tracer) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeGrace)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("close the traces: %w", err)
	}
	return nil
}

// span makes a span that has ended: a child of a parent in a trace.
func (t *Tracer) span(
	id trace.TraceID,
	parent trace.SpanID,
	name string,
	from, to time.Time,
	attrs ...attribute.KeyValue,
) {
	ctx := trace.ContextWithSpanContext(context.Background(),
		trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: id, SpanID: parent, TraceFlags: trace.FlagsSampled, Remote: true}))
	t.end(ctx, name, from, to, attrs)
}

// rootSpan makes the root of a trace.
func (t *Tracer) rootSpan(id trace.TraceID, from, to time.Time, attrs ...attribute.KeyValue) {
	t.end(context.WithValue(context.Background(), given{}, given{id, root(id)}), "crawl", from, to,
		attrs)
}

// open begins a span whose children have to name it: a child of the root.
func (t *Tracer) open(id trace.TraceID, name string, from time.Time) trace.Span {
	ctx := trace.ContextWithSpanContext(context.Background(),
		trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: id, SpanID: root(id), TraceFlags: trace.FlagsSampled, Remote: true}))
	_, s := t.tracer.Start(ctx, name, trace.WithTimestamp(from))
	return s
}

func (t *Tracer) end(
	ctx context.Context,
	name string,
	from, to time.Time,
	attrs []attribute.KeyValue,
) {
	_, s := t.tracer.Start(ctx, name, trace.WithTimestamp(from), trace.WithAttributes(attrs...))
	s.End(trace.WithTimestamp(to))
}

// given are the ids of a root span, as a value of a context under the key given{}.
type given struct {
	trace trace.TraceID
	span  trace.SpanID
}

// generator gives root spans the ids that were chosen for them, and others random ones.
type generator struct{}

func (generator) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	g, ok := ctx.Value(given{}).(given)
	if !ok {
		panic("BUG: a trace begins without its ids")
	}
	return g.trace, g.span
}

func (generator) NewSpanID(context.Context, trace.TraceID) (id trace.SpanID) {
	_, _ = rand.Read(id[:]) // never fails
	id[7] |= 1              // an id of zeros is invalid
	return id
}

// quiet logs at level debug that spans could not be sent: the SDK would write to the standard
// error.
type quiet struct {
	sdktrace.SpanExporter
	log *slog.Logger
}

func (q quiet) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if err := q.SpanExporter.ExportSpans(ctx, spans); err != nil {
		q.log.Debug("spans are lost: the collector does not take them", "spans", len(spans), "error", err)
	}
	return nil
}
