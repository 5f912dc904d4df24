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
	"crawlnode/api/plaintext"
	"crawlnode/crawl"
	"crawlnode/security/door"
	"crawlnode/web/botauth"
)

// Backend is the node, as the API uses it. Its methods may be called from many goroutines at once,
// from the start until the server has ended.
type Backend interface {
	// Status describes the cluster, or with nodeOnly this node alone. It is called often: it must
	// not count, scan or call another node.
	Status(ctx context.Context, nodeOnly bool) (*crawl.Status, error)
	// AddSeeds returns when every seed's owner has stored it durably, or with an error when that is
	// not possible before ctx ends. After an error all seeds may be sent again, unless it wraps
	// crawl.ErrRefused. Texts that are not URLs to crawl are part of the report, not an error.
	AddSeeds(ctx context.Context, seeds []crawl.Seed) (crawl.SeedReport, error)
	// RemoveSeeds takes URLs out of the queue that are not fetched yet. It returns when those that
	// it reports as removed are durable, or with an error; then all may be sent again.
	RemoveSeeds(ctx context.Context, seeds []crawl.Seed) (crawl.RemovalReport, error)
	// Ring reports which node has which partition, as far as this node knows.
	Ring(ctx context.Context) (*crawl.RingReport, error)
	// ExplainURL reports what the cluster knows of a URL and how the rules judge it. A depth that
	// is not negative replaces the record's. A text that is not a URL to crawl gets a report as
	// well.
	ExplainURL(ctx context.Context, url string, depth int) (*crawl.URLReport, error)
	// DescribeHost reports the politeness state of a host and what waits for it.
	// crawl.ErrUnknownHost: no URL of it was ever admitted.
	DescribeHost(ctx context.Context, host string) (*crawl.HostReport, error)
	// Hosts lists the first limit hosts that the members have in memory, in an order of
	// crawl.HostSorts. It waits a second for members that do not answer.
	Hosts(ctx context.Context, sort string, limit int) (*crawl.HostsReport, error)
	// ListURLs reads a page of the stored URLs that a query wants, within two seconds: crawl.URLPage.
	// crawl.ErrBadQuery: the query cannot be answered by anybody.
	ListURLs(ctx context.Context, q crawl.URLQuery) (*crawl.URLPage, error)
	// Search answers a question about the text of pages. crawl.ErrRefused: the crawl has no index.
	Search(ctx context.Context, q crawl.SearchQuery) (*crawl.SearchReport, error)
	// WriteIndex writes the CDXJ lines of all captures that the members have, each once and sorted.
	// It is as fast as the writer.
	WriteIndex(ctx context.Context, out io.Writer) error
	// Captures lists what the members have stored of a URL. crawl.ErrBadQuery: it is no URL.
	Captures(ctx context.Context, url string) (*crawl.CapturesReport, error)
	// EachCapture calls fn with each line of WriteIndex in a range, without its end and not to be
	// kept, and a member that has it. An error of fn ends it and is returned.
	EachCapture(
		ctx context.Context,
		r crawl.IndexRange,
		fn func(node crawl.NodeRef, line []byte) error,
	) error
	// OpenCapture opens the record at a position in any member's archive: a gzip member or a zstd
	// frame. crawl.ErrNoCapture: no member has it.
	OpenCapture(ctx context.Context, file string, offset int64) (io.ReadCloser, error)
	// Nodes lists the nodes as Status does.
	Nodes(ctx context.Context) ([]crawl.NodeStatus, error)
	// DrainMember asks a member to hand over its partitions and leave. It returns when the member
	// has accepted. crawl.ErrUnknownNode and crawl.ErrRefused are final.
	DrainMember(ctx context.Context, id crawl.NodeID) error
	// PlaceMember changes a member's weight or zone. It returns when the member has stored the change
	// and a view lists it, or some seconds later. crawl.ErrPlace: out of bounds; otherwise the errors
	// are those of DrainMember.
	PlaceMember(ctx context.Context, id crawl.NodeID, change crawl.PlaceChange) error
	// StopMember ends a member as SIGTERM does: it drains, or stops with its data in place when
	// nobody could take them over. It returns when the member has accepted. The errors are those of
	// DrainMember.
	StopMember(ctx context.Context, id crawl.NodeID) error
	// StopAll ends all members with their data in place. It returns when those that answer have no
	// visit open and end; this node is the last.
	StopAll(ctx context.Context) (crawl.StopReport, error)
	// ForgetMember removes a dead node for good. It refuses for a node that answers.
	ForgetMember(ctx context.Context, id crawl.NodeID) error
	// ControlCrawl takes crawl.ActionPause, ActionResume or ActionStop. It returns when this node
	// has stored the change and sent it to the members that answer.
	ControlCrawl(ctx context.Context, action string) (crawl.ActionReport, error)
	// CrawlConfig shows the crawl's settings.
	CrawlConfig(ctx context.Context) (crawl.CrawlReport, error)
	// ChangeCrawl changes the named settings. It returns when this node has stored them and sent
	// them to the members that answer. With *crawl.FieldErrors and crawl.ErrChanged nothing was
	// changed.
	ChangeCrawl(ctx context.Context, change crawl.CrawlChange) (crawl.CrawlReport, error)
	// Sites returns the text of the rules for sites, and the version of the settings that have it.
	Sites(ctx context.Context) (text, version string, err error)
	// TestSites tells which rules for sites apply to a URL, and what follows: those that are set, or
	// with a text those of the text. crawl.ErrNoURL; *crawl.FieldErrors: what is wrong
	// with the text. It asks no other node.
	TestSites(ctx context.Context, url string, text *string) (crawl.SiteReport, error)
	// RevokeToken ends a token on all members. It returns when this node has stored the change and
	// sent it to the members that answer.
	RevokeToken(ctx context.Context, id string) (crawl.RevokeReport, error)
	// RotateKey starts to replace the cluster's key, or reports the progress.
	RotateKey(ctx context.Context, key string) (crawl.RotationReport, error)
	// RecordChange records a requested change in the audit log; e.Node is filled in.
	RecordChange(e crawl.AuditEntry)
	// Audit lists the newest changes requested on all members.
	Audit(ctx context.Context, limit int) (crawl.AuditReport, error)
	// Events returns up to limit events after the given id that this node remembers, oldest first;
	// with id 0 the newest ones. It calls no other node.
	Events(ctx context.Context, after uint64, limit int) ([]crawl.Event, error)
	// EventNews returns a channel that is closed by the next event. Take it before calling Events,
	// so that no event is missed.
	EventNews() <-chan struct{}
	// NextURLs leases URLs to a worker; crawl.ErrTooManyLeased.
	NextURLs(ctx context.Context, q crawl.NextQuery) (crawl.WorkerLease, error)
	// SettleURLs takes results of a lease, and returns when they are durable. crawl.ErrLeaseEnded:
	// none counts. After another error all may be sent again.
	SettleURLs(ctx context.Context, r crawl.WorkerResults) (crawl.ResultsReport, error)
	// AddFound stores URLs that programs have found, as AddSeeds does.
	AddFound(ctx context.Context, found crawl.FoundURLs) (crawl.FoundReport, error)
	// Ready reports whether this node takes part in the crawl, and if not why.
	Ready() (ok bool, why string)
	// Metrics serves the Prometheus exposition.
	Metrics() http.Handler
}

