package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"crawlnode/api/dashboard"
	"crawlnode/crawl"
)

// Texts of the length that strangers may give them, without a place to break.
var (
	longLabel = strings.Repeat("l", 63) // as long as a label of a host may be
	longHost  = longLabel + "." + longLabel + "." + longLabel + ".test"
	longURL   = "https://" + longHost + "/" + strings.Repeat("p", 200) + "?" + longName
	longNode  = strings.Repeat("n", 60)
)

// largeFigure is a count of a crawl that has run for months.
const largeFigure = 987_654_321

// largeCluster answers as a cluster of twelve nodes does whose figures are large and whose texts
// are long: every field of every report has a value.
type largeCluster struct {
	dashboard.Backend // nil: orders are not given
	began             time.Time
}

// filled fills every field of a value, and gives each slice n elements.
func filled[T any](n int) *T {
	v := new(T)
	fill(reflect.ValueOf(v).Elem(), n)
	return v
}

func fill(v reflect.Value, n int) {
	if at, ok := v.Addr().Interface().(*time.Time); ok {
		*at = time.Date(2026, 12, 28, 23, 58, 59, 0, time.UTC)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), n)
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(v.Index(i), n)
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), n)
		}
	case reflect.String:
		v.SetString(longURL)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(98_765.4321)
	case reflect.Int, reflect.Int64, reflect.Uint64, reflect.Int32, reflect.Uint32:
		if v.CanInt() {
			v.SetInt(largeFigure)
		} else {
			v.SetUint(largeFigure)
		}
	case reflect.Uint16, reflect.Uint8:
		v.SetUint(200)
	}
}

func nodeID(i int) crawl.NodeID { return crawl.NodeID(fmt.Sprintf("%016x", i)) }

// holder is the node of a host, a partition or a record.
func holder(i int) crawl.NodeRef {
	return crawl.NodeRef{ID: nodeID(i), Name: fmt.Sprint(longNode, i)}
}

func (c *largeCluster) Status(context.Context, bool) (*crawl.Status, error) {
	st := filled[crawl.Status](12)
	st.ServedBy, st.AsOf = longNode+"0", time.Now()
	st.Cluster.Name, st.Cluster.State = longName, crawl.ClusterRebalancing
	st.Cluster.Health.Level = crawl.HealthWarn
	st.Cluster.Health.Reasons = st.Cluster.Health.Reasons[:2]
	st.Crawl.State, st.Crawl.FinishReason = crawl.CrawlRunning, nil
	st.Crawl.AllowedActions = []string{"pause", "stop"}
	st.Throughput.PagesPerSecond.Now = 100 * time.Since(c.began).Seconds() // a curve
	for i := range st.Nodes {
		n := &st.Nodes[i]
		n.ID, n.Name = holder(i).ID, holder(i).Name
		n.HTTP = "[2001:db8:1234:5678:9abc:def0:1234:5678]:65535"
		n.State = []string{crawl.NodeAlive, crawl.NodeSuspect, crawl.NodeFailed}[i%3]
	}
	return st, nil
}

func (c *largeCluster) Ring(context.Context) (*crawl.RingReport, error) {
	r := filled[crawl.RingReport](4096)
	for i := range r.Partitions {
		p := &r.Partitions[i]
		id := nodeID(i % 12)
		p.Partition, p.Owner, p.Holder, p.State = crawl.Partition(i), id, &id, crawl.PartitionHeld
		p.Replicas, p.InSync = []crawl.NodeID{nodeID((i + 1) % 12)}, []crawl.NodeID{id}
	}
	return r, nil
}

func (c *largeCluster) Hosts(
	_ context.Context, sort string, limit int,
) (*crawl.HostsReport, error) {
	r := filled[crawl.HostsReport](min(limit, 20))
	r.Sort, r.Unanswered = sort, []string{longNode}
	for i := range r.Hosts {
		h := &r.Hosts[i]
		h.Host, h.State, h.Holder = crawl.Host(longHost), crawl.HostBackoff, holder(i%12)
	}
	return r, nil
}

func (c *largeCluster) DescribeHost(_ context.Context, host string) (*crawl.HostReport, error) {
	r := filled[crawl.HostReport](3)
	r.Host, r.State, r.Owner, r.Holder = crawl.Host(host), crawl.HostFrozen, holder(1), holder(2)
	return r, nil
}

func (c *largeCluster) ExplainURL(_ context.Context, url string, _ int) (*crawl.URLReport, error) {
	r := filled[crawl.URLReport](12)
	owner, holding, host := holder(1), holder(2), crawl.Host(longHost)
	r.Input, r.URL, r.Host, r.Owner, r.Holder = url, &url, &host, &owner, &holding
	r.Record.State, r.Record.Archive.Node = "done", holding
	r.Robots.Verdict = crawl.RobotsSaysForbidden
	status := 404
	for i := range r.History {
		v := &r.History[i]
		if v.At = v.At.Add(-time.Duration(i) * 24 * time.Hour); i%3 == 0 {
			v.Status = &status
		}
	}
	next := r.History[0].At.Add(48 * time.Hour)
	r.NextVisitAt = &next
	return r, nil
}

