package dashboard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"crawlnode/config"
	"crawlnode/crawl"
)

// evil is text that an attacker would write wherever a page shows it.
const evil = `"><script>alert(1)</script><img src=x onerror=alert(2)>'` + "\u202e\x1b[2J"

// fakeNode has figures in every field and evil in every text.
type fakeNode struct {
	text   string
	err    error
	orders []string
	seeds  []crawl.Seed

	state   string // of the crawl; "": running
	finish  string // why it has ended
	changes []crawl.CrawlChange
	refuse  error // of changed settings
	archive []byte
	lists   []crawl.URLQuery
	page    crawl.URLPage
	rules   string // for sites; "": one with text
}

func at(second int) time.Time { return time.Date(2026, 3, 1, 12, 0, second, 0, time.UTC) }

func ptr[T any](v T) *T { return &v }

func (f *fakeNode) Status(context.Context, bool) (*crawl.Status, error) {
	st := &crawl.Status{ServedBy: f.text, AsOf: at(0)}
	st.Cluster = crawl.ClusterStatus{
		Name:    f.text,
		State:   crawl.ClusterRunning,
		Message: f.text,
		Health: crawl.Health{
			Level:   crawl.HealthWarn,
			Reasons: []crawl.HealthReason{{Code: crawl.ReasonNodeFailed, Message: f.text, Since: at(1)}},
		},
		Members: crawl.MemberCounts{Alive: 2, Failed: 1},
	}
	st.Ring = crawl.RingStatus{
		View:              7,
		Partitions:        4,
		Served:            3,
		ReplicationFactor: 2,
		SingleCopy:        crawl.SingleCopy{Partitions: 1, Seconds: 4.1},
		Handoff: crawl.HandoffStatus{Active: true, PartitionsDone: 1, PartitionsTotal: 3, ETASeconds: ptr(
			70.0),
			Stuck: []crawl.StuckStatus{
				{Partition: 2, From: f.text, To: f.text, Reason: f.text, Since: at(2)}}},
		LastChange: crawl.ChangeStatus{
			Cause:            ptr(crawl.CauseFailed),
			Node:             ptr(f.text),
			At:               ptr(at(3)),
			TakeoverSeconds:  ptr(1.25),
			InflightRequeued: ptr(int64(17)),
			PartitionsLost:   ptr(0),
		},
	}
	st.Crawl = crawl.CrawlStatus{
		State:          crawl.CrawlRunning,
		Message:        f.text,
		StartedAt:      ptr(at(4)),
		AllowedActions: []string{"pause", "stop"},
	}
	if f.state != "" {
		st.Crawl.State = f.state
	}
	if f.finish != "" {
		st.Crawl.FinishReason = &f.finish
	}
	st.Throughput = crawl.ThroughputStatus{
		PagesPerSecond: crawl.Rate{Now: 12.34, Avg1m: 45.6, Avg: 78.9, Peak: 1234.5},
		PagesTotal:     7654321,
	}
	st.Frontier = crawl.FrontierStatus{
		Queued:    98765,
		ByBand:    [crawl.Bands]int64{5, 43210},
		SeenTotal: 11,
	}
	st.Fetch.ErrorsByCategory = crawl.ErrorCounts{DNS: 31, BlockedAddress: 32}
	st.Fetch.SkippedByReason.OutOfScope = 33
	st.Bottleneck = crawl.BottleneckStatus{Cause: crawl.BottleneckPoliteness, Message: f.text}
	st.Freshness = crawl.FreshnessStatus{
		Mode:             crawl.RecrawlAdaptive,
		Due:              4321,
		NextDueAt:        ptr(at(9)),
		OverdueSeconds:   crawl.OverdueQuantiles{P50: ptr(2.0)},
		RevisitsTotal:    900,
		NotModifiedTotal: 300,
		UnchangedTotal:   500,
		ChangedTotal:     250,
		GoneTotal:        50,
		Expected:         ptr(0.875),
	}
	st.Nodes = []crawl.NodeStatus{
		{
			ID:             "id-a",
			Name:           "alpha",
			State:          crawl.NodeAlive,
			HTTP:           "127.0.0.1:1",
			PagesPerSecond: ptr(3.5),
			RSSBytes:       ptr(int64(5 << 20)),
			PausedReason:   ptr(f.text),
		},
		{ID: "id-b", Name: f.text, State: crawl.NodeFailed, HTTP: f.text},
	}
	return st, f.err
}

