package dashboard

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"html/template"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"crawlnode/crawl"
)

// Backend is the node, as the pages use it; api.Backend documents the methods.
type Backend interface {
	Status(ctx context.Context, nodeOnly bool) (*crawl.Status, error)
	Ring(ctx context.Context) (*crawl.RingReport, error)
	Hosts(ctx context.Context, sort string, limit int) (*crawl.HostsReport, error)
	DescribeHost(ctx context.Context, host string) (*crawl.HostReport, error)
	ExplainURL(ctx context.Context, url string, depth int) (*crawl.URLReport, error)
	ListURLs(ctx context.Context, q crawl.URLQuery) (*crawl.URLPage, error)
	Search(ctx context.Context, q crawl.SearchQuery) (*crawl.SearchReport, error)
	Captures(ctx context.Context, url string) (*crawl.CapturesReport, error)
	OpenCapture(ctx context.Context, file string, offset int64) (io.ReadCloser, error)
	Events(ctx context.Context, after uint64, limit int) ([]crawl.Event, error)
	CrawlConfig(ctx context.Context) (crawl.CrawlReport, error)
	ChangeCrawl(ctx context.Context, change crawl.CrawlChange) (crawl.CrawlReport, error)
	Sites(ctx context.Context) (text, version string, err error)
	TestSites(ctx context.Context, url string, text *string) (crawl.SiteReport, error)
	AddSeeds(ctx context.Context, seeds []crawl.Seed) (crawl.SeedReport, error)
	ControlCrawl(ctx context.Context, action string) (crawl.ActionReport, error)
	DrainMember(ctx context.Context, id crawl.NodeID) error
	ForgetMember(ctx context.Context, id crawl.NodeID) error
}

//go:embed templates static
var files embed.FS

// Time limits for the answers of other members, and for orders.
const (
	pageTimeout  = 3 * time.Second
	orderTimeout = 10 * time.Second
)

// security is the content security policy of the pages: everything from this node, nothing inline.
const security = "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; " +
	"frame-ancestors 'none'"

// Dashboard answers the paths of the package comment.
type Dashboard struct {
	backend  Backend
	history  *History
	log      *slog.Logger
	pages    map[string]*template.Template // by file name without .html
	messages messages
	reading  chan struct{} // one for each archived page in memory
}

// New returns a dashboard. history may be nil: then there are no curves.
func New(b Backend, history *History, log *slog.Logger) *Dashboard {
	if history == nil {
		history = NewHistory(b)
	}
	return &Dashboard{
		backend: b,
		history: history,
		log:     log,
		pages:   parsePages(),
		reading: make(chan struct{}, readsAtOnce),
	}
}

// parsePages makes one template of each page, within the layout. The files are compiled in, so a
// mistake in them is a bug.
func parsePages() map[string]*template.Template {
	base := template.Must(template.New("").Funcs(funcs).ParseFS(files, "templates/layout.html",
		"templates/parts.html", "templates/forms.html"))
	pages := map[string]*template.Template{}
	for _, name := range []string{"overview", "start", "found", "nodes", "ring", "hosts", "host",
		"url", "events", "settings", "sites", "freshness", "search", "error"} {
		page := template.Must(base.Clone())
		pages[name] = template.Must(page.ParseFS(files, "templates/"+name+".html"))
	}
	return pages
}

// Register passes the dashboard's paths to handle, which must put a guard before each. none answers
// for a file that is not there: no page.
func (d *Dashboard) Register(handle func(pattern string, h http.Handler), none http.HandlerFunc) {
	page := func(pattern string, v view) { handle(pattern, d.withStatus(v)) }
	control := func(pattern string, h http.HandlerFunc) { handle(pattern, h) }
	page("GET /{$}", d.overview)
	page("GET /nodes", d.nodes)
	page("GET /ring", d.ring)
	page("GET /hosts", d.hosts)
	page("GET /hosts/{host}", d.host)
	page("GET /urls", d.url)
	page("GET /events", d.events)
	page("GET /pages", d.found)
	page("GET /freshness", d.freshness)
	page("GET /search", d.search)
	page("GET /settings", d.settings)
	page("GET /sites", d.sites)
	page("GET /start", d.start)
	control("GET /archive", d.frame)
	control("POST /control/start", d.controlStart)
	control("POST /control/settings", d.controlSettings)
	control("POST /control/sites", d.controlSites)
	control("POST /control/sites/test", d.testSites)
	control("POST /control/crawl", d.controlCrawl)
	control("POST /control/seeds", d.controlSeeds)
	control("POST /control/nodes", d.controlNodes)
	control("POST /control/theme", d.controlTheme)
	static, err := fs.Sub(files, "static")
	if err != nil {
		panic("BUG: " + err.Error())
	}
	handle("GET /static/{file}", assets(static, none))
}

