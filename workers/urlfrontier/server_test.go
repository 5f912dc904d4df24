package urlfrontier

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"crawlnode/crawl"
	"crawlnode/workers/urlfrontier/wire"
)

// node is a Backend with a few URLs.
type node struct {
	mu       sync.Mutex
	queued   []string
	lease    int
	results  []crawl.WorkerResults
	found    []crawl.FoundURL
	paused   bool
	changes  []crawl.AuditEntry
	broken   error // of AddFound, SettleURLs and ChangeCrawl
	settings []string
	blocks   []string
	notes    []crawl.NoteLine
	asked    []crawl.NextQuery
	guests   []crawl.GuestPut
	deleted  []string
	rules    []string
	// emptied: all URLs are deleted, while two of them have leases.
	emptied bool
}

func (n *node) Status(context.Context, bool) (*crawl.Status, error) {
	if n.emptied {
		return &crawl.Status{Frontier: crawl.FrontierStatus{InFlight: 2, Hosts: crawl.HostCounts{Total: 4,
			Waiting: 3, InFlight: 1}}}, nil
	}
	st := &crawl.Status{Nodes: []crawl.NodeStatus{{HTTP: "127.0.0.1:1", State: crawl.NodeAlive},
		{HTTP: "127.0.0.1:2", State: crawl.NodeSuspect}}}
	st.Frontier = crawl.FrontierStatus{
		Queued:    3,
		InFlight:  2,
		SeenTotal: 10,
		Hosts:     crawl.HostCounts{Total: 4, Ready: 1, Waiting: 1, InFlight: 1},
	}
	st.Crawl.State = crawl.CrawlRunning
	if n.paused {
		st.Crawl.State = crawl.CrawlPaused
	}
	return st, nil
}

func (n *node) NextURLs(_ context.Context, q crawl.NextQuery) (l crawl.WorkerLease, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked = append(n.asked, q)
	k := min(q.Most, len(n.queued))
	for _, u := range n.queued[:k] {
		l.URLs = append(l.URLs, crawl.LeasedURL{URL: u, Host: "a.example", Depth: 2, DelaySeconds: 1.5})
	}
	n.queued = n.queued[k:]
	n.lease++
	l.LeaseID, l.LeaseSeconds = fmt.Sprintf("l%d", n.lease), 12.5
	return l, nil
}

func (n *node) SettleLate(
	_ context.Context,
	r crawl.WorkerResults,
) (rep crawl.ResultsReport, err error) {
	if n.broken != nil {
		return rep, n.broken
	}
	n.results = append(n.results, r)
	if strings.HasPrefix(r.LeaseID, "l") {
		return crawl.ResultsReport{Processed: len(r.Results)}, nil
	}
	return crawl.ResultsReport{Ended: len(r.Results)}, nil
}

func (n *node) AddFound(_ context.Context, f crawl.FoundURLs) (r crawl.FoundReport, err error) {
	if n.broken != nil {
		return r, n.broken
	}
	for _, u := range f.URLs {
		if strings.HasPrefix(u.URL, "http") {
			n.found = append(n.found, u)
			r.Accepted++
		} else {
			r.Rejected++
		}
	}
	return r, nil
}

func (n *node) PutNotes(_ context.Context, lines []crawl.NoteLine) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.notes = append(n.notes, lines...)
	return n.broken
}

func (n *node) Notes(_ context.Context, urls []string) (map[string]crawl.Note, error) {
	return map[string]crawl.Note{
		"http://a.example/done": {Metadata: crawl.Metadata{"k": {"v"}}, Created: 7},
	}, nil
}

func (n *node) PutGuests(
	_ context.Context,
	items []crawl.GuestPut,
) (answers []crawl.GuestAnswer, why []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.guests = append(n.guests, items...)
	for i := range items {
		answer := crawl.GuestStored
		switch items[i].Crawl {
		case "full":
			answer = crawl.GuestRefused
		case "moving":
			answer = crawl.GuestLater
		}
		answers, why = append(answers, answer), append(why, "a reason")
	}
	return answers, why
}

func (n *node) Guest(_ context.Context, id, url string) (*crawl.GuestURL, error) {
	if id != "other" || url != "http://a.example/1" {
		return nil, nil
	}
	return &crawl.GuestURL{
		Crawl:    id,
		URL:      url,
		Host:     "a.example",
		Active:   true,
		Refetch:  9,
		Created:  8,
		Metadata: crawl.Metadata{"k": {"v"}},
	}, nil
}

func (n *node) GuestSums(
	_ context.Context,
	id string,
	host crawl.Host,
) (map[string]crawl.GuestSums, error) {
	if host != "" && (host != "a.example" || id != "other") {
		return nil, n.broken
	}
	return map[string]crawl.GuestSums{
		"other": {Queues: 2, ActiveQueues: 1, URLs: 5, Active: 3, InProcess: 1},
	}, n.broken
}

func (n *node) EachGuest(
	_ context.Context,
	l crawl.GuestList,
	fn func(*crawl.GuestURL) (bool, error),
) error {
	for _, u := range []string{"http://a.example/1", "http://a.example/2"} {
		if l.Crawl != "other" || l.Host != "" && l.Host != "a.example" ||
			!strings.Contains(u, l.Contains) {
			continue
		}
		if more, err := fn(&crawl.GuestURL{Crawl: l.Crawl, URL: u, Host: "a.example"}); err != nil ||
			!more {
			return err
		}
	}
	return n.broken
}

func (n *node) EachGuestQueue(_ context.Context, id string, fn func(*crawl.GuestQueue) bool) error {
	for _, q := range []crawl.GuestQueue{{Host: "a.example", URLs: 1, Active: 1},
		{Host: "b.example", URLs: 1}, {Host: "c.example", URLs: 1, Active: 1, Blocked: 5}} {
		if id == "other" && !fn(&q) {
			return nil
		}
	}
	return n.broken
}