func (f *fakeNode) Ring(context.Context) (*crawl.RingReport, error) {
	a, b := crawl.NodeID("id-a"), crawl.NodeID("id-b")
	return &crawl.RingReport{View: 7, Digest: f.text, Partitions: []crawl.PartitionReport{
		{
			Partition: 0,
			Owner:     a,
			Holder:    &a,
			Replicas:  []crawl.NodeID{b},
			State:     crawl.PartitionHeld,
			InSync:    []crawl.NodeID{a, b},
			URLs:      ptr(int64(10)),
		},
		{
			Partition: 1,
			Owner:     b,
			Holder:    &a,
			Replicas:  []crawl.NodeID{a},
			State:     crawl.PartitionMoving,
			InSync:    []crawl.NodeID{a, b},
			URLs:      ptr(int64(20)),
		},
		{Partition: 2, Owner: b, Holder: &b, Replicas: []crawl.NodeID{a}, State: crawl.PartitionHeld, InSync: []crawl.NodeID{b}},
		{Partition: 3, Owner: b, Replicas: []crawl.NodeID{a}, State: crawl.PartitionOffline, Reason: &f.text},
	}}, f.err
}

func (f *fakeNode) Hosts(_ context.Context, sort string, limit int) (*crawl.HostsReport, error) {
	return &crawl.HostsReport{
		Sort:       sort,
		InMemory:   5,
		Total:      500,
		Unanswered: []string{f.text},
		Hosts: []crawl.HostLine{
			{
				Host:           crawl.Host(f.text),
				State:          crawl.HostBackoff,
				Queued:         int64(limit),
				Holder:         crawl.NodeRef{ID: "id-a", Name: "alpha"},
				BackoffSeconds: 90,
				NextAllowedAt:  ptr(at(5)),
			}},
	}, f.err
}

func (f *fakeNode) DescribeHost(_ context.Context, host string) (*crawl.HostReport, error) {
	if host == "nobody.test" {
		return nil, fmt.Errorf("%w: nothing of %s", crawl.ErrUnknownHost, host)
	}
	return &crawl.HostReport{
		Host:    crawl.Host(host),
		State:   crawl.HostFrozen,
		Summary: f.text,
		Queued:  77,
		Politeness: crawl.PolitenessReport{
			BackoffReason: &f.text,
			Address:       &f.text,
			FrozenUntil:   ptr(at(6)),
		},
		Robots: []crawl.RobotsSummary{{Origin: f.text, Verdict: "rules"}},
	}, f.err
}

func (f *fakeNode) ExplainURL(_ context.Context, u string, depth int) (*crawl.URLReport, error) {
	host := crawl.Host(f.text)
	return &crawl.URLReport{
		Input:   u,
		Summary: f.text,
		URL:     &u,
		Host:    &host,
		Scope:   crawl.ScopeReport{Rule: f.text, Depth: depth},
		Robots:  crawl.RobotsReport{Verdict: crawl.RobotsSaysForbidden, Rule: f.text, Origin: f.text},
		Owner:   &crawl.NodeRef{ID: "id-a", Name: f.text},
		Record: &crawl.RecordReport{
			State:           "done",
			Reason:          &f.text,
			DuplicateOf:     &f.text,
			NearDuplicateOf: ptr("javascript:alert(3)"),
			Archive: &crawl.ArchiveReport{
				File:   f.text,
				Node:   crawl.NodeRef{Name: f.text},
				Offset: 4096,
			},
		},
		History: []crawl.VisitReport{
			{At: at(50), Status: ptr(304), Milliseconds: ptr(int64(17)), Changed: ptr(false)},
			{At: at(40), Status: ptr(200), Changed: ptr(true)},
			{At: at(30)},
			{At: at(20), Status: ptr(200)},
		},
		NextVisitAt:           ptr(at(59)),
		ChangeIntervalSeconds: ptr(90.0),
		Referrer:              &f.text,
		Links:                 crawl.LinksReport{In: ptr(int64(4242)), Rank: ptr(0.5)},
	}, f.err
}

