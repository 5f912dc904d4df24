package api

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"crawlnode/api/dashboard"
	"crawlnode/crawl"
)

// Backend is what the API asks a node for. Its methods may be called from many
// goroutines at once, from the first moment until the server has ended.
type Backend interface {
	// Status describes the cluster, or with nodeOnly this node alone. It is
	// asked often: it must not count, scan or call anybody.
	Status(ctx context.Context, nodeOnly bool) (*crawl.Status, error)
	// AddSeeds returns when every seed's owner has stored it durably, or with
	// an error when that cannot be had before ctx ends; then all may be sent
	// again, unless crawl.ErrRefused is inside. What is no URL to crawl is part
	// of the report, not an error.
	AddSeeds(ctx context.Context, seeds []crawl.Seed) (crawl.SeedReport, error)
	// Ring says who has which partition, as far as this node knows.
	Ring(ctx context.Context) (*crawl.RingReport, error)
	// ExplainURL tells what the cluster knows of a URL and what the rules say of
	// it; depth, when it is not negative, is judged in place of the record's. What
	// is no URL to crawl is a report as well.
	ExplainURL(ctx context.Context, url string, depth int) (*crawl.URLReport, error)
	// DescribeHost tells what politeness knows of a host and what waits for it.
	// crawl.ErrUnknownHost: no URL of it was ever admitted.
	DescribeHost(ctx context.Context, host string) (*crawl.HostReport, error)
	// Hosts lists the first limit hosts of those that the members have in memory, in
	// an order of crawl.HostSorts. It waits a second for members that do not answer.
	Hosts(ctx context.Context, sort string, limit int) (*crawl.HostsReport, error)
	// WriteIndex writes the CDXJ lines of all captures that the members have, each
	// once and sorted. It takes as long as the writer does.
	WriteIndex(ctx context.Context, out io.Writer) error
	// OpenCapture opens the record at a place in any member's archive: a gzip
	// member or a zstd frame. crawl.ErrNoCapture: nobody has it.
	OpenCapture(ctx context.Context, file string, offset int64) (io.ReadCloser, error)
	// Nodes lists the nodes as Status does.
	Nodes(ctx context.Context) ([]crawl.NodeStatus, error)
	// DrainMember asks a member to hand its partitions over and to leave. It
	// returns when the member has taken the order. crawl.ErrUnknownNode and
	// crawl.ErrRefused say that it never will.
	DrainMember(ctx context.Context, id crawl.NodeID) error
	// ForgetMember takes the operator's oath that a node is gone for good. It
	// refuses for a node that answers.
	ForgetMember(ctx context.Context, id crawl.NodeID) error
	// ControlCrawl takes crawl.ActionPause, ActionResume or ActionStop. It
	// returns when this node keeps it and the members that answer were told.
	ControlCrawl(ctx context.Context, action string) (crawl.ActionReport, error)
	// Ready says whether this node takes part in the crawl, and if not why.
	Ready() (ok bool, why string)
	// Metrics serves the Prometheus exposition.
	Metrics() http.Handler
}

// Options are what New may be told. The zero value serves without a token and
// logs nothing.
type Options struct {
	// Token, when set, is wanted from everybody.
	Token string
	// Hosts are names, without port, under which this node may be asked in
	// addition to IP addresses, localhost and names without a dot.
	Hosts []string
	// Logger gets one line for each failure of the node's own.
	Logger *slog.Logger
	// History holds the curves of the dashboard. Who makes one runs it, and waits for
	// it. nil: there are no curves.
	History *History
}

// History remembers the cluster's figures for the dashboard, less than a megabyte.
type History = dashboard.History

// NewHistory returns an empty history of what b says. Its Run fills it, every 5 s,
// until the context ends.
func NewHistory(b Backend) *History { return dashboard.NewHistory(b) }

// How long a node may take for an answer.
const (
	readTimeout  = 5 * time.Second
	seedsTimeout = 10 * time.Second
)

// New returns the handler of all paths.
func New(backend Backend, o Options) http.Handler {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &server{backend: backend, log: o.Logger}
	guarded := http.NewServeMux()
	dashboard.New(backend, o.History, o.Logger).Register(guarded)
	guarded.HandleFunc("GET /status", s.status)
	guarded.HandleFunc("GET /healthz", s.healthz)
	guarded.Handle("GET /metrics", backend.Metrics())
	guarded.HandleFunc("POST /api/v1/seeds", s.addSeeds)
	guarded.HandleFunc("GET /api/v1/ring", s.ring)
	guarded.HandleFunc("GET /api/v1/urls", s.explainURL)
	guarded.HandleFunc("GET /api/v1/hosts", s.hosts)
	guarded.HandleFunc("GET /api/v1/hosts/{host}", s.describeHost)
	guarded.HandleFunc("GET /api/v1/cdxj", s.cdxj)
	guarded.HandleFunc("GET /api/v1/captures/{file}/{offset}", s.capture)
	guarded.HandleFunc("GET /api/v1/nodes", s.nodes)
	guarded.HandleFunc("POST /api/v1/nodes/{id}/drain", s.drainNode)
	guarded.HandleFunc("POST /api/v1/nodes/{id}/forget", s.forgetNode)
	for _, action := range []string{crawl.ActionPause, crawl.ActionResume, crawl.ActionStop} {
		guarded.HandleFunc("POST /api/v1/crawl/"+action, s.crawlAction(action))
	}
	guarded.HandleFunc("GET /api/v1/stats", s.stats)

	open := http.NewServeMux()
	open.HandleFunc("GET /livez", s.livez)
	open.HandleFunc("GET /readyz", s.readyz)
	open.Handle("/", guard(withProblems(guarded), o))
	return withHeaders(open)
}