func (n *node) DeleteGuests(
	_ context.Context,
	id string,
	host crawl.Host,
	before int64,
) (int64, error) {
	n.deleted = append(n.deleted, fmt.Sprint(id, " ", host, " ", before > 0))
	return 4, n.broken
}

func (n *node) SetGuestRule(
	_ context.Context,
	id string,
	host crawl.Host,
	r crawl.GuestRule,
) (bool, error) {
	n.rules = append(n.rules,
		fmt.Sprint(id, " ", host, " ", r.Block != nil, r.Delay != nil, r.Limit != nil))
	return host != "nobody.example", n.broken
}

func (n *node) ExplainURL(_ context.Context, url string, _ int) (*crawl.URLReport, error) {
	r := &crawl.URLReport{Summary: "no such page"}
	host, at := crawl.Host("a.example"), time.Unix(2_000_000_000, 0)
	switch url {
	case "http://a.example/queued":
		r.Record = &crawl.RecordReport{State: crawl.ListQueued}
	case "http://a.example/done":
		r.Record = &crawl.RecordReport{State: crawl.ListDone}
		r.NextVisitAt = &at
	default:
		return r, nil
	}
	r.URL, r.Host = &url, &host
	return r, nil
}

func (n *node) ListURLs(_ context.Context, q crawl.URLQuery) (*crawl.URLPage, error) {
	all := []string{"http://a.example/1", "http://a.example/2", "http://a.example/X",
		"http://a.example/x"}
	from := 0
	if q.After != "" {
		_, _ = fmt.Sscan(q.After, &from)
	}
	page := &crawl.URLPage{}
	if n.emptied || q.Host != "" && q.Host != "a.example" {
		return page, nil
	}
	for _, u := range all[from:min(from+2, len(all))] {
		if strings.Contains(strings.ToLower(u), strings.ToLower(q.Contains)) {
			page.URLs = append(page.URLs, crawl.URLLine{URL: u, Host: "a.example", State: crawl.ListDone})
		}
	}
	if from+2 < len(all) {
		next := fmt.Sprint(from + 2)
		page.Next = &next
	}
	return page, nil
}

func (n *node) DescribeHost(_ context.Context, host string) (*crawl.HostReport, error) {
	if host != "a.example" {
		return nil, crawl.ErrUnknownHost
	}
	if n.emptied {
		return &crawl.HostReport{Pages: 5, State: crawl.HostInFlight}, nil
	}
	return &crawl.HostReport{Queued: 2, Pages: 5, State: crawl.HostInFlight}, nil
}

func (n *node) Hosts(context.Context, string, int) (*crawl.HostsReport, error) {
	return &crawl.HostsReport{Hosts: []crawl.HostLine{{Host: "a.example", Queued: 2},
		{Host: "b.example", Queued: 1}, {Host: "c.example"},
		{Host: "blocked.example", Queued: 4, State: crawl.HostBackoff},
		{Host: "frozen.example", Queued: 4, State: crawl.HostFrozen}}}, nil
}

func (n *node) BlockHost(_ context.Context, host crawl.Host, wait time.Duration) error {
	if host == "nobody.example" {
		return crawl.ErrUnknownHost
	}
	n.blocks = append(n.blocks, fmt.Sprint(host, " ", wait.Round(time.Minute)))
	return n.broken
}

func (n *node) DelayHost(_ context.Context, host crawl.Host, delay time.Duration) error {
	if host == "nobody.example" {
		return crawl.ErrUnknownHost
	}
	n.blocks = append(n.blocks, fmt.Sprint(host, " each ", delay))
	return n.broken
}

func (n *node) ControlCrawl(_ context.Context, action string) (crawl.ActionReport, error) {
	n.paused = action == crawl.ActionPause
	return crawl.ActionReport{}, nil
}

func (n *node) ChangeCrawl(_ context.Context, c crawl.CrawlChange) (crawl.CrawlReport, error) {
	for name, value := range c.Settings {
		if string(value) == "7" {
			return crawl.CrawlReport{}, &crawl.FieldErrors{
				Fields: []crawl.FieldError{{Field: name, Detail: "not 7"}},
			}
		}
		n.settings = append(n.settings, name+"="+string(value))
	}
	return crawl.CrawlReport{}, n.broken
}

func (n *node) RecordChange(e crawl.AuditEntry) { n.changes = append(n.changes, e) }

// dial serves b until the test ends, and returns a client.
func dial(t testing.TB, b Backend, o Options) wire.URLFrontierClient {
	t.Helper()
	return serve(t, b, o)()
}

// serve starts a server, and returns what makes clients with a connection of their own.
func serve(t testing.TB, b Backend, o Options) func() wire.URLFrontierClient {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- New(b, o).Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return func() wire.URLFrontierClient {
		conn, err := grpc.NewClient(l.Addr().String(),
			grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return wire.NewURLFrontierClient(conn)
	}
}

func collect[T any](t *testing.T, s grpc.ServerStreamingClient[T], err error) (all []*T) {
	t.Helper()
	for err == nil {
		var v *T
		if v, err = s.Recv(); err == nil {
			all = append(all, v)
		}
	}
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return all
}

// put sends items over one stream and returns the acknowledgements in order.
func put(t *testing.T, c wire.URLFrontierClient, items ...*wire.URLItem) (acks []string) {
	t.Helper()
	s, err := c.PutURLs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range items {
		if err := s.Send(it); err != nil {
			t.Fatal(err)
		}
		ack, err := s.Recv()
		if err != nil {
			t.Fatal(err)
		}
		acks = append(acks, ack.GetID()+" "+ack.GetStatus().String())
	}
	if err := s.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("the stream ends with %v", err)
	}
	return acks
}