// Options are the options of New. With the zero value no token is required and nothing is logged.
type Options struct {
	// Access checks a request's secret and returns the caller. If the error wraps
	// crawl.ErrForbidden, the caller may be told the reason. From and Remote are filled in by this
	// package. Nil: the cluster has no key, and no secret is needed. It may be called from many
	// goroutines.
	Access func(secret string) (crawl.Caller, error)
	// Hosts are host names, without port, that requests to this node may use in addition to IP
	// addresses, localhost and names without a dot.
	Hosts []string
	// BotKeys returns the directory of the keys by which this node signs requests, for an authority
	// that is the node's own or not; without a body: it signs none. nil: the same.
	BotKeys func(authority string, own bool) botauth.Published
	// Logger gets one line for each failure inside the node.
	Logger *slog.Logger
	// History holds the curves of the dashboard. The caller runs it and waits for its end. Nil:
	// there are no curves.
	History *History

	refusals *door.Log // one for all paths, since strangers choose the path
	bodies   *bodies   // one for all paths
	failures *door.Failures
}

// begin sets the defaults.
func (o *Options) begin() {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.bodies = newBodies()
	o.refusals, o.failures = door.NewLog(o.Logger), door.NewFailures()
}

// History keeps the cluster's figures for the dashboard, in less than a megabyte.
type History = dashboard.History

