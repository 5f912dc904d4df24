package integration

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/output/table"
	"crawlnode/web/preferences"
)

// refusedTo are the pages of a site, with the purpose to which the owner of each says no; "": none.
var refusedTo = map[string]string{
	"/": "", "/free": "", "/closed/a": "ai-train", "/reserved": "ai-train", "/noai": "ai-train",
	"/hidden": "search",
}

// preferencesSite says what its owner wants at each level, and counts the requests for each path.
type preferencesSite struct {
	*httptest.Server
	mu    sync.Mutex
	asked map[string]int
}

func newPreferencesSite(t *testing.T) *preferencesSite {
	t.Helper()
	s := &preferencesSite{asked: map[string]int{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.asked[r.URL.Path]++
		s.mu.Unlock()
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		head := ""
		switch r.URL.Path {
		case "/robots.txt":
			w.Header().Set("Content-Type", "text/plain")
			fmt.Fprint(w,
				"User-agent: *\nAllow: /\nContent-Signal: search=yes\nContent-Usage: /closed/ train-ai=n\n")
			return
		case preferences.TDMPath:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w,
				`[{"location":"/reserved","tdm-reservation":1},{"location":"/","tdm-reservation":0}]`)
			return
		case "/noai":
			head = `<meta name="robots" content="noai">`
		case "/hidden":
			w.Header().Set("Content-Usage", "search=n")
		}
		if _, known := refusedTo[r.URL.Path]; !known {
			http.NotFound(w, r)
			return
		}
		fmt.Fprintf(w,
			"<head><title>A page</title>%s</head><p>this is the page %s of a site with preferences", head,
			r.URL.Path)
		for _, path := range slices.Sorted(maps.Keys(refusedTo)) {
			fmt.Fprintf(w, ` <a href="%s">%s</a>`, path, path)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// agreeing are the paths to which nobody says no for a purpose.
func agreeing(purposes ...string) (paths []string) {
	for path, no := range refusedTo {
		if !slices.Contains(purposes, no) {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// pathsOf are the paths of the URLs in JSON lines, sorted.
func pathsOf(t *testing.T, site, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	paths := []string{}
	for line := range strings.Lines(string(text)) {
		var page struct{ URL string }
		if err := json.Unmarshal([]byte(line), &page); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		paths = append(paths, strings.TrimPrefix(page.URL, site))
	}
	slices.Sort(paths)
	return paths
}

// TestPreferencesAreObeyed: what an owner says in robots.txt, tdmrep.json, a header and a page is
// told of each page; refused pages are fetched and stored, and then left out of index, sink,
// exports and replay, and counted.
func TestPreferencesAreObeyed(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	web, base := newPreferencesSite(t), t.TempDir()
	sink := filepath.Join(base, "sink.jsonl")
	c := newCluster(t, "--allow-net", "127.0.0.0/8", "--delay", "5ms", "--index", "on", "--sink",
		"file:"+sink,
		"--purpose", "ai-train,search", "--preferences", "obey")
	c.addReady(1)
	n := c.nodes[0]
	n.seed(web.URL + "/")
	c.finished(time.Minute)
	c.searchable(time.Minute, int64(len(agreeing("search"))))

	var page crawl.URLPage
	if err := n.decode("/api/v1/urls?state=done", &page); err != nil {
		t.Fatal(err)
	}
	said := map[string]string{}
	for _, l := range page.URLs {
		path, no := strings.TrimPrefix(l.URL, web.URL), ""
		if _, known := refusedTo[path]; !known { // /sitemap.xml, which is not there
			continue
		}
		if l.Preferences == nil || len(l.Preferences.From) == 0 {
			t.Errorf("nothing is said of %s: %+v", path, l.Preferences)
			continue
		}
		for name, answer := range map[string]*bool{
			"search":   l.Preferences.Search,
			"ai-train": l.Preferences.AITrain,
		} {
			if answer != nil && !*answer {
				no = name
			}
		}
		said[path] = no
	}
	if !maps.Equal(said, refusedTo) {
		t.Errorf("the API says no: %v, want %v", said, refusedTo)
	}
	var one struct{ Preferences preferences.PagePreferences }
	if err := n.decode("/api/v1/urls?url="+web.URL+"/reserved", &one); err != nil ||
		!slices.Equal(one.Preferences.From,
			[]string{"robots.txt: Content-Signal: search=yes", "tdmrep.json: tdm-reservation: 1"}) {
		t.Errorf("of /reserved is said %+v, %v", one.Preferences, err)
	}
	var s crawl.Status
	if err := n.decode("/status", &s); err != nil {
		t.Fatal(err)
	}
	if got := s.Preferences.LeftOutTotal; got != (crawl.PurposeCounts{Search: 1, AITrain: 3}) {
		t.Errorf("left out: %+v", got)
	}
	web.mu.Lock()
	if web.asked[preferences.TDMPath] != 1 || web.asked["/reserved"] != 1 {
		t.Errorf("asked for: %v", web.asked)
	}
	web.mu.Unlock()

	free, all := agreeing("search", "ai-train"), agreeing()
	export := func(name string, args ...string) string {
		t.Helper()
		path := filepath.Join(base, name)
		if code, out, errs := run(t, "", append([]string{"export", args[0], "-o",
			path}, args[1:]...)...); code != 0 {
			t.Fatalf("%q: %d, %q, %q", args, code, out, errs)
		}
		return path
	}
	for name, where := range map[string][]string{
		"addr": {"--addr", n.http},
		"dir":  {"--data-dir", n.dir},
	} {
		for i, c := range []struct {
			args []string
			want []string
		}{
			{nil, free},
			{[]string{"--preferences", "mark", "--with-noindex"}, all},
			{[]string{"--purpose", "search"}, agreeing("search")},
			{[]string{"--purpose", "archive"}, all},
		} {
			args := slices.Concat([]string{"jsonl"}, where, c.args)
			if got := pathsOf(t, web.URL,
				export(fmt.Sprintf("%s%d.jsonl", name, i), args...)); !slices.Equal(
				got, c.want) {
				t.Errorf("%q: %q, want %q", args, got, c.want)
			}
		}
		rows := readTable[table.Capture](t, export(name+".parquet",
			slices.Concat([]string{"parquet"}, where, []string{"--preferences", "mark"})...))
		pages := 0
		for _, r := range rows {
			if _, known := refusedTo[r.Path]; !known {
				continue
			}
			pages++
			no := ""
			switch {
			case r.AITrain != nil && !*r.AITrain:
				no = "ai-train"
			case r.Search != nil && !*r.Search:
				no = "search"
			}
			if no != refusedTo[r.Path] || r.Archive != nil {
				t.Errorf("%s: %s says no to %q", name, r.Path, no)
			}
		}
		if pages != len(all) {
			t.Errorf("%s: %d captures of pages, want %d", name, pages, len(all))
		}
		if rows := readTable[table.Page](t, export(name+"-pages.parquet",
			slices.Concat([]string{"parquet", "--table", "pages"}, where)...)); len(rows) != len(free) {
			t.Errorf("%s: %d pages in the table, want %d", name, len(rows), len(free))
		}
	}
	clean := filepath.Join(base, "clean")
	if code, _, errs := run(t, "", "export", "warc", "--data-dir", n.dir, "-o", clean); code != 0 ||
		!strings.Contains(errs, "4 captures left out: their owners said no to search,ai-train") {
		t.Errorf("%d, %q", code, errs)
	}
	index, err := filepath.Glob(filepath.Join(clean, "*.cdxj"))
	if err != nil || len(index) == 0 {
		t.Fatalf("%q, %v", index, err)
	}
	text, err := os.ReadFile(index[0])
	for path, no := range refusedTo {
		if kept := strings.Contains(string(text), `"`+web.URL+path+`"`); err != nil ||
			kept != (no == "") {
			t.Errorf("%s is in the files without what was refused: %v, %v", path, kept, err)
		}
	}
	c.stop() // sends the rest
	if got := pathsOf(t, web.URL, sink); !slices.Equal(got, free) {
		t.Errorf("the sink has %q, want %q", got, free)
	}
}