func discovered(url string, md ...string) *wire.URLItem {
	return &wire.URLItem{
		Item: &wire.URLItem_Discovered{Discovered: &wire.DiscoveredURLItem{Info: infoWith(url, md)}},
	}
}

func known(url string, date uint64, md ...string) *wire.URLItem {
	return &wire.URLItem{Item: &wire.URLItem_Known{
		Known: &wire.KnownURLItem{Info: infoWith(url, md), RefetchableFromDate: date},
	}}
}

func infoWith(url string, md []string) *wire.URLInfo {
	info := &wire.URLInfo{Url: url, Metadata: map[string]*wire.StringList{}}
	for i := 0; i+1 < len(md); i += 2 {
		info.Metadata[md[i]] = one(md[i+1])
	}
	return info
}

func TestLeasesAndResults(t *testing.T) {
	t.Parallel()
	n := &node{queued: []string{"http://a.example/1", "http://b.example/2", "http://c.example/3"}}
	c := dial(t, n, Options{})
	s, err := c.GetURLs(t.Context(), &wire.GetParams{MaxQueues: 2})
	got := collect(t, s, err)
	if len(got) != 2 || got[0].GetUrl() != "http://a.example/1" || got[0].GetKey() != "a.example" ||
		first(got[0].GetMetadata(), metaLease) != "l1" ||
		first(got[0].GetMetadata(), metaLeft) != "12.5" || first(got[0].GetMetadata(), metaDepth) != "2" {
		t.Fatalf("GetURLs: %v", got)
	}
	for _, it := range []*wire.URLItem{
		discovered("http://a.example/big", "k", strings.Repeat("x", 4096)),
		known("http://a.example/big", 0, "k", strings.Repeat("x", 4096)),
	} {
		if acks := put(t, c, it); acks[0] != "http://a.example/big SKIPPED" || len(n.notes) > 0 {
			t.Errorf("too much metadata: %v, %v", acks, n.notes)
		}
	}
	acks := put(t, c,
		known("http://a.example/1", 0),                   // the lease is remembered
		known("http://a.example/1", 0),                   // and forgotten
		known("http://x.example/", 0, metaLease, "gone"), // it has ended
		known("http://b.example/2", 0, metaLease, "l1"),  // told by the client
		discovered("http://a.example/new", metaSource, "http://a.example/1"), discovered("mailto:x"))
	want := []string{"http://a.example/1 OK", "http://a.example/1 SKIPPED",
		"http://x.example/ SKIPPED", "http://b.example/2 OK", "http://a.example/new OK",
		"mailto:x SKIPPED"}
	if !slices.Equal(acks, want) {
		t.Errorf("acknowledged %v, want %v", acks, want)
	}
	if len(n.results) != 4 || n.results[1].LeaseID != "" || n.results[0].LeaseID != "l1" ||
		n.results[0].Results[0].HTTPStatus != 200 {
		t.Errorf("results %+v", n.results)
	}
	if notes := n.notes; len(notes) != 5 || !notes[0].Known ||
		notes[2].URL != "http://a.example/new" || notes[2].Known ||
		!slices.Equal(notes[2].Metadata[metaSource], []string{"http://a.example/1"}) || !notes[4].Drop {
		t.Errorf("notes %+v", notes)
	}
	if len(n.found) != 1 || n.found[0].SourceURL != "http://a.example/1" {
		t.Errorf("found %+v", n.found)
	}
}

// TestQueriesForURLs: what GetURLs asks the node for.
func TestQueriesForURLs(t *testing.T) {
	t.Parallel()
	n := &node{}
	c := dial(t, n, Options{})
	anyCrawl, id := &wire.GetParams_AnyCrawlID{
		AnyCrawlID: &wire.AnyCrawlID{},
	}, func(id string) *wire.GetParams_CrawlID { return &wire.GetParams_CrawlID{CrawlID: id} }
	for _, g := range []struct {
		p    *wire.GetParams
		want []crawl.NextQuery
	}{
		{&wire.GetParams{}, []crawl.NextQuery{{Most: 100, Wait: time.Second, Any: true}}},
		{&wire.GetParams{Item: anyCrawl, MaxQueues: 5000, DelayRequestable: 7},
			[]crawl.NextQuery{{Most: 1000, Wait: time.Second, Any: true, Life: 7 * time.Second}}},
		{&wire.GetParams{Item: id(" "), MaxQueues: 3}, []crawl.NextQuery{{Most: 3, Wait: time.Second}}},
		{&wire.GetParams{Item: id("DEFAULT"), Key: "A.example"}, []crawl.NextQuery{{Most: 1, Wait: time.Second, Host: "a.example"}}},
		{&wire.GetParams{Item: id("x"), Key: "a.example"}, []crawl.NextQuery{{Most: 1, Wait: time.Second, Host: "a.example", Crawl: "x"}}},
		{&wire.GetParams{Item: id(strings.Repeat("x", 129))}, nil},
		{&wire.GetParams{Key: "no host", Item: id("")}, nil},
		{&wire.GetParams{Key: "a.example"}, []crawl.NextQuery{
			{Most: 1, Wait: time.Second / 2, Host: "a.example"},
			{Most: 1, Wait: time.Second / 2, Host: "a.example", Crawl: crawl.OtherCrawls},
		}},
	} {
		n.asked = nil
		s, err := c.GetURLs(t.Context(), g.p)
		collect(t, s, err)
		for i := range n.asked {
			n.asked[i].Worker = ""
		}
		if !slices.Equal(n.asked, g.want) {
			t.Errorf("%v: asked %+v, want %+v", g.p, n.asked, g.want)
		}
	}
}