// NewHistory returns an empty history of b's status. Its Run fills it, every second, until the
// context ends.
func NewHistory(b Backend) *History { return dashboard.NewHistory(b) }

// Time limits of the node's answers.
const (
	readTimeout  = 5 * time.Second
	seedsTimeout = 10 * time.Second
	// A question about one URL or host waits until its partition has moved or was taken over.
	holderTimeout = 12 * time.Second
)

// MaxHeaderBytes bounds the headers of a request, as net/http counts them: it adds 4 KiB.
const MaxHeaderBytes = 64 << 10

// New returns the handler of all paths.
func New(backend Backend, o Options) http.Handler {
	o.begin()
	s := &server{
		backend:     backend,
		log:         o.Logger,
		dash:        dashboard.New(backend, o.History, o.Logger),
		metricsPage: backend.Metrics(),
		streams:     make(chan struct{}, maxStreams),
		lists:       make(chan struct{}, maxLists),
		readings:    make(chan struct{}, maxReadings),
		answers:     make(chan struct{}, maxAnswers),
		rules:       make(chan struct{}, rulesAtOnce),
		botKeys:     o.BotKeys,
		ownHosts:    o.Hosts,
	}
	table := routes()
	s.document = describe(table)
	mux := http.NewServeMux()
	for _, rt := range table {
		var h http.Handler = http.HandlerFunc(
			func(w http.ResponseWriter, r *http.Request) { rt.serve(s, w, r) })
		pattern := rt.method + " " + rt.path
		if role := roleOf(pattern); role > crawl.RoleNobody {
			h = guard(audited(h, backend, pattern), role, reachOf(pattern), o)
		}
		mux.Handle(pattern, h)
	}
	s.dash.Register(func(pattern string, h http.Handler) {
		mux.Handle(pattern, guard(audited(h, backend, pattern), roleOf(pattern), reachOf(pattern), o))
	}, func(w http.ResponseWriter, _ *http.Request) {
		writeProblem(w, http.StatusNotFound, nothingHere)
	})
	return withHeaders(withProblems(mux, o))
}

// Serve answers on l until ctx ends, then gives open requests up to two seconds. It closes l and
// returns when nothing runs any more.
func Serve(ctx context.Context, l net.Listener, h http.Handler) error {
	srv := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       time.Minute,
		WriteTimeout:      2 * time.Minute,
		IdleTimeout:       2 * time.Minute,
		BaseContext: func(net.Listener) context.Context {
			return context.WithValue(context.WithoutCancel(ctx), endingKey{}, ctx.Done())
		},
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, c)
		},
		MaxHeaderBytes: MaxHeaderBytes,
		// strangers' broken connections
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
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
		_ = srv.Close() // clients that still read had two seconds
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// server answers the paths. Its only own state is the open streams and lists.
type server struct {
	backend     Backend
	log         *slog.Logger
	dash        *dashboard.Dashboard
	streams     chan struct{} // one for each reader of events
	lists       chan struct{} // one for each list of URLs that is streamed
	readings    chan struct{} // one for each page that is read for its metadata
	answers     chan struct{} // one for each capture that is sent decoded
	rules       chan struct{} // one for each text of rules for sites that is read
	document    []byte        // OpenAPI
	metricsPage http.Handler
	botKeys     func(authority string, own bool) botauth.Published // Options.BotKeys
	ownHosts    []string                                           // Options.Hosts
}

func (s *server) metrics(w http.ResponseWriter, r *http.Request) { s.metricsPage.ServeHTTP(w, r) }