// page is the input of the layout.
type page struct {
	Title   string
	Nav     string // the page's entry in the navigation
	Back    string // path and query, to come back to after an order
	Theme   string // light, dark or "": the system's
	Refresh int    // milliseconds after which a script reloads the page
	Message *message
	Status  *crawl.Status
	Ranks   ranks
	Data    any
}

// show renders a page. Status may be nil: the node does not answer.
func (d *Dashboard) show(w http.ResponseWriter, r *http.Request, code int, name string, p page) {
	p.Theme = themeOf(r)
	if p.Message == nil {
		p.Message = d.messages.get(r.URL.Query().Get("m"))
	}
	if p.Back == "" {
		p.Back = backOf(r)
	}
	p.Ranks = ranksOf(p.Status)
	var b bytes.Buffer
	if err := d.pages[name].ExecuteTemplate(&b, "layout", p); err != nil {
		d.log.Error("cannot render a dashboard page", "page", name, "error", err)
		http.Error(w, "the page could not be rendered; see the log", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", security)
	// Forms of a page without a referrer would be sent with "Origin: null", which cannot be told
	// from another site's.
	h.Set("Referrer-Policy", "same-origin")
	w.WriteHeader(code)
	_, _ = w.Write(b.Bytes()) // the client has gone
}

// view renders a page that shows the cluster's status; ctx ends after pageTimeout.
type view func(ctx context.Context, w http.ResponseWriter, r *http.Request, st *crawl.Status)

// withStatus reads the status before a page is rendered; without one it shows the failure.
func (d *Dashboard) withStatus(v view) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), pageTimeout)
		defer cancel()
		st, err := d.backend.Status(ctx, false)
		if err != nil {
			d.fail(w, r, nil, "", err)
			return
		}
		v(ctx, w, r, st)
	})
}

// fail shows a failure in place of a page.
func (d *Dashboard) fail(
	w http.ResponseWriter,
	r *http.Request,
	st *crawl.Status,
	nav string,
	err error,
) {
	code := http.StatusServiceUnavailable
	if errors.Is(err, crawl.ErrUnknownHost) {
		code = http.StatusNotFound
	} else {
		w.Header().Set("Retry-After", "2")
	}
	d.show(w, r, code, "error",
		page{Title: http.StatusText(code), Nav: nav, Status: st, Data: err.Error()})
}

// backOf is the client's current path, without a shown message.
func backOf(r *http.Request) string {
	u := *r.URL
	q := u.Query()
	q.Del("m")
	u.RawQuery = q.Encode()
	return u.RequestURI()
}

const themeCookie = "crawlnode_theme"

// themeOf is the theme that the client has chosen, "" when none.
func themeOf(r *http.Request) string {
	c, err := r.Cookie(themeCookie)
	if err != nil || c.Value != "light" && c.Value != "dark" {
		return ""
	}
	return c.Value
}

// ranks numbers the nodes by name. A node's letter and colour follow from its number: the same on
// every page and every node of a cluster.
type ranks map[crawl.NodeID]int

func ranksOf(st *crawl.Status) ranks {
	r := ranks{}
	if st == nil {
		return r
	}
	for i := range st.Nodes {
		r[st.Nodes[i].ID] = i
	}
	return r
}

// Letter is the letter of a node, or a question mark.
func (r ranks) Letter(id crawl.NodeID) string {
	i, ok := r[id]
	if !ok {
		return "?"
	}
	letter := string(rune('A' + i%26))
	if i >= 26 {
		letter += strings.Repeat("'", i/26)
	}
	return letter
}

// hues is the number of colours that nodes are told apart by; see dashboard.css.
const hues = 8

// Hue is the number of a node's colour, or -1.
func (r ranks) Hue(id crawl.NodeID) int {
	i, ok := r[id]
	if !ok {
		return -1
	}
	return i % hues
}