func (c *largeCluster) Events(_ context.Context, _ uint64, limit int) ([]crawl.Event, error) {
	events := *filled[[]crawl.Event](min(limit, 30))
	for i := range events {
		e := &events[i]
		e.Level, e.Code, e.Node = crawl.EventWarn, crawl.EventFailed, longNode
		e.Fields = map[string]any{"url": longURL, "bytes": largeFigure}
	}
	return events, nil
}

func (c *largeCluster) ListURLs(context.Context, crawl.URLQuery) (*crawl.URLPage, error) {
	p := filled[crawl.URLPage](20)
	p.Unread = p.Unread[:1]
	for i := range p.URLs {
		u := &p.URLs[i]
		u.Host, u.State = crawl.Host(longHost), []string{crawl.ListQueued, crawl.ListSkipped}[i%2]
		*u.Cause = "blocked_address"
	}
	return p, nil
}

func (c *largeCluster) Sites(context.Context) (text, version string, err error) {
	rule := fmt.Sprintf("- match: [host:%s, \"glob:%s*\"]\n  headers: {X-Long: %s}\n  delay: 1s\n"+
		"  proxy: [socks5://127.0.0.1:1080, socks5://127.0.0.1:1081]\n", longHost, longURL, longName)
	return strings.Repeat(rule, 150), "v1", nil
}

func (c *largeCluster) TestSites(
	_ context.Context,
	url string,
	_ *string,
) (crawl.SiteReport, error) {
	r := filled[crawl.SiteReport](12)
	r.URL = url
	return *r, nil
}

func (c *largeCluster) Search(_ context.Context, q crawl.SearchQuery) (*crawl.SearchReport, error) {
	r := filled[crawl.SearchReport](5)
	r.Query, r.Coverage = q.Query, 0.5
	return r, nil
}

func (c *largeCluster) Captures(context.Context, string) (*crawl.CapturesReport, error) {
	return filled[crawl.CapturesReport](3), nil
}

func (c *largeCluster) OpenCapture(context.Context, string, int64) (io.ReadCloser, error) {
	return nil, fmt.Errorf("%w: %s", crawl.ErrNoCapture, longURL)
}

func (c *largeCluster) CrawlConfig(context.Context) (crawl.CrawlReport, error) {
	r := *filled[crawl.CrawlReport](3)
	r.State = crawl.CrawlRunning
	return r, nil
}

// startLargeDashboard serves the dashboard of a largeCluster, with curves.
func startLargeDashboard(t *testing.T) (address string) {
	t.Helper()
	c := &largeCluster{began: time.Now()}
	history := dashboard.NewHistory(c)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); history.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	d := dashboard.New(c, history, slog.New(slog.DiscardHandler))
	mux := http.NewServeMux()
	d.Register(mux.Handle, http.NotFound)
	mux.HandleFunc("GET /api/v1/history", func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(d.Series(r.Context(), r.URL.Query().Get("span")))
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return srv.URL
}

// TestDashboardFitsWhateverItShows: figures in the hundreds of millions, and texts of strangers
// without a place to break, leave every page whole on every screen. The pages are those of twelve
// nodes.
func TestDashboardFitsWhateverItShows(t *testing.T) {
	b := openTab(t)
	t.Parallel()
	u := startLargeDashboard(t)
	b.open(u + "/freshness")
	b.await(`document.querySelector("svg.chart polyline")`) // the first samples
	paths := []string{
		"/start", "/urls?url=" + url.QueryEscape(longURL), "/hosts/" + longHost,
		"/search?query=" + longName, "/pages?contains=" + longName, "/events?text=" + longName,
		"/sites?rule=0&url=" + url.QueryEscape(longURL),
	}
	for _, p := range dashboardPages {
		paths = append(paths, p.path)
	}
	wide := screens
	if testing.Short() {
		wide = []int64{390, 1440}
	}
	for i, width := range wide {
		b.size(width)
		b.theme([]string{"light", "dark"}[i%2])
		for _, path := range paths {
			b.open(u + path)
			if path == "/" {
				b.await(`document.querySelectorAll("canvas").length === 3`)
			}
			where := fmt.Sprintf("%.60s, %d px", path, width)
			b.fits(where, width)
			if *pictures != "" {
				name, _, _ := strings.Cut(path[1:], "/")
				b.picture(*pictures, fmt.Sprintf("large-%.12s-%d", url.QueryEscape(name), width))
			}
		}
	}
	b.scripts(false)
	for _, width := range []int64{screens[0], 1440} { // the pictures that the server has drawn
		b.size(width)
		for _, path := range []string{"/", "/freshness"} {
			b.open(u + path)
			b.fits(fmt.Sprintf("%s without scripts, %d px", path, width), width)
		}
	}
}