func (f *fakeNode) Events(context.Context, uint64, int) ([]crawl.Event, error) {
	return []crawl.Event{
		{ID: 1, Level: crawl.EventInfo, Code: crawl.EventJoined, Message: "the older one"},
		{ID: 2, Level: crawl.EventError, Code: crawl.EventFailed, Message: f.text, Node: f.text,
			Fields: map[string]any{"seconds": 1.5, "names": []string{f.text}}},
	}, f.err
}

func (f *fakeNode) ListURLs(_ context.Context, q crawl.URLQuery) (*crawl.URLPage, error) {
	f.lists = append(f.lists, q)
	page := f.page
	if page.URLs == nil {
		page = crawl.URLPage{URLs: []crawl.URLLine{{
			URL:       f.text,
			Host:      "a.test",
			State:     crawl.ListSkipped,
			Status:    ptr(404),
			FetchedAt: ptr(at(8)),
			Cause:     ptr("robots"),
			Reason:    &f.text,
		}},
			Next: &f.text, Scanned: 7, Unread: []crawl.UnreadPartition{{Partition: 3, Why: f.text}}}
	}
	return &page, f.err
}

func (f *fakeNode) Captures(context.Context, string) (*crawl.CapturesReport, error) {
	return &crawl.CapturesReport{}, nil
}

func (f *fakeNode) OpenCapture(context.Context, string, int64) (io.ReadCloser, error) {
	if f.archive == nil {
		return nil, fmt.Errorf("%w: %s", crawl.ErrNoCapture, f.text)
	}
	return io.NopCloser(bytes.NewReader(f.archive)), nil
}

func (f *fakeNode) CrawlConfig(context.Context) (crawl.CrawlReport, error) {
	settings := crawl.Settings{Scope: "host", Include: []string{f.text, "*.html"}, MaxPages: 500,
		Delay: time.Second, Contact: f.text, UserAgent: f.text, Archive: true,
		Recrawl: crawl.RecrawlAdaptive, RecrawlInterval: 7 * 24 * time.Hour, RecrawlMin: time.Hour,
		RecrawlMax: 90 * 24 * time.Hour, RecrawlShare: 0.5, RecrawlChanged: crawl.RecrawlText}
	return crawl.CrawlReport{
		State:    crawl.CrawlRunning,
		Version:  "v7",
		Settings: config.Report(&settings),
	}, f.err
}

func (f *fakeNode) ChangeCrawl(
	_ context.Context,
	change crawl.CrawlChange,
) (crawl.CrawlReport, error) {
	if f.refuse != nil {
		return crawl.CrawlReport{}, f.refuse
	}
	if raw := change.Settings["sites"]; raw != nil {
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return crawl.CrawlReport{}, err
		}
		if _, problems := config.ParseSites(text, nil); len(problems) > 0 {
			return crawl.CrawlReport{}, config.SitesErrors(problems)
		}
		f.rules = text
	}
	f.changes = append(f.changes, change)
	return crawl.CrawlReport{Untold: []string{"beta"}}, nil
}

func (f *fakeNode) Sites(context.Context) (text, version string, err error) {
	if f.rules != "" {
		return f.rules, "v7", f.err
	}
	quoted, err := json.Marshal(f.text) // YAML too
	plain := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(quoted))
	return fmt.Sprintf("- match: host:a.test\n  headers: {X-A: %s}\n", plain), "v7", errors.Join(err,
		f.err)
}

