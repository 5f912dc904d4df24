package integration

import (
	"context"
	"encoding/hex"
	"fmt"
	"net"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"

	"crawlnode/node/tracing"
	"crawlnode/simweb"
	"crawlnode/web/urlnorm"
)

// TestTracesOverATakeOver has three nodes trace half of the URLs, and kills one of them while they
// crawl. A trace is one tree with one root, whichever nodes had a part in it; each URL that was
// served has one.
func TestTracesOverATakeOver(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	const delay, share = 200 * time.Millisecond, 0.5
	web, srv := serveSimweb(t, simweb.Config{
		Seed:         91,
		Hosts:        24,
		PagesPerHost: 15,
		Skew:         -1,
		Delay:        delay,
		Changes:      simweb.Changes{Mean: 24 * time.Hour},
	})
	spans := collectSpans(t)
	c := simCluster(t, srv, delay, "--partitions", "512", "--otlp-endpoint", "http://"+spans.addr,
		"--trace-sample", strconv.FormatFloat(share, 'g', -1, 64))
	c.addReady(3)
	c.converged(time.Minute)
	c.nodes[0].seed(web.Seeds()...)
	until(t, time.Minute, func() string {
		if n := spans.count("visit"); n < 16 {
			return fmt.Sprintf("%d visits", n)
		}
		return ""
	})
	c.nodes[2].signal(syscall.SIGKILL)
	<-c.nodes[2].done
	killed := time.Now()
	c.finished(3 * time.Minute)
	c.stop() // sends what waits

	sampler := tracing.NewSampler("default", share, nil)
	pages, traced := reachable(web), 0
	across := 0 // found on one node, visited by another one after the kill
	// What the killed node had not sent yet, for a second at most, is lost. Those traces may lack
	// their root or their visit.
	for _, u := range pages {
		known, err := urlnorm.ParseStored(u)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := sampler.Trace(known); !ok {
			continue
		}
		traced++
		lossy := false
		for _, v := range web.Visits(u) {
			lossy = lossy || v.At.After(killed.Add(-5*time.Second)) && v.At.Before(killed.Add(time.Second))
		}
		wrong, moved := spans.judge(u, killed)
		if wrong != "" && !lossy {
			t.Errorf("%s: %s, killed at %v, %v\n%s", u, wrong, killed, web.Visits(u), spans.tree(u))
		}
		if moved {
			across++
		}
	}
	if across == 0 {
		t.Error("no URL was found on one node and fetched by another one after the kill")
	}
	if r := web.Report(); r.ErrButDuplicates() != nil {
		t.Error(r.ErrButDuplicates())
	}
	t.Logf("%d pages, %d traced, %d spans; %d URLs found on one node and fetched by another one "+
		"after the kill",
		len(pages), traced, spans.count(""), across)
}

// spanStore is a collector of traces.
type spanStore struct {
	collector.UnimplementedTraceServiceServer
	addr  string
	mu    sync.Mutex // guards spans
	spans []nodeSpan
}

// nodeSpan is a span with the name of the node that sent it.
type nodeSpan struct {
	*otlp.Span
	node string
}

func collectSpans(t *testing.T) *spanStore {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &spanStore{addr: l.Addr().String()}
	srv := grpc.NewServer()
	collector.RegisterTraceServiceServer(srv, s)
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	t.Cleanup(func() {
		srv.Stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *spanStore) Export(
	_ context.Context,
	req *collector.ExportTraceServiceRequest,
) (*collector.ExportTraceServiceResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range req.ResourceSpans {
		node := attribute(r.Resource.Attributes, "service.instance.id")
		for _, scope := range r.ScopeSpans {
			for _, span := range scope.Spans {
				s.spans = append(s.spans, nodeSpan{span, node})
			}
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

// count counts the spans of a name; "": all.
func (s *spanStore) count(name string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, span := range s.spans {
		if name == "" || span.Name == name {
			n++
		}
	}
	return n
}

// of are the spans of a URL's trace.
func (s *spanStore) of(url string) (found []nodeSpan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	trace := ""
	for _, span := range s.spans {
		if span.Name == "crawl" && attribute(span.Attributes, "url.full") == url {
			trace = string(span.TraceId)
		}
	}
	for _, span := range s.spans {
		if string(span.TraceId) == trace {
			found = append(found, span)
		}
	}
	return found
}

// judge says what is wrong with the trace of a URL; moved: its link was found on one node, and
// another one visited it after a moment.
func (s *spanStore) judge(url string, after time.Time) (wrong string, moved bool) {
	spans := s.of(url)
	parts := map[string]int{}
	known := map[string]bool{}
	roots, finders := 0, map[string]bool{}
	for _, span := range spans {
		parts[span.Name]++
		known[string(span.SpanId)] = true
		if len(span.ParentSpanId) == 0 {
			roots++
		}
		if span.Name == "found" {
			finders[span.node] = true
		}
	}
	for _, span := range spans {
		if len(span.ParentSpanId) > 0 && !known[string(span.ParentSpanId)] {
			return "span " + span.Name + " has an unknown parent", moved
		}
		others := len(finders)
		if finders[span.node] {
			others--
		}
		moved = moved ||
			span.Name == "visit" && others > 0 && time.Unix(0, int64(span.StartTimeUnixNano)).After(after)
	}
	if roots != 1 || parts["crawl"] != 1 || parts["visit"] == 0 || parts["fetch"] == 0 ||
		parts["archive"] == 0 || parts["store"] == 0 {
		return fmt.Sprintf("%d roots, parts %v", roots, parts), moved
	}
	return "", moved
}

// tree writes the spans of a trace, for a person.
func (s *spanStore) tree(url string) (text string) {
	for _, span := range s.of(url) {
		text += fmt.Sprintf("%s %s of %s on %s %v\n", span.Name, hex.EncodeToString(span.SpanId),
			hex.EncodeToString(span.ParentSpanId), span.node, span.Attributes)
	}
	return text
}

func attribute(of []*common.KeyValue, key string) string {
	for _, a := range of {
		if a.Key == key {
			return a.Value.GetStringValue()
		}
	}
	return ""
}
