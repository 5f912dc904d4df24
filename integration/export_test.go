package integration

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/simweb"
)

// cdxLine is the line of one capture in an index.
type cdxLine struct {
	URL, Filename, Offset, Length string
}

// The index of three nodes, asked of any of them while files are turned and after
// the crawl, is sorted and has each capture once; each line leads to its record,
// in the file and over the API.
func TestExportedIndex(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	web, srv := serveSimweb(t, simweb.Config{Seed: 11, Hosts: 30, PagesPerHost: 60, Skew: -1}.Quirky())
	c := simCluster(t, srv, 0, "--warc-size", "1MiB")
	c.addReady(3)
	c.converged(time.Minute)
	c.nodes[0].seed(web.Seeds()...)
	atPage(t, web, 200)
	checkSorted(t, exported(t, c.nodes[1]))
	c.finished(4 * time.Minute)

	lines := exported(t, c.nodes[2])
	places := checkSorted(t, lines)
	var got, want []string
	for _, l := range places {
		got = append(got, l.URL)
	}
	for _, n := range c.nodes {
		for _, p := range readWARC(t, n.dir) {
			want = append(want, p.url)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the index has %d captures, the archives have %d", len(got), len(want))
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range min(1000, len(places)) {
		checkPlace(t, c, places[r.IntN(len(places))])
	}
	overAPI(t, c.nodes[0], places[r.IntN(len(places))])
	askCaptures(t, c, places)
	c.stop()
	for _, n := range c.nodes {
		if open, _ := filepath.Glob(filepath.Join(n.dir, "warc", "*.open")); len(open) > 0 {
			t.Errorf("still open after the end: %v", open)
		}
	}
	t.Logf("%d captures", len(places))
}

// askCaptures: each node lists the captures of a URL, and the CDX server API has all of the index.
func askCaptures(t *testing.T, c *cluster, places []cdxLine) {
	t.Helper()
	last := places[len(places)-1]
	hosts := map[string]bool{}
	for _, l := range places {
		u, err := url.Parse(l.URL)
		if err != nil {
			t.Fatal(err)
		}
		hosts[u.Hostname()[strings.LastIndex(u.Hostname(), ".")+1:]] = true
	}
	for _, n := range c.nodes {
		var report crawl.CapturesReport
		getJSON(t, n, "/api/v1/captures?url="+url.QueryEscape(last.URL), &report)
		if !slices.ContainsFunc(report.Captures, func(r crawl.CaptureReport) bool {
			return r.File == last.Filename && strconv.FormatInt(r.Offset, 10) == last.Offset && r.Node != ""
		}) {
			t.Errorf("%s: the captures of %s are %+v, without %+v", n.name, last.URL, report, last)
		}
		found := 0
		for top := range hosts {
			var rows [][]string
			getJSON(t, n, "/cdx?output=json&matchType=domain&url="+top, &rows)
			found += len(rows) - 1
		}
		if found != len(places) {
			t.Errorf("%s: the CDX server API has %d captures below %d names, want %d", n.name, found,
				len(hosts), len(places))
		}
	}
}

// getJSON reads what a node answers.
func getJSON(t *testing.T, n *node, path string, into any) {
	t.Helper()
	code, body, err := n.get(path)
	if err == nil {
		err = json.Unmarshal(body, into)
	}
	if err != nil || code != 200 {
		t.Fatalf("%s: %d, %v: %.300s", path, code, err, body)
	}
}

// exported asks a node for the index of the cluster.
func exported(t *testing.T, n *node) string {
	t.Helper()
	code, out, errs := run(t, "", "export", "cdxj", "--addr", n.http)
	if code != 0 || errs != "" {
		t.Fatalf("export ends with %d: %s", code, errs)
	}
	return out
}

// checkSorted has another program judge the order, and reads the lines.
func checkSorted(t *testing.T, index string) []cdxLine {
	t.Helper()
	cmd := exec.Command("sort", "-c", "-u")
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.Stdin = strings.NewReader(index)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("sort -c: %v: %s", err, out)
	}
	var lines []cdxLine
	for text := range strings.Lines(index) {
		parts := strings.SplitN(text, " ", 3)
		var l cdxLine
		if len(parts) != 3 || json.Unmarshal([]byte(parts[2]), &l) != nil {
			t.Fatalf("line %q", text)
		}
		lines = append(lines, l)
	}
	return lines
}

// checkPlace unpacks the bytes that a line names and nothing else.
func checkPlace(t *testing.T, c *cluster, l cdxLine) {
	t.Helper()
	offset, err1 := strconv.ParseInt(l.Offset, 10, 64)
	length, err2 := strconv.ParseInt(l.Length, 10, 64)
	if err1 != nil || err2 != nil {
		t.Fatalf("line %+v", l)
	}
	for _, n := range c.nodes {
		for _, suffix := range []string{"", ".open"} {
			f, err := os.Open(filepath.Join(n.dir, "warc", l.Filename+suffix))
			if err != nil {
				continue
			}
			defer f.Close()
			if err := oneRecord(io.NewSectionReader(f, offset, length), l.URL); err != nil {
				t.Errorf("%+v: %v", l, err)
			}
			return
		}
	}
	t.Errorf("no node has %s", l.Filename)
}

// oneRecord holds r against being one gzip member with one record of that URL.
func oneRecord(r io.Reader, url string) error {
	z, err := gzip.NewReader(r)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(z)
	if err != nil {
		return err
	}
	head, block, _ := bytes.Cut(text, []byte("\r\n\r\n"))
	var size int
	for line := range strings.Lines(string(head)) {
		if value, ok := strings.CutPrefix(line, "Content-Length: "); ok {
			size, err = strconv.Atoi(strings.TrimSpace(value))
		}
	}
	if err != nil || len(block) != size+4 ||
		!bytes.Contains(head, []byte("WARC-Target-URI: "+url+"\r\n")) {
		return fmt.Errorf("not one record of %s: %.300q", url, head)
	}
	return nil
}

// overAPI asks a node for the record, whichever node has the file.
func overAPI(t *testing.T, n *node, l cdxLine) {
	t.Helper()
	code, body, err := n.get("/api/v1/captures/" + l.Filename + "/" + l.Offset)
	if err != nil || code != 200 || strconv.Itoa(len(body)) != l.Length {
		t.Fatalf("capture %+v: %d, %d bytes, %v", l, code, len(body), err)
	}
	if err := oneRecord(bytes.NewReader(body), l.URL); err != nil {
		t.Error(err)
	}
	if code, body, _ := n.get("/api/v1/captures/" + l.Filename + "/1"); code != 404 {
		t.Errorf("a place between two records: %d %.200s", code, body)
	}
}