func (f *fakeNode) TestSites(_ context.Context, u string, text *string) (crawl.SiteReport, error) {
	if text != nil {
		c := config.Default()
		s := c.Settings("1")
		return config.SiteByText(&s, *text, u)
	}
	return crawl.SiteReport{
		URL:   u,
		Rules: []crawl.SiteRule{{Line: 1, Match: []string{f.text}}},
		Values: []crawl.SiteValue{
			{Field: "delay", Value: "5s", Line: ptr(2)}, {Field: "headers." + f.text, Value: f.text, Line: ptr(3)}, {Field: "retries", Value: "3"}},
	}, nil
}

func (f *fakeNode) AddSeeds(_ context.Context, seeds []crawl.Seed) (crawl.SeedReport, error) {
	f.seeds = append(f.seeds, seeds...)
	return crawl.SeedReport{
		Accepted: len(seeds),
		Invalid:  []crawl.SeedError{{Line: 9, Input: f.text, Error: "no URL"}},
	}, f.err
}

func (f *fakeNode) ControlCrawl(_ context.Context, action string) (crawl.ActionReport, error) {
	f.orders = append(f.orders, action)
	return crawl.ActionReport{State: crawl.CrawlPaused, Untold: []string{"beta"}}, f.err
}

func (f *fakeNode) DrainMember(_ context.Context, id crawl.NodeID) error {
	f.orders = append(f.orders, "drain "+string(id))
	return nil
}

func (f *fakeNode) ForgetMember(context.Context, crawl.NodeID) error {
	return fmt.Errorf("%w: it answers", crawl.ErrRefused)
}

func serve(f *fakeNode, history *History) http.Handler {
	mux := http.NewServeMux()
	New(f, history, slog.New(slog.DiscardHandler)).Register(mux.Handle, http.NotFound)
	return mux
}

