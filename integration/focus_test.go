package integration

import (
	"flag"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
)

var focusRuns = flag.Int("focus", 0,
	"TestFocusedCrawl: crawl this many times with each setting, "+
		"and append the figures to docs/results/focus.md")

// The web of TestFocusedCrawl: the documentation of sqlite, postgresql, gnuplot and the Debian
// policy, four hosts, and a hub that lists some pages of each. The topic is the SQL language. Which
// pages are of it is read from the names of their files, which follow the chapters of the manuals;
// the model never sees that rule.

// topicPrefixes are how the names of the topic's pages begin, by site.
var topicPrefixes = map[string][]string{
	"postgres": {"/sql-", "/sql.", "/ddl", "/dml", "/queries", "/datatype", "/functions", "/typeconv",
		"/indexes", "/textsearch"},
	"sqlite": {"/lang", "/syntax/", "/datatype3", "/expridx", "/partialindex", "/windowfunctions",
		"/foreignkeys", "/autoinc", "/withoutrowid", "/gencol",
		"/stricttables", "/nulls", "/json1", "/rowvalue", "/quirks", "/keyword_index"},
}

// onTopic judges a page by its host and path.
func onTopic(host, path string) bool {
	name, _, _ := strings.Cut(host, ".")
	path, _, _ = strings.Cut(path, "?")
	return strings.HasSuffix(path, ".html") && slices.ContainsFunc(topicPrefixes[name],
		func(p string) bool { return strings.HasPrefix(path, p) })
}

// addressHash draws the pages that the model learns from, and those that the hub lists.
func addressHash(host, path string) uint32 {
	h := fnv.New32a()
	fmt.Fprint(h, host, path)
	return h.Sum32() >> 8
}

// isExample says whether the model learns from a page: one in eight. Those are not counted when a
// crawl is judged.
func isExample(host, path string) bool { return addressHash(host, path)%8 == 0 }

// eachPage calls f with the path and the file of every HTML file of a site, in the order of their
// names.
func eachPage(t *testing.T, s *site, f func(path, file string) error) {
	t.Helper()
	needsDocumentation(t, s.Docroot)
	root, err := filepath.EvalSymlinks(s.Docroot)
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Type()&fs.ModeSymlink != 0 || !strings.HasSuffix(file, ".html") {
			return err
		}
		return f(filepath.ToSlash(file[len(root):]), file)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// topicModel trains a model with the verb, and returns its file.
func topicModel(t *testing.T, all []site) string {
	t.Helper()
	binary(t) // building it may take longer than a verb may
	dir := t.TempDir()
	for i := range all {
		site := &all[i]
		eachPage(t, site, func(path, file string) error {
			if !isExample(site.host(), path) {
				return nil
			}
			set := "unlike"
			if onTopic(site.host(), path) {
				set = "like"
			}
			to := filepath.Join(dir, set, site.Name, path)
			if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
				return err
			}
			return os.Symlink(file, to)
		})
	}
	model := filepath.Join(dir, "sql.focus")
	code, out, errs := run(t, "", "focus", "train", "--like", filepath.Join(dir, "like"), "--unlike",
		filepath.Join(dir, "unlike"), "-o", model)
	if code != 0 {
		t.Fatalf("focus train: code %d\n%s%s", code, out, errs)
	}
	t.Log(out)
	return model
}

// harvest is what a crawl of 500 pages brought in.
type harvest struct {
	pages, topic int       // not counting examples
	left         int64     // links that were not followed for the topic
	curve        []float64 // the share of the topic in the first 100, 200 ... pages
	took         time.Duration
}

func (h harvest) rate() float64 { return float64(h.topic) / float64(max(h.pages, 1)) }

const harvestPages = 500

// harvested crawls from the hub and judges, by nginx's log, what was asked for. Settings are
// changed before there is anything to crawl.
func harvested(t *testing.T, nodes int, settings ...string) harvest {
	t.Helper()
	s := focusWeb(t)
	c := newCluster(t, "--dns", s.dns, "--allow-net", "127.0.0.0/8", "--delay", "10ms", "--scope",
		"domain", "--max-pages", fmt.Sprint(harvestPages))
	c.addReady(nodes)
	c.converged(30 * time.Second)
	if len(settings) > 0 {
		shown := c.nodes[len(c.nodes)-1].set(settings...).Settings.Text("focus")
		if now := c.sameSettings().Settings.Text("focus"); now == "" || now != shown {
			t.Fatalf("the topic is %q, and was set to %q", now, shown)
		}
	}
	begun := time.Now()
	c.nodes[len(c.nodes)-1].seed("http://hub.site.test/")
	c.finished(2 * time.Minute)
	h := harvest{took: time.Since(begun)}
	var now crawl.Status
	if err := c.nodes[0].decode("/status", &now); err != nil {
		t.Error(err)
	}
	h.left = now.Fetch.SkippedByReason.Focus
	c.stop()
	arrivals := s.arrivals(t)
	slices.SortStableFunc(arrivals, func(a, b arrival) int { return int(a.start - b.start) })
	for _, a := range arrivals {
		if a.uri == "/robots.txt" || strings.HasPrefix(a.uri, "/sitemap") || isExample(a.host, a.uri) {
			continue
		}
		if h.pages++; onTopic(a.host, a.uri) && a.status == 200 {
			h.topic++
		}
		if h.pages%100 == 0 {
			h.curve = append(h.curve, h.rate())
		}
	}
	return h
}

