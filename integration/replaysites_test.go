package integration

import (
	"flag"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"crawlnode/output/archive"
)

var replayPages = flag.Int("replaypages", 10,
	"how many pages of each site TestReplayRealSites shows; 0: all")

// shown is what a person sees of a page: its text, and the sizes of its pictures.
type shown struct {
	Title, Text string
	Pictures    [][2]int
	// Missing says of each picture without a size what the browser knows of it; complaints are what
	// the browser has reported meanwhile, such as answers that are errors.
	Missing    []string
	complaints []string
}

// TestReplayRealSites shows the pages of three real sites in a browser, from their server and from
// the archive: each has the same text and the same pictures. All names lead to that server, which
// is not asked for anything while archived pages are shown. As a table the captures are those of
// the index, in DuckDB's eyes too, and each row leads to its record.
func TestReplayRealSites(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	duck := needsDuckDB(t)
	s := startSites(t)
	b := openTab(t, chromedp.Flag("host-resolver-rules", "MAP * "+s.ip+", EXCLUDE 127.0.0.1"),
		chromedp.Flag("disable-component-update", true))
	b.scripts(false) // an archived page has none
	c := newCluster(t, "--dns", s.dns, "--allow-net", "127.0.0.0/8", "--delay", "10ms", "--assets",
		"same-host")
	c.addReady(1)
	pages := map[string][]string{}
	for i := range s.all {
		if site := &s.all[i]; site.Name != "postgres" { // it is the largest
			pages[site.Name] = s.list(t, site)
			c.nodes[0].seed(site.start())
		}
	}
	c.finished(5 * time.Minute)
	sameInDuckDB(t, c, duck)
	c.stop()
	replay := replayed(t, c.nodes[0].dir)
	b.look("http://outside.test/") // the canary: names of no site lead to the server too
	if !slices.ContainsFunc(s.arrivals(t), func(a arrival) bool { return a.host == "outside.test" }) {
		t.Fatal("the server does not hear of other names")
	}
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		urls, pictures, different := pages[name], 0, 0
		if *replayPages > 0 {
			urls = everyNth(urls, *replayPages)
		}
		originals := make([]shown, len(urls))
		for i, u := range urls {
			originals[i] = b.look(u)
		}
		before := len(s.arrivals(t))
		for i, u := range urls {
			got, want := b.look(replay+"/web/"+u), originals[i]
			for _, size := range want.Pictures {
				if size[0] > 0 { // else the original lacks it too
					pictures++
				}
			}
			if got.Title == want.Title && got.Text == want.Text &&
				slices.Equal(got.Pictures, want.Pictures) {
				continue
			}
			if different++; different <= 5 {
				t.Errorf("%s: replayed %s, the original is %s", u, got.differs(want), want.differs(got))
			}
		}
		// The browser asks for the icon of an original some time after it was shown, and for updates of
		// its own. The icon of an archived page it asks the replay for, and no archived page here names
		// the updates' hosts.
		leaked := slices.DeleteFunc(s.arrivals(t)[before:], func(a arrival) bool {
			return a.uri == "/favicon.ico" || strings.HasSuffix(a.host, ".googleapis.com") ||
				strings.HasSuffix(a.host, ".google.com")
		})
		if len(leaked) > 0 {
			t.Errorf("%s: while archived pages were shown, the server was asked for %+v", name, leaked)
		}
		t.Logf("%s: %d pages with %d pictures, %d shown otherwise, load %s", name, len(urls), pictures,
			different, loadAverage())
	}
}

// everyNth takes about n of a list, evenly.
func everyNth(list []string, n int) (some []string) {
	for i := 0; i < len(list); i += max(1, len(list)/n) {
		some = append(some, list[i])
	}
	return some
}

// look opens a page, waits for its pictures and says what it shows.
func (b *tab) look(url string) (s shown) {
	b.t.Helper()
	b.reported() // of earlier pages
	b.open(url)
	b.await(`[...document.images].every(i => i.complete || i.loading === "lazy")`)
	b.js(`({title: document.title, text: document.body ? document.body.innerText : "",
		pictures: [...document.images].map(i => [i.naturalWidth, i.naturalHeight]),
		missing: [...document.images].filter(i => !i.naturalWidth).map(i => [i.currentSrc || i.outerHTML,
			i.complete ? "complete" : "not complete", i.loading,
			...performance.getEntriesByName(i.currentSrc)
				.map(e => "status " + e.responseStatus + " after " + e.duration + " ms")].join(" "))})`, &s)
	s.complaints = b.reported()
	return s
}

// differs is where a page is not like another one.
func (s *shown) differs(o shown) string {
	at := 0
	for at < min(len(s.Text), len(o.Text)) && s.Text[at] == o.Text[at] {
		at++
	}
	text := fmt.Sprintf("%q, %d bytes of text, at %d %q, pictures %v", s.Title, len(s.Text), at,
		s.Text[at:min(at+60, len(s.Text))], s.Pictures)
	if len(s.Missing) > 0 {
		text += fmt.Sprintf(", without a size %q, the browser reports %q", s.Missing, s.complaints)
	}
	return text
}

// sameInDuckDB exports the captures of a cluster as a table and compares it with the index and with
// the records.
func sameInDuckDB(t *testing.T, c *cluster, duck duckDB) {
	t.Helper()
	dir := t.TempDir()
	if code, _, errs := run(t, "", "export", "parquet", "--addr", c.nodes[0].http, "-o",
		filepath.Join(dir, "captures.parquet")); code != 0 {
		t.Fatalf("export ends with %d: %s", code, errs)
	}
	var want, got []string
	if err := archive.ReadEntries(strings.NewReader(exported(t, c.nodes[0])),
		func(e archive.Entry) error {
			want = append(want, fmt.Sprint(e.URL, " ", e.At.Unix(), " ", e.Status, " ", e.Ref.File, " ",
				e.Ref.Offset, " ", e.Ref.Length))
			return nil
		}); err != nil {
		t.Fatal(err)
	}
	rows := duck.ask(t, dir,
		`SELECT url, epoch(fetch_time)::BIGINT, fetch_status, warc_filename, warc_record_offset, warc_record_length FROM 'captures.parquet'`)[0]
	for _, row := range rows {
		got = append(got, strings.Join(row, " "))
		checkPlace(t, c, cdxLine{URL: row[0], Filename: row[3], Offset: row[4], Length: row[5]})
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("DuckDB has %d captures, the index has %d others", len(got), len(want))
	}
	t.Logf("%d captures are the same in DuckDB and in the index, and each row leads to its record",
		len(got))
}