func get(h http.Handler, target string, cookies ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", target, nil)
	for _, c := range cookies {
		r.Header.Add("Cookie", c)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func post(h http.Handler, target string, form url.Values) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", target, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// Each page shows its facts without any script.
func TestPagesHaveTheirFacts(t *testing.T) {
	t.Parallel()
	f := &fakeNode{text: "some words"}
	history := NewHistory(f)
	for i := range 30 {
		st, _ := f.Status(t.Context(), false)
		for k := range 5 {
			history.add(at(5*i+k), st)
		}
	}
	h := serve(f, history)
	for target, wants := range map[string][]string{
		"/": {"12.3", "45.6", "78.9", "1,234", "7,654,321", "98,765", "43,210",
			"<strong>Needs attention</strong> some words.", "node failed", "<polyline", ">31<",
			">blocked address<", "/hosts/some%20words", `value="pause">`, `value="resume" disabled>`,
			"1 week"},
		"/?span=24h": {"12:00:59"},
		"/nodes": {"alpha", "5.0 MiB", "1 failed", "Forget some words", "Drain alpha",
			"1.2 s", "17"},
		"/ring": {`<i class="c h0 moving"`, `<i class="c h1 short"`, `<i class="c away"`,
			">A</i>", ">B</i>", "Hand-over: 1 of 3 partitions", "1 min 10 s", "4 partitions, 1 moving",
			"1 with too few copies", "1, the longest for 4 s", "2: some words, held, 1 of 2 copies"},
		"/hosts?sort=errors": {`aria-sort="descending"><a href="/hosts?sort=errors"`,
			"5 hosts in memory", "of 500 ever seen", "Without the hosts of some words", "1 min 30 s"},
		"/hosts?sort=nonsense": {`aria-sort="descending"><a href="/hosts?sort=queued"`},
		"/hosts/a.test": {"<h1>a.test</h1>", "frozen", ">77<", "rules", ">robots<",
			"/pages?host=a.test&amp;state=queued"},
		"/hosts/-?host=b.test": {"<h1>b.test</h1>"},
		"/urls":                {`<input id="url"`},
		"/urls?url=http://a.test/&depth=": {`<a href="http://a.test/" rel="noreferrer noopener">`,
			"forbidden", "/api/v1/captures/some%20words/4096", "refused",
			"4 visits from 2026-03-01 12:00:20, and the next one at 2026-03-01 12:00:59",
			`class="mark m-same"`, `class="mark m-changed"`, `class="mark m-failed"`,
			`class="mark m-first"`, `class="next"`,
			">17 ms<", ">unchanged<", ">no answer<", "1 min 30 s", "4,242", "50.0 %"},
		"/freshness": {"between 1h and 90d after the last one and at first after about 7d",
			"87.5 %", "4,321", "2026-03-01 12:00:09", "2.0 s", ">900<", ">not modified (304)<", "<polyline",
			`aria-label="Revisits per second, from`, "Figures"},
		"/events": {"the older one", "node failed", "seconds 1.50", "2 of the 2 events",
			`<option value="node_joined">node joined</option>`},
		"/events?level=error": {"node failed", "1 of the 2 events",
			"<option selected>error</option>"},
		"/events?text=OLDER":   {"the older one", "1 of the 2 events"},
		"/events?text=nothing": {"No event matches"},
		"/events?node=cluster": {"the older one", "1 of the 2 events"},
		"/events?code=made_up": {"No event matches",
			`<option value="made_up" selected>made up</option>`},
		"/pages": {`href="/urls?url=some%20words"`, ">404<", "skipped",
			"/pages?after=some&#43;words", ">More<", "7 looked at", "Partition 3 is missing: some words"},
		"/pages?state=done&after=x": {`href="/pages?state=done"`, "First page",
			"<option selected>done</option>"},
		"/settings": {`<option selected>host</option>`, "some words\n*.html</textarea>",
			`name="max_pages" value="500"`, `name="recrawl_interval" value="7d"`,
			"<option selected>adaptive</option>", `name="recrawl_share" value="0.5"`, ">max-pages<",
			`<input type="hidden" name="version" value="v7">`},
		"/sites": {"1 rule<", "<bdi>host:a.test</bdi>", "X-A: some words",
			"/sites?rule=0#rule", "Add a rule", "some words&#34;}\n</textarea>",
			`<option value="" selected>`},
		"/sites?rule=0": {"Change the rule of line 1", "host:a.test</textarea>",
			"X-A: some words</textarea>", `name="number" value="0"`, "Remove the rule"},
		"/sites?contains=b.test": {"No rule has that"},
		"/sites?url=http://a.test/": {"line 1: <code>some words</code>", ">5s<", ">headers.some words<",
			"<th scope=\"row\">retries</th>"},
		"/start": {`action="/control/start"`, `name="max_duration"`, "A crawl is running"},
	} {
		w := get(h, target)
		body := w.Body.String()
		for _, want := range wants {
			if w.Code != 200 || !strings.Contains(body, want) {
				t.Errorf("%s: %d, without %q:\n%s", target, w.Code, want, mainOf(body))
			}
		}
		if w.Header().Get("Content-Security-Policy") != security ||
			w.Header().Get("Referrer-Policy") != "same-origin" {
			t.Errorf("%s: headers %v", target, w.Header())
		}
	}
}

// mainOf is the part between header and footer.
func mainOf(body string) string {
	_, body, _ = strings.Cut(body, "<main")
	body, _, _ = strings.Cut(body, "</main>")
	return body
}

var fieldValue = regexp.MustCompile(
	`<input id="[^"]*" name="[^"]*" value="[^"]*"|<textarea [^>]*>[^<]*</textarea>`)

// inline finds content that the policy would block: it must not occur at all.
var inline = regexp.MustCompile(
	`(?i)<script>|<script [^>]*>[^<]|<style|\sstyle=|\son[a-z]+=|javascript:`)

// Text from strangers is shown as text on every page, and links lead to http and https only.
func TestNothingOfStrangersRuns(t *testing.T) {
	t.Parallel()
	h := serve(&fakeNode{text: evil}, nil)
	for _, target := range []string{"/", "/nodes", "/ring", "/hosts", "/hosts/" + url.PathEscape(evil),
		"/urls?url=" + url.QueryEscape(evil), "/urls?url=javascript:alert(4)", "/events",
		"/events?text=" + url.QueryEscape(evil), "/pages", "/pages?contains=" + url.QueryEscape(evil),
		"/settings", "/start", "/freshness", "/sites", "/sites?rule=0&url=" + url.QueryEscape(evil),
		"/sites?contains=" + url.QueryEscape(evil)} {
		w := get(h, target)
		// as text it may be shown
		body := strings.ReplaceAll(w.Body.String(), "<bdi>javascript:alert(", "")
		body = strings.ReplaceAll(body, `value="javascript:alert(`, "")
		body = strings.ReplaceAll(body, " onerror=alert(2)&gt;", "")
		if found := inline.FindString(body); w.Code != 200 || found != "" {
			t.Errorf("%s: %d, %q in\n%s", target, w.Code, found, body)
		}
		body = fieldValue.ReplaceAllString(body, "") // a field shows the query again
		if strings.ContainsAny(body, "\x1b\u202e") {
			t.Errorf("%s: control characters", target)
		}
	}
}

func TestErrorsArePages(t *testing.T) {
	t.Parallel()
	for target, code := range map[string]int{
		"/hosts/nobody.test":                              404,
		"/urls?url=x&depth=many":                          400,
		"/urls?url=" + strings.Repeat("x", maxQuestion+1): 400,
		"/static/nothing.js":                              404,
	} {
		if w := get(serve(&fakeNode{text: "x"}, nil), target); w.Code != code {
			t.Errorf("%.40s: %d, want %d", target, w.Code, code)
		}
	}
	for _, target := range []string{"/", "/ring", "/events", "/hosts/a.test"} {
		w := get(serve(&fakeNode{err: errors.New("no <answer>")}, nil), target)
		if w.Code != 503 || !strings.Contains(w.Body.String(), "no &lt;answer&gt;") {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
	}
}

// An order is carried out once, and the client is redirected to a page with its result.
func TestOrders(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		path string
		form url.Values
		told string // the node
		says string // the page
	}{
		{"crawl", url.Values{"action": {"pause"}}, "pause",
			"The crawl is paused. These nodes did not answer; they will follow once they can be " +
				"reached: beta."},
		{"crawl", url.Values{"action": {"explode"}}, "", "unknown action"},
		{"nodes", url.Values{"order": {"drain"}, "node": {"id-a"}}, "drain id-a", "alpha is handing over its partitions"},
		{"nodes", url.Values{"order": {"forget"}, "node": {"id-a"}}, "", "forget id-a: refused: it answers"},
		{"nodes", url.Values{"order": {"bury"}, "node": {"id-a"}}, "", "unknown order"},
		{"seeds", url.Values{
			"urls":  {"# two\r\nhttp://a.test/\r\n\r\n http://b.test/ "},
			"again": {"on"},
		}, "", "Seeds: 2 accepted, 0 duplicate, 0 out of scope, 1 invalid.\nLine 9, x: no URL"},
		{"seeds", url.Values{"urls": {"\n#\n"}}, "", "no URL was given"},
		{"seeds", url.Values{"urls": {strings.Repeat("a\n", maxFormSeeds+1)}}, "", "more than 10000 URLs"},
		{"seeds", url.Values{"urls": {strings.Repeat("a", maxFormBytes)}}, "", "The form could not be read"},
	} {
		f := &fakeNode{text: "x"}
		h := serve(f, nil)
		tc.form.Set("back", "/hosts?sort=errors")
		w := post(h, "/control/"+tc.path, tc.form)
		place := w.Header().Get("Location")
		if w.Code != http.StatusSeeOther ||
			!strings.HasPrefix(place, "/hosts?m=") && !strings.HasPrefix(place, "/?m=") {
			t.Fatalf("%s %.60v: %d to %q", tc.path, tc.form, w.Code, place)
		}
		body := get(h, place).Body.String()
		if strings.Join(f.orders, ",") != tc.told || !strings.Contains(body, tc.says) {
			t.Errorf("%s %.60v: told %q, said\n%s", tc.path, tc.form, f.orders, body)
		}
		if strings.Contains(body, "m=") && strings.Contains(body, `name="back" value="/hosts?m=`) {
			t.Errorf("%s: the message would be shown again after the next order", tc.path)
		}
		if tc.path == "seeds" && tc.form.Get("again") != "" && (len(f.seeds) != 2 ||
			f.seeds[1].URL != "http://b.test/" || f.seeds[1].Line != 4 || !f.seeds[1].Again) {
			t.Errorf("seeds %+v", f.seeds)
		}
	}
	if body := get(serve(&fakeNode{text: "x"}, nil), "/?m=made-up").Body.String(); strings.Contains(
		body, `class="message`) {
		t.Error("a link from elsewhere puts a message into the page")
	}
}

// The redirect never leads to another site.
func TestWayBackIsOwn(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"/ring": "/ring", "/hosts?sort=errors": "/hosts?sort=errors", "/hosts/a%2Fb": "/hosts/a%2Fb",
		"": "/", "ring": "/", "//evil.test/": "/", "http://evil.test/": "/",
		`/\evil.test`: "/", "/\t/evil.test": "/", "javascript:alert(1)": "/", "///evil.test": "/",
		"/%2fevil.test": "/", "http:evil.test": "/",
	} {
		if got := ownPath(raw).RequestURI(); got != want {
			t.Errorf("%q leads to %q, want %q", raw, got, want)
		}
	}
}

func TestTheme(t *testing.T) {
	t.Parallel()
	h := serve(&fakeNode{text: "x"}, nil)
	w := post(h, "/control/theme", url.Values{"theme": {"dark"}, "back": {"/ring"}})
	cookie := w.Header().Get("Set-Cookie")
	if w.Code != 303 || w.Header().Get("Location") != "/ring" ||
		!strings.HasPrefix(cookie, "crawlnode_theme=dark;") || !strings.Contains(cookie, "HttpOnly") {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	for given, want := range map[string]string{
		"":                     `<html lang="en">`,
		"crawlnode_theme=dark": `<html lang="en" data-theme="dark">`,
		"crawlnode_theme=evil": `<html lang="en">`,
	} {
		if body := get(h, "/nodes", given).Body.String(); !strings.Contains(body, want) {
			t.Errorf("%s: no %s", given, want)
		}
	}
	if w := post(h, "/control/theme", url.Values{"theme": {"system"}}); !strings.Contains(
		w.Header().Get("Set-Cookie"), "Max-Age=0") {
		t.Errorf("%v", w.Header())
	}
}

// A browser caches a file until another one has its name.
func TestAssets(t *testing.T) {
	t.Parallel()
	h := serve(&fakeNode{}, nil)
	for _, name := range []string{"dashboard.css", "dashboard.js", "uplot.js", "uplot.css", "icon.svg",
		"uplot.LICENSE.txt"} {
		w := get(h, "/static/"+name)
		if w.Code != 200 || w.Body.Len() == 0 || w.Header().Get("Content-Type") == "" ||
			w.Header().Get("ETag") == "" {
			t.Errorf("%s: %d %v", name, w.Code, w.Header())
		}
		r := httptest.NewRequest("GET", "/static/"+name, nil)
		r.Header.Set("If-None-Match", w.Header().Get("ETag"))
		again := httptest.NewRecorder()
		if h.ServeHTTP(again, r); again.Code != http.StatusNotModified {
			t.Errorf("%s: %d when asked again", name, again.Code)
		}
	}
}

func (f *fakeNode) Search(_ context.Context, q crawl.SearchQuery) (*crawl.SearchReport, error) {
	if q.Query == "off" {
		return nil, fmt.Errorf("%w: set index=on", crawl.ErrRefused)
	}
	lang := "en"
	return &crawl.SearchReport{
		Query:       q.Query,
		Interpreted: q.Query,
		Total:       41,
		TotalExact:  true,
		Coverage:    1,
		Results: []crawl.SearchResult{{Title: "<b>T\x1b", Snippet: "a hit", Highlight: []crawl.SearchPart{
			{Text: "a "}, {Text: "<hit>", Hit: true}},
			Link: "http://a.test/x?y=1&z=2", Host: "a.test", Lang: &lang, File: "f.warc.gz",
			AlsoAt: []string{}}},
	}, nil
}