// titleOf finds the title of a page.
var titleOf = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`)

// focusWeb serves the real sites, and a hub that lists one page in thirty of each by its title.
func focusWeb(t *testing.T) *sites {
	t.Helper()
	hub := t.TempDir()
	s := startSites(t, site{Name: "hub", Docroot: hub, Start: "/"})
	var page strings.Builder
	page.WriteString("<!doctype html><title>A list</title><h1>Pages</h1><ul>")
	for i := range s.all {
		site := &s.all[i]
		eachPage(t, site, func(path, file string) error {
			b, err := os.ReadFile(file)
			if err == nil && addressHash(site.host(), path)%30 == 1 {
				var title string
				if m := titleOf.FindSubmatch(b); m != nil {
					title = string(m[1])
				}
				fmt.Fprintf(&page, "<li><a href=\"http://%s%s\">%s</a>\n", site.host(), path, title)
			}
			return err
		})
	}
	if err := os.WriteFile(filepath.Join(hub, "index.html"), []byte(page.String()), 0o644); err !=
		nil {
		t.Fatal(err)
	}
	return s
}

// A focused crawl brings in more of its topic than one in the order of discovery. One of two nodes
// is given the model.
func TestFocusedCrawl(t *testing.T) {
	needsProcesses(t)
	if *focusRuns == 0 {
		t.Parallel()
	}
	model := topicModel(t, readManifest(t))
	if *focusRuns > 0 {
		measureFocus(t, model)
		return
	}
	plain := harvested(t, 1)
	focused := harvested(t, 2, "focus="+model, "focus-min=0.3")
	t.Logf(
		"in the order of discovery %d of %d pages are of the topic (%.2f), with a focus %d of %d (%.2f)",
		plain.topic, plain.pages, plain.rate(), focused.topic, focused.pages, focused.rate())
	if plain.left != 0 || focused.left == 0 {
		t.Errorf("%d links are left out without a topic, %d with one", plain.left, focused.left)
	}
	if focused.rate() < 1.5*plain.rate() {
		t.Errorf("the focus brings in %.2f of its topic, the order of discovery %.2f", focused.rate(),
			plain.rate())
	}
}

// measureFocus crawls with several settings.
func measureFocus(t *testing.T, model string) {
	t.Helper()
	for _, c := range []struct {
		name  string
		nodes int
		model string
		least string
	}{
		{"breadth-first", 1, "", ""}, {"focus, no minimum", 1, model, "0"},
		{"focus, minimum 0.1", 1, model, "0.1"}, {"focus, minimum 0.3", 1, model, "0.3"},
		{"focus, minimum 0.5", 1, model, "0.5"}, {"breadth-first", 3, "", ""}, {"focus, minimum 0.3", 3, model, "0.3"},
	} {
		var rates, curve []string
		for range *focusRuns {
			var flags []string
			if c.model != "" {
				flags = []string{"focus=" + c.model, "focus-min=" + c.least}
			}
			h := harvested(t, c.nodes, flags...)
			rates = append(rates, fmt.Sprintf("%.2f", h.rate()))
			curve = curve[:0]
			for _, x := range h.curve {
				curve = append(curve, fmt.Sprintf("%.2f", x))
			}
		}
		appendResult(t, "focus.md", focusHead, fmt.Sprintf("%d | %s | %s | %s |", c.nodes, c.name,
			strings.Join(rates, " "), strings.Join(curve, " ")))
	}
}

const focusHead = `# Harvest rate of a focused crawl

The harvest rate is the share of the fetched pages that are of the topic. The web is real: the documentation of SQLite (757 pages), PostgreSQL (1,169), gnuplot (652) and the
Debian policy (25), four hosts, and a hub that lists one page in thirty of each by its title. The topic is the SQL language: 421 of the 2,600 pages, so that a crawl that knew them all would reach about 0.83. Which pages are of it is
read from the names of their files, which follow the manuals' chapters; the model knows nothing of that rule. It is trained by ` + "`crawlnode focus train`" +
	` on one page in eight; those pages are not
counted. Real binaries crawl from the hub until they have 500 pages, and nginx's log says what was asked for: answers of 404 count as pages that are not of the topic. The last column is the harvest rate of the
first 100, 200, 300 and 400 pages of the last run. *Breadth-first* is the order without a model.

    go test ./integration -run '^TestFocusedCrawl$' -focus 3 -v

| date | commit | nodes | crawl | harvest rate at 500 pages, each run | as it went |
|---|---|---|---|---|---|
`