func (s *server) livez(w http.ResponseWriter, _ *http.Request) { writeLine(w, http.StatusOK, "ok") }

func (s *server) readyz(w http.ResponseWriter, _ *http.Request) {
	if ok, why := s.backend.Ready(); !ok {
		w.Header().Set("Retry-After", "2")
		writeLine(w, http.StatusServiceUnavailable, "not ready: "+plaintext.Escape(why))
		return
	}
	writeLine(w, http.StatusOK, "ok")
}

// healthz reports the cluster's health; a warning is no reason to restart anything.
func (s *server) healthz(w http.ResponseWriter, r *http.Request) {
	st, ok := s.readStatus(w, r, false)
	if !ok {
		return
	}
	code, text := http.StatusOK, st.Cluster.Health.Level
	if text == crawl.HealthCritical {
		code = http.StatusServiceUnavailable
		w.Header().Set("Retry-After", "10")
	}
	for _, reason := range st.Cluster.Health.Reasons {
		text += "\n" + plaintext.Escape(reason.Code+": "+reason.Message)
	}
	writeLine(w, code, text)
}

func (s *server) status(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	format, scope, all := query.Get("format"), query.Get("scope"), query.Get("all")
	if format != "" && format != "json" && format != "text" {
		writeProblem(w, http.StatusBadRequest,
			"format must be json or text, not "+plaintext.Escape(format))
		return
	}
	if scope != "" && scope != "node" && scope != "cluster" {
		writeProblem(w, http.StatusBadRequest,
			"scope must be cluster or node, not "+plaintext.Escape(scope))
		return
	}
	if all != "" && all != "true" && all != "false" {
		writeProblem(w, http.StatusBadRequest, "all must be true or false, not "+plaintext.Escape(all))
		return
	}
	st, ok := s.readStatus(w, r, scope == "node")
	if !ok {
		return
	}
	if format == "text" {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		write := plaintext.WriteStatus
		if all == "true" {
			write = plaintext.WriteStatusAll
		}
		_ = write(w, st) // the client has gone
		return
	}
	writeJSON(w, st)
}

// stats answers with the figures that programs draw every second.
func (s *server) stats(w http.ResponseWriter, r *http.Request) {
	st, ok := s.readStatus(w, r, false)
	if !ok {
		return
	}
	writeJSON(w, statsReport{st.AsOf, st.Crawl, st.Throughput, st.Frontier, st.Fetch})
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

// readStatus reads the node's status. When that fails it has answered the client, and ok is false.
func (s *server) readStatus(
	w http.ResponseWriter,
	r *http.Request,
	nodeOnly bool,
) (st *crawl.Status, ok bool) {
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

// fail answers with a failure of the node: temporary, or final if it is crawl.ErrRefused,
// crawl.ErrUnknownNode and the like.
func (s *server) fail(w http.ResponseWriter, r *http.Request, err error) {
	if wrong := (*crawl.FieldErrors)(nil); errors.As(err, &wrong) {
		writeProblem(w, codeOf(err), "nothing was changed: see errors", escapeFields(wrong.Fields)...)
		return
	}
	if code := codeOf(err); code != http.StatusServiceUnavailable {
		if code == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", "2")
		}
		writeProblem(w, code, plaintext.Escape(err.Error()))
		return
	}
	if r.Context().Err() == nil {
		s.log.Warn("request failed", "path", r.URL.Path, "error", err)
	}
	w.Header().Set("Retry-After", "2")
	writeProblem(w, http.StatusServiceUnavailable, plaintext.Escape(err.Error()))
}

// escapeFields escapes what a client has sent, so that it can be repeated.
func escapeFields(fields []crawl.FieldError) []crawl.FieldError {
	out := make([]crawl.FieldError, len(fields))
	for i, f := range fields {
		out[i] = crawl.FieldError{
			Field:  plaintext.Escape(plaintext.Cut(f.Field)),
			Detail: plaintext.Escape(f.Detail),
		}
	}
	return out
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(true)
	_ = enc.Encode(v) // the client has gone
}

func writeLine(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = io.WriteString(w, text+"\n") // the client has gone
}