// TestGuests: items of other crawls go to these, in their order, with all but what this server has
// added.
func TestGuests(t *testing.T) {
	t.Parallel()
	n := &node{}
	c := dial(t, n, Options{})
	in := func(id string, it *wire.URLItem) *wire.URLItem {
		infoIn(it).CrawlID = id
		return it
	}
	acks := put(t, c,
		in("a", discovered("HTTP://A.example", "k", "v", metaLease, "x")),
		in("a", known("http://a.example/", 77, metaLease, "l9", metaStatus, "503")),
		in("a", discovered("mailto:x")), in("a\x00", discovered("http://a.example/")),
		in("full", discovered("http://a.example/")), in("moving", discovered("http://a.example/")),
		in("a", discovered("http://a.example/", "k", strings.Repeat("x", 4096))))
	want := []string{"HTTP://A.example OK", "http://a.example/ OK", "mailto:x SKIPPED",
		"http://a.example/ SKIPPED", "http://a.example/ SKIPPED", "http://a.example/ FAIL",
		"http://a.example/ SKIPPED"}
	if !slices.Equal(acks, want) {
		t.Errorf("acknowledged %v, want %v", acks, want)
	}
	if len(n.guests) != 4 || n.guests[0].URL != "http://a.example/" ||
		len(n.guests[0].Metadata) != 1 || n.guests[0].Known {
		t.Fatalf("stored %+v", n.guests)
	}
	if g := n.guests[1]; !g.Known || g.Lease != "l9" || g.Refetch != 77 || g.Result.HTTPStatus != 503 {
		t.Errorf("the result is %+v", g)
	}
}

// TestFailuresMayBeSentAgain has a node that cannot store anything for a while.
func TestFailuresMayBeSentAgain(t *testing.T) {
	t.Parallel()
	n := &node{queued: []string{"http://a.example/1"}}
	c := dial(t, n, Options{})
	s, err := c.GetURLs(t.Context(), &wire.GetParams{})
	collect(t, s, err)
	n.broken = errors.New("the disk is full")
	if acks := put(t, c, known("http://a.example/1", 0),
		discovered("http://a.example/2")); !slices.Equal(acks,
		[]string{"http://a.example/1 FAIL", "http://a.example/2 FAIL"}) {
		t.Errorf("acknowledged %v", acks)
	}
	n.broken = nil
	if acks := put(t, c, known("http://a.example/1", 0),
		discovered("http://a.example/2")); !slices.Equal(acks,
		[]string{"http://a.example/1 OK", "http://a.example/2 OK"}) {
		t.Errorf("sent again: %v", acks)
	}
}