// Serve answers on l until ctx is over, then lets open requests end for up to
// two seconds. It closes l and returns when nothing runs any more.
func Serve(ctx context.Context, l net.Listener, h http.Handler) error {
	srv := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       time.Minute,
		WriteTimeout:      2 * time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(slog.DiscardHandler, slog.LevelError), // strangers' broken connections
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if srv.Shutdown(grace) != nil {
		_ = srv.Close() // whoever is still reading has had the time
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// server answers the paths. It has no state of its own.
type server struct {
	backend Backend
	log     *slog.Logger
}

func (s *server) livez(w http.ResponseWriter, _ *http.Request) { writeLine(w, http.StatusOK, "ok") }

func (s *server) readyz(w http.ResponseWriter, _ *http.Request) {
	if ok, why := s.backend.Ready(); !ok {
		writeLine(w, http.StatusServiceUnavailable, "not ready: "+escape(why))
		return
	}
	writeLine(w, http.StatusOK, "ok")
}

// healthz says how the cluster does; a warning is no reason to restart anything.
func (s *server) healthz(w http.ResponseWriter, r *http.Request) {
	st, ok := s.readStatus(w, r, false)
	if !ok {
		return
	}
	code, text := http.StatusOK, st.Cluster.Health.Level
	if text == crawl.HealthCritical {
		code = http.StatusServiceUnavailable
	}
	for _, reason := range st.Cluster.Health.Reasons {
		text += "\n" + escape(reason.Code+": "+reason.Message)
	}
	writeLine(w, code, text)
}

func (s *server) status(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	format, scope := query.Get("format"), query.Get("scope")
	if format != "" && format != "json" && format != "text" {
		writeProblem(w, http.StatusBadRequest, "format is json or text, not "+escape(format))
		return
	}
	if scope != "" && scope != "node" && scope != "cluster" {
		writeProblem(w, http.StatusBadRequest, "scope is cluster or node, not "+escape(scope))
		return
	}
	st, ok := s.readStatus(w, r, scope == "node")
	if !ok {
		return
	}
	if format == "text" {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_ = WriteText(w, st) // the reader has gone
		return
	}
	writeJSON(w, st)
}

// stats is what a program that draws curves wants each second.
func (s *server) stats(w http.ResponseWriter, r *http.Request) {
	st, ok := s.readStatus(w, r, false)
	if !ok {
		return
	}
	writeJSON(w, struct {
		AsOf       time.Time              `json:"as_of"`
		Crawl      crawl.CrawlStatus      `json:"crawl"`
		Throughput crawl.ThroughputStatus `json:"throughput"`
		Frontier   crawl.FrontierStatus   `json:"frontier"`
		Fetch      crawl.FetchStatus      `json:"fetch"`
	}{st.AsOf, st.Crawl, st.Throughput, st.Frontier, st.Fetch})
}

func (s *server) ring(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), readTimeout)
	defer cancel()
	ring, err := s.backend.Ring(ctx)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	ring.Partitions = orEmpty(ring.Partitions)
	for i := range ring.Partitions {
		ring.Partitions[i].Replicas = orEmpty(ring.Partitions[i].Replicas)
	}
	writeJSON(w, ring)
}

func (s *server) nodes(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), readTimeout)
	defer cancel()
	nodes, err := s.backend.Nodes(ctx)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	writeJSON(w, orEmpty(nodes))
}

// readStatus asks the node; when it fails the client has been told and ok is false.
func (s *server) readStatus(w http.ResponseWriter, r *http.Request, nodeOnly bool) (st *crawl.Status, ok bool) {
	ctx, cancel := context.WithTimeout(r.Context(), readTimeout)
	defer cancel()
	st, err := s.backend.Status(ctx, nodeOnly)
	if err != nil {
		s.fail(w, r, err)
		return nil, false
	}
	fillLists(st)
	return st, true
}

// fillLists turns absent lists into empty ones: null would mean unknown.
func fillLists(st *crawl.Status) {
	st.Cluster.Health.Reasons = orEmpty(st.Cluster.Health.Reasons)
	st.Ring.Handoff.Stuck = orEmpty(st.Ring.Handoff.Stuck)
	st.Crawl.AllowedActions = orEmpty(st.Crawl.AllowedActions)
	st.Nodes = orEmpty(st.Nodes)
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// fail answers a failure of the node: it cannot now, and may soon; or with
// crawl.ErrRefused, crawl.ErrUnknownNode and the like it will not.
func (s *server) fail(w http.ResponseWriter, r *http.Request, err error) {
	if code := codeOf(err); code != http.StatusServiceUnavailable {
		writeProblem(w, code, escape(err.Error()))
		return
	}
	if r.Context().Err() == nil {
		s.log.Warn("request failed", "path", r.URL.Path, "error", err)
	}
	w.Header().Set("Retry-After", "2")
	writeProblem(w, http.StatusServiceUnavailable, escape(err.Error()))
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(true)
	_ = enc.Encode(v) // the reader has gone
}

func writeLine(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = io.WriteString(w, text+"\n") // the reader has gone
}