func TestBatches(t *testing.T) {
	t.Parallel()
	n := &node{}
	s, err := dial(t, n, Options{}).PutDiscovered(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	batch := &wire.DiscoveredBatch{ID: "b1", Items: []*wire.URLInfo{{Url: "http://a.example/1"},
		{Url: "bad"}, {Url: "http://a.example/2"}, {Url: "http://a.example/3", CrawlID: "another"}, {}}}
	if err := s.Send(batch); err != nil {
		t.Fatal(err)
	}
	ack, err := s.Recv()
	want := []wire.AckMessage_Status{wire.AckMessage_OK, wire.AckMessage_SKIPPED, wire.AckMessage_OK,
		wire.AckMessage_OK, wire.AckMessage_SKIPPED}
	if err != nil || ack.GetID() != "b1" || !slices.Equal(ack.GetStatuses(), want) {
		t.Errorf("acknowledged %v, %v", ack, err)
	}
}

func TestResultOf(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000_000, 0)
	for _, c := range []struct {
		name string
		item *wire.URLItem
		want crawl.WorkerResult
	}{
		{"done", known("u", 0), crawl.WorkerResult{Status: "success", HTTPStatus: 200}},
		{"done with its status", known("u", 0, metaStatus, "404"), crawl.WorkerResult{Status: "success", HTTPStatus: 404}},
		{"fetched, and again by the plan", known("u", 1_000_000_060, metaStatus, "200"), crawl.WorkerResult{Status: "success", HTTPStatus: 200}},
		{"busy", known("u", 1_000_000_060, metaStatus, "503"), crawl.WorkerResult{Status: "success", HTTPStatus: 503, RetryAfter: 60}},
		{"no answer", known("u", 0, metaError, "timeout"), crawl.WorkerResult{Status: "error", Error: "timeout"}},
		{"no answer, and a date", known("u", 1_000_000_060, metaError, "timeout"), crawl.WorkerResult{Status: "postponed", Error: "timeout"}},
		{"an error of StormCrawler", known("u", 1_000_000_060, metaErrors, "2"),
			crawl.WorkerResult{Status: "postponed", Error: "the client counts errors of it"}},
		{"its cause", known("u", 0, metaCause, "x"), crawl.WorkerResult{Status: "error", Error: "x"}},
		{"a success of StormCrawler", known("u", 1_000_000_060), crawl.WorkerResult{Status: "success", HTTPStatus: 200}},
		{"nonsense", known("u", 0, metaStatus, "99999999999999999999"), crawl.WorkerResult{Status: "success", HTTPStatus: 200}},
		{"the end of time", known("u", 1<<64-1, metaError, "x"), crawl.WorkerResult{Status: "postponed", Error: "x"}},
		{"busy until the end of time", known("u", 1<<64-1, metaStatus, "429"), crawl.WorkerResult{
			Status:     "success",
			HTTPStatus: 429,
			RetryAfter: time.Duration(math.MaxInt64).Seconds(),
		}},
	} {
		c.want.URL = "u"
		got := resultOf(c.item.GetKnown(), now)
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestQueries(t *testing.T) {
	t.Parallel()
	n := &node{}
	c := dial(t, n, Options{})
	ctx := t.Context()
	ask := func(name string, want string, got fmt.Stringer, err error) {
		t.Helper()
		if text := strings.Join(strings.Fields(got.String()), " "); err != nil || text != want {
			t.Errorf("%s: %s, %v; want %s", name, text, err, want)
		}
	}
	nodes, err := c.ListNodes(ctx, &wire.Empty{})
	ask("ListNodes", `values:"127.0.0.1:1"`, nodes, err)
	crawls, err := c.ListCrawls(ctx, &wire.Local{})
	ask("ListCrawls", `values:"DEFAULT" values:"other"`, crawls, err)
	queues, err := c.ListQueues(ctx, &wire.Pagination{Start: 1})
	ask("ListQueues", `values:"b.example" start:1 size:1`, queues, err)
	queues, err = c.ListQueues(ctx, &wire.Pagination{Start: 2, IncludeInactive: true})
	ask("ListQueues",
		`values:"c.example" values:"blocked.example" values:"frozen.example" start:2 size:3`, queues, err)
	queues, err = c.ListQueues(ctx, &wire.Pagination{})
	ask("ListQueues", `values:"a.example" values:"b.example" size:2`, queues, err)
	st, err := c.GetStats(ctx, &wire.QueueWithinCrawlParams{})
	if err != nil || st.GetSize() != 3 || st.GetInProcess() != 1 || st.GetNumberOfQueues() != 4 ||
		st.GetCounts()["completed"] != 7 || st.GetCounts()["active_queues"] != 2 {
		t.Errorf("GetStats: %v, %v", st, err)
	}
	if st, err = c.GetStats(ctx, &wire.QueueWithinCrawlParams{Key: "a.example"}); err != nil ||
		st.GetSize() != 2 || st.GetInProcess() != 1 || st.GetCounts()["active_queues"] != 1 ||
		st.GetNumberOfQueues() != 1 || st.GetCounts()["completed"] != 5 {
		t.Errorf("GetStats of a host: %v, %v", st, err)
	}
	if st, err = c.GetStats(ctx, &wire.QueueWithinCrawlParams{Key: "nobody.example"}); err != nil ||
		st.GetNumberOfQueues() != 0 {
		t.Errorf("GetStats of an unknown host: %v, %v", st, err)
	}
	item, err := c.GetURLStatus(ctx, &wire.URLStatusRequest{Url: "http://a.example/queued"})
	if err != nil || item.GetDiscovered().GetInfo().GetKey() != "a.example" {
		t.Errorf("GetURLStatus: %v, %v", item, err)
	}
	if item, err = c.GetURLStatus(ctx, &wire.URLStatusRequest{
		Url: "http://a.example/done",
	}); err != nil || item.GetKnown().GetRefetchableFromDate() != 2_000_000_000 {
		t.Errorf("GetURLStatus: %v, %v", item, err)
	}
	if _, err = c.GetURLStatus(ctx, &wire.URLStatusRequest{
		Url: "http://a.example/never",
	}); status.Code(err) != codes.NotFound {
		t.Errorf("GetURLStatus of an unknown URL: %v", err)
	}
	x, yes := "x", true
	n1, err := c.CountURLs(ctx, &wire.CountUrlParams{Filter: &x, Key: "a.example", IgnoreCase: &yes})
	// a.example has an x as well
	ask("CountURLs", "value:4", n1, err)
	// a queue's key is a host
	for key, want := range map[string]string{
		"A.Example":  "value:4",
		"b.example":  "",
		"not/a/host": "",
	} {
		n1, err = c.CountURLs(ctx, &wire.CountUrlParams{Key: key})
		ask("CountURLs of "+key, want, n1, err)
		list, err := c.ListURLs(ctx, &wire.ListUrlParams{Key: key})
		if all := collect(t, list, err); len(all) != 4 && want != "" || len(all) != 0 && want == "" {
			t.Errorf("ListURLs of %s: %v", key, all)
		}
	}
	x = "/X"
	n1, err = c.CountURLs(ctx, &wire.CountUrlParams{Filter: &x})
	ask("CountURLs", "value:1", n1, err)
	n1, err = c.CountURLs(ctx, &wire.CountUrlParams{})
	ask("CountURLs", "value:10", n1, err)
	list, err := c.ListURLs(ctx, &wire.ListUrlParams{Start: 1, Size: 2})
	if all := collect(t, list, err); len(all) != 2 ||
		all[0].GetKnown().GetInfo().GetUrl() != "http://a.example/2" ||
		all[1].GetKnown().GetInfo().GetUrl() != "http://a.example/X" {
		t.Errorf("ListURLs: %v", all)
	}
}

func TestActive(t *testing.T) {
	t.Parallel()
	n := &node{}
	c := dial(t, n, Options{})
	for _, want := range []bool{false, true} {
		if _, err := c.SetActive(t.Context(), &wire.Active{State: want}); err != nil {
			t.Fatal(err)
		}
		if got, err := c.GetActive(t.Context(), &wire.Local{}); err != nil || got.GetState() != want {
			t.Errorf("active %v, %v; want %v", got, err, want)
		}
	}
	if len(n.changes) != 2 || n.changes[0].New != crawl.ActionPause ||
		n.changes[0].From != "127.0.0.1" {
		t.Errorf("the audit log has %+v", n.changes)
	}
	if _, err := c.SetActive(t.Context(), &wire.Active{
		Local: true,
	}); status.Code(err) != codes.Unimplemented {
		t.Errorf("one node alone: %v", err)
	}
}

// TestSettings changes what the cluster has for all hosts, and the level of the node's log.
func TestSettings(t *testing.T) {
	t.Parallel()
	n, level := &node{}, slog.LevelVar{}
	c, ctx := dial(t, n, Options{SetLevel: level.Set}), t.Context()
	delay := func(p *wire.QueueDelayParams) error { _, err := c.SetDelay(ctx, p); return err }
	limit := func(p *wire.CrawlLimitParams) error { _, err := c.SetCrawlLimit(ctx, p); return err }
	for name, err := range map[string]error{
		"SetDelay":      delay(&wire.QueueDelayParams{DelayRequestable: 90}),
		"SetCrawlLimit": limit(&wire.CrawlLimitParams{Limit: 500, CrawlID: "DEFAULT"}),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	slices.Sort(n.settings)
	if want := []string{`delay="1m30s"`, `max_pages_per_host=500`}; !slices.Equal(n.settings, want) ||
		len(n.changes) != 2 || n.changes[0].Status != 200 {
		t.Errorf("changed %v, %+v; want %v", n.settings, n.changes, want)
	}
	if err := limit(&wire.CrawlLimitParams{Limit: 7}); status.Code(err) != codes.InvalidArgument ||
		n.changes[2].Status != 409 {
		t.Errorf("a value that is refused: %v", err)
	}
	if err := errors.Join(delay(&wire.QueueDelayParams{Key: "A.example", DelayRequestable: 5}),
		delay(&wire.QueueDelayParams{
			Key: "nobody.example",
		})); err != nil || !slices.Equal(n.blocks, []string{"a.example each 5s"}) {
		t.Errorf("of one host: %v, %v", n.blocks, err)
	}
	if err := delay(&wire.QueueDelayParams{
		Key: "no host",
	}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("of no host: %v", err)
	}
	before := len(n.settings)
	if err := errors.Join(delay(&wire.QueueDelayParams{CrawlID: "another"}),
		delay(&wire.QueueDelayParams{
			CrawlID: "another",
			Key:     "a.example",
		}), limit(&wire.CrawlLimitParams{CrawlID: "another", Key: "a.example"})); err != nil {
		t.Errorf("another crawl: %v", err)
	}
	if err := limit(&wire.CrawlLimitParams{
		CrawlID: "another",
		Key:     "nobody.example",
	}); status.Code(err) != codes.NotFound {
		t.Errorf("a queue that is not there: %v", err)
	}
	if want := []string{
		"another  false true false",
		"another a.example false true false",
		"another a.example false false true",
		"another nobody.example false false true",
	}; !slices.Equal(n.rules, want) || len(n.settings) != before {
		t.Errorf("rules %q, want %q", n.rules, want)
	}
	for _, l := range []wire.LogLevelParams_Level{wire.LogLevelParams_ERROR, wire.LogLevelParams_WARN,
		wire.LogLevelParams_INFO, wire.LogLevelParams_DEBUG, wire.LogLevelParams_TRACE} {
		if _, err := c.SetLogLevel(ctx, &wire.LogLevelParams{Local: true, Level: l}); err != nil ||
			level.Level().String() != l.String() && l != wire.LogLevelParams_TRACE {
			t.Errorf("%v: %v, %v", l, level.Level(), err)
		}
	}
	if _, err := c.SetLogLevel(ctx, &wire.LogLevelParams{
		Local: true,
		Level: 99,
	}); status.Code(err) != codes.InvalidArgument || level.Level() != slog.LevelDebug {
		t.Errorf("no level: %v", err)
	}
	n.broken = fmt.Errorf("%w: a widening", crawl.ErrForbidden)
	if err := delay(&wire.QueueDelayParams{}); status.Code(err) != codes.PermissionDenied {
		t.Errorf("what may not be changed: %v", err)
	}
}

// TestBlocks: hosts are blocked until a time, and no longer with 0 or a time in the past.
func TestBlocks(t *testing.T) {
	t.Parallel()
	n := &node{}
	c := dial(t, n, Options{})
	soon := uint64(time.Now().Add(time.Hour).Unix())
	for _, b := range []struct {
		p    *wire.BlockQueueParams
		want codes.Code
	}{
		{&wire.BlockQueueParams{Key: "A.example", Time: soon}, codes.OK},
		{&wire.BlockQueueParams{Key: "a.example", CrawlID: "DEFAULT"}, codes.OK},
		{&wire.BlockQueueParams{Key: "[::1]", Time: 1}, codes.OK},
		{&wire.BlockQueueParams{Key: "a.example", Time: 1<<64 - 1}, codes.OK},
		{&wire.BlockQueueParams{Key: "nobody.example", Time: soon}, codes.NotFound},
		{&wire.BlockQueueParams{Key: "a.example", Time: soon, CrawlID: "another"}, codes.OK},
		{&wire.BlockQueueParams{Time: soon}, codes.InvalidArgument},
		{&wire.BlockQueueParams{Key: "a.example/x", Time: soon}, codes.InvalidArgument},
		{&wire.BlockQueueParams{Key: "a.example:8080", Time: soon}, codes.InvalidArgument},
		{&wire.BlockQueueParams{Key: "a\x00.example", Time: soon}, codes.InvalidArgument},
	} {
		if _, err := c.BlockQueueUntil(t.Context(), b.p); status.Code(err) != b.want {
			t.Errorf("%v: %v, want %v", b.p, err, b.want)
		}
	}
	want := []string{"a.example 1h0m0s", "a.example 0s", "[::1] 0s",
		fmt.Sprint("a.example ", time.Duration(math.MaxInt64).Round(time.Minute))}
	if !slices.Equal(n.blocks, want) || len(n.changes) != 6 ||
		!slices.Equal(n.rules, []string{"another a.example true false false"}) {
		t.Errorf("blocked %q, want %q; the audit log has %+v", n.blocks, want, n.changes)
	}
}

// TestWhatIsNotThere has each call that is refused say what to do instead.
func TestWhatIsNotThere(t *testing.T) {
	t.Parallel()
	c, ctx := dial(t, &node{}, Options{}), t.Context()
	calls := map[string]func() error{
		"BlockQueueUntil at a node": func() error {
			_, err := c.BlockQueueUntil(ctx, &wire.BlockQueueParams{Key: "a.example", Local: true})
			return err
		},
		"SetDelay at a node": func() error {
			_, err := c.SetDelay(ctx, &wire.QueueDelayParams{Local: true})
			return err
		},
		"SetCrawlLimit of a host": func() error {
			_, err := c.SetCrawlLimit(ctx, &wire.CrawlLimitParams{Key: "a.example"})
			return err
		},
		"SetLogLevel of all nodes": func() error {
			_, err := c.SetLogLevel(ctx, &wire.LogLevelParams{})
			return err
		},
		"SetLogLevel of a package": func() error {
			_, err := c.SetLogLevel(ctx, &wire.LogLevelParams{Local: true, Package: "x"})
			return err
		},
		"SetLogLevel that is fixed": func() error {
			_, err := c.SetLogLevel(ctx, &wire.LogLevelParams{Local: true})
			return err
		},
	}
	for name, call := range calls {
		if err := call(); status.Code(err) != codes.Unimplemented ||
			strings.Contains(err.Error(), "not implemented") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDeletes: what is deleted, and of which crawl.
func TestDeletes(t *testing.T) {
	t.Parallel()
	n := &node{}
	c, ctx := dial(t, n, Options{}), t.Context()
	for _, p := range []*wire.DeleteCrawlMessage{{Value: "x"}, {}, {Value: "a\x00"}} {
		if got, err := c.DeleteCrawl(ctx, p); err != nil ||
			(got.GetValue() == 4) != (p.GetValue() != "a\x00") {
			t.Errorf("%v: %v, %v", p, got, err)
		}
	}
	for _, p := range []*wire.QueueWithinCrawlParams{{Key: "a.example", CrawlID: "x"},
		{Key: "A.example"}, {CrawlID: "x"}} {
		if got, err := c.DeleteQueue(ctx, p); err != nil || (got.GetValue() == 4) != (p.GetKey() != "") {
			t.Errorf("%v: %v, %v", p, got, err)
		}
	}
	for _, p := range []*wire.PurgeUrlParams{{Days: 3, CrawlID: "x"},
		{Key: "a.example", CrawlID: "DEFAULT"}, {Key: "no host"}, {Days: 1<<32 - 1}} {
		if _, err := c.PurgeURLs(ctx, p); err != nil {
			t.Errorf("%v: %v", p, err)
		}
	}
	if want := []string{"x  false", "  false", "x a.example false", " a.example false", "x  true",
		" a.example true", "  true"}; !slices.Equal(n.deleted, want) {
		t.Errorf("deleted %q, want %q", n.deleted, want)
	}
	n.broken = crawl.ErrMoving
	if _, err := c.DeleteCrawl(ctx, &wire.DeleteCrawlMessage{
		Value: "x",
	}); status.Code(err) != codes.Unavailable {
		t.Errorf("a part is on its way: %v", err)
	}
}

func TestAccess(t *testing.T) {
	t.Parallel()
	c := dial(t, &node{}, Options{Access: func(secret string) (crawl.Caller, error) {
		switch secret {
		case "read":
			return crawl.Caller{ID: "r", Role: crawl.RoleRead}, nil
		case "operate":
			return crawl.Caller{ID: "o", Role: crawl.RoleOperate}, nil
		}
		return crawl.Caller{}, errors.New("no token")
	}})
	for secret, want := range map[string][2]codes.Code{
		"":        {codes.Unauthenticated, codes.Unauthenticated},
		"read":    {codes.OK, codes.PermissionDenied},
		"operate": {codes.OK, codes.OK},
	} {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+secret)
		_, err := c.GetStats(ctx, &wire.QueueWithinCrawlParams{})
		s, serr := c.GetURLs(ctx, &wire.GetParams{})
		if serr == nil {
			if _, serr = s.Recv(); errors.Is(serr, io.EOF) {
				serr = nil
			}
		}
		if _, err := c.SetDelay(ctx, &wire.QueueDelayParams{}); status.Code(err) !=
			codes.PermissionDenied &&
			secret != "" {
			t.Errorf("with %q the delay was set: %v", secret, err)
		}
		if status.Code(err) != want[0] || status.Code(serr) != want[1] {
			t.Errorf("with %q: %v and %v, want %v", secret, err, serr, want)
		}
	}
}

// TestStreamsOfAConnection: one more than maxStreams waits until another one ends.
func TestStreamsOfAConnection(t *testing.T) {
	t.Parallel()
	c := dial(t, &node{}, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var end context.CancelFunc
	for range maxStreams {
		var one context.Context
		if one, end = context.WithCancel(ctx); putOne(one, c) != nil {
			t.Fatal("a stream was refused")
		}
	}
	short, stop := context.WithTimeout(ctx, 100*time.Millisecond)
	defer stop()
	if err := putOne(short, c); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("one more stream: %v", err)
	}
	end()
	if err := putOne(ctx, c); err != nil {
		t.Errorf("after the end of a stream: %v", err)
	}
}

// TestStreamsOfAllConnections: one more than maxAllStreams is refused until another one ends.
func TestStreamsOfAllConnections(t *testing.T) {
	t.Parallel()
	client := serve(t, &node{}, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var end context.CancelFunc
	for i := range maxAllStreams / maxStreams {
		c := client()
		for j := range maxStreams {
			var one context.Context
			if one, end = context.WithCancel(ctx); putOne(one, c) != nil {
				t.Fatalf("stream %d of connection %d was refused", j, i)
			}
		}
	}
	other := client()
	if err := putOne(ctx, other); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("one more stream: %v", err)
	}
	end()
	for {
		err := putOne(ctx, other)
		if err == nil {
			return
		}
		if status.Code(err) != codes.ResourceExhausted { // the node has not seen the end yet
			t.Fatalf("after the end of a stream: %v", err)
		}
	}
}

// TestUnreadIsBounded: a client that sends URLs faster than they are taken is held up before
// much of what it sends waits here, on many streams too: their windows do not grow.
func TestUnreadIsBounded(t *testing.T) {
	t.Parallel()
	busy := make(chan struct{})
	c := dial(t, stuck{&node{}, busy}, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	var senders sync.WaitGroup
	sent := make(chan int)
	for range maxStreams {
		senders.Go(func() {
			s, err := c.PutURLs(ctx)
			for i := 0; err == nil; i++ {
				item := discovered(fmt.Sprintf("http://a.example/%d", i))
				item.ID = strings.Repeat("i", 2000)
				if err = s.Send(item); err == nil {
					select {
					case sent <- len(item.ID):
					case <-ctx.Done():
					}
				}
			}
		})
	}
	most := 4 * maxStreams * streamWindow // here, in the sockets and at the client
	for total, quiet := 0, false; !quiet && total <= most; {
		select {
		case n := <-sent:
			if total += n; total > most {
				t.Errorf("more than %d bytes were taken, and nothing was acknowledged", most)
			}
		case <-time.After(time.Second):
			quiet = total > 0 // a busy machine may take longer to begin
		}
	}
	close(busy)
	cancel()
	senders.Wait()
}

// stuck is a node that takes no URL, and says so when busy is closed.
type stuck struct {
	*node
	busy chan struct{}
}

func (s stuck) AddFound(ctx context.Context, _ crawl.FoundURLs) (crawl.FoundReport, error) {
	select {
	case <-s.busy:
	case <-ctx.Done():
	}
	return crawl.FoundReport{}, errors.New("stuck")
}

// putOne sends a URL over a stream that lasts as long as ctx.
func putOne(ctx context.Context, c wire.URLFrontierClient) error {
	s, err := c.PutURLs(ctx)
	if err != nil {
		return err
	}
	if err := s.Send(discovered("http://a.example/")); err != nil {
		return err
	}
	_, err = s.Recv()
	return err
}

func TestGivenIsBounded(t *testing.T) {
	t.Parallel()
	g := newLeaseCache()
	g.most = 3
	for i := range 5 {
		g.put(fmt.Sprint(i), "l")
	}
	g.put("2", "again")
	for url, want := range map[string]string{"0": "", "1": "", "2": "again", "3": "l", "4": "l"} {
		if got := g.take(url); got != want {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
	if len(g.urls) != 0 || g.order.Len() != 0 {
		t.Error("what was taken is still there")
	}
}

// TestSeedsAreAudited: discovered URLs without a source are seeds, and the audit has the first of a
// stream before they are acknowledged, and the rest when it has ended; links are not in it.
func TestSeedsAreAudited(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		urls []string // with " link" they have a source
		want []string
	}{
		{[]string{"http://a.example/"}, []string{"1 seed: http://a.example/"}},
		{[]string{"http://a.example/ link", "http://b.example/ link"}, nil},
		{[]string{"http://a.example/ link", "http://b.example/", "http://c.example/ link"}, []string{"1 seed: http://b.example/"}},
		{[]string{"http://a.example/", "http://b.example/", "http://c.example/"},
			[]string{"1 seed: http://a.example/", "2 seeds: http://b.example/"}},
		{[]string{"ftp://a.example/"}, nil},
	} {
		for _, batches := range []bool{false, true} {
			n := &node{}
			call := "URLFrontier PutURLs"
			ctx, cancel := context.WithCancel(t.Context())
			client := dial(t, n, Options{})
			items := func(u string) *wire.URLInfo {
				url, link, isLink := strings.Cut(u, " ")
				info := &wire.URLInfo{Url: url}
				if isLink {
					info.Metadata = map[string]*wire.StringList{metaSource: one("http://from.example/" + link)}
				}
				return info
			}
			var err error
			if batches {
				call = "URLFrontier PutDiscovered"
				var s wire.URLFrontier_PutDiscoveredClient
				if s, err = client.PutDiscovered(ctx); err != nil {
					t.Fatal(err)
				}
				for _, u := range c.urls {
					if err = s.Send(&wire.DiscoveredBatch{Items: []*wire.URLInfo{items(u)}}); err == nil {
						_, err = s.Recv()
					}
				}
				if err = errors.Join(err, s.CloseSend()); err == nil {
					_, err = s.Recv()
				}
			} else {
				s, openErr := client.PutURLs(ctx)
				if openErr != nil {
					t.Fatal(openErr)
				}
				for _, u := range c.urls {
					item := &wire.URLItem{
						Item: &wire.URLItem_Discovered{Discovered: &wire.DiscoveredURLItem{Info: items(u)}},
					}
					if err = s.Send(item); err == nil {
						_, err = s.Recv()
					}
				}
				if err = errors.Join(err, s.CloseSend()); err == nil {
					_, err = s.Recv()
				}
			}
			if !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			cancel()
			var got []string
			for _, e := range n.changes {
				got = append(got, e.New)
				if e.What != call || e.From != "127.0.0.1" || e.Old == "" || e.Status != 200 {
					t.Errorf("%+v", e)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%q, %s: the audit has %q, want %q", c.urls, call, got, c.want)
			}
		}
	}
}

// TestStatsOfNothing: leases of deleted URLs, and hosts that are remembered for their politeness,
// are no queues and no URLs in process.
func TestStatsOfNothing(t *testing.T) {
	t.Parallel()
	s := &Server{backend: &node{emptied: true}}
	for _, key := range []string{"", "a.example"} {
		st, err := s.GetStats(t.Context(), &wire.QueueWithinCrawlParams{Key: key})
		if err != nil || st.GetSize() != 0 || st.GetInProcess() != 0 || st.GetNumberOfQueues() != 0 ||
			st.GetCounts()["active_queues"] != 0 {
			t.Errorf("GetStats of %q: %v, %v", key, st, err)
		}
	}
}
