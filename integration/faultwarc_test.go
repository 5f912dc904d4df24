package integration

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"crawlnode/output/archive"
)

// A node whose archive is on a full volume of its own pauses and names it, writes no partial
// record, and resumes when there is space again. Its files are .warc.zst, those of the other node
// .warc.gz.
func TestArchiveVolumeFillsUp(t *testing.T) {
	needsProcesses(t)
	needsRoot(t)
	t.Parallel()
	f := newTrial(t, &scenario{name: "archive-volume-fills-up"}, testSeed(t))
	t.Logf("repeat with CRAWLNODE_TEST_SEED=%d go test ./integration -count=1 -v -run "+
		"'^TestArchiveVolumeFillsUp$'", f.seed)
	f.add().ready()
	n := f.c.place("--dns", f.srv.Doors[2].String(), "--join", f.c.nodes[0].gossip,
		"--warc-compression", "zstd")
	volume := filepath.Join(n.dir, "warc")
	smallDisk(t, volume, 512<<20)
	n.start()
	n.ready()
	f.whole(time.Minute)
	f.seedAll(f.c.nodes[0])
	f.crawlTo(0.1, 0.3)

	ballast := fillDisk(t, volume, 60<<20)
	until(t, 30*time.Second, func() string { return saysFull(n, volume) })
	// what was under way is written; nobody can write while another takes the last byte
	time.Sleep(2 * time.Second)
	fillDisk(t, volume, 0)
	pages := n.metric("crawlnode_pages_total")
	time.Sleep(5 * time.Second)
	select {
	case <-n.done:
		t.Fatalf("%s ended on a full volume:\n%s", n.name, lastWords(n.log))
	default:
	}
	if missing := saysFull(n, volume); missing != "" {
		t.Error(missing)
	}
	if now := n.metric("crawlnode_pages_total"); now != pages {
		t.Errorf("%s fetched on with a full volume: %v pages, then %v", n.name, pages, now)
	}
	wholeRecords(t, n)
	if s, err := f.c.nodes[0].status(); err != nil || s.Crawl.State == "finished" {
		t.Errorf("the crawl is %q while a node waits for space (%v)", s.Crawl.State, err)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	f.c.finished(3 * time.Minute)
	f.judge()
	frameOverAPI(t, f.c.nodes[0])
	f.c.stop()
	var archived []string
	for _, n := range f.c.nodes {
		archived = append(archived, wholeRecords(t, n)...)
		if open, _ := filepath.Glob(filepath.Join(n.dir, "warc", "*.open")); len(open) > 0 {
			t.Errorf("still open after the end: %v", open)
		}
	}
	sameSet(t, "archived", archived, reachable(f.web))
	t.Logf("%d pages", len(archived))
}

// frameOverAPI asks for the first record in a .warc.zst file, and unpacks it.
func frameOverAPI(t *testing.T, n *node) {
	t.Helper()
	for _, l := range checkSorted(t, exported(t, n)) {
		if !strings.HasSuffix(l.Filename, ".warc.zst") {
			continue
		}
		code, body, err := n.get("/api/v1/captures/" + l.Filename + "/" + l.Offset)
		if err != nil || code != 200 || fmt.Sprint(len(body)) != l.Length {
			t.Fatalf("capture %+v: %d, %d bytes, %v", l, code, len(body), err)
		}
		z, err := zstd.NewReader(nil)
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		if text, err := z.DecodeAll(body, nil); err != nil ||
			!bytes.Contains(text, []byte("WARC-Target-URI: "+l.URL+"\r\n")) {
			t.Errorf("capture %+v: %v, %.300q", l, err, text)
		}
		return
	}
	t.Error("the index names no .warc.zst file")
}

// saysFull returns what is missing in the report that n waits for space on a volume.
func saysFull(n *node, volume string) string {
	s, err := n.status()
	if err != nil {
		return err.Error()
	}
	for _, r := range s.Cluster.Health.Reasons {
		if r.Code == "low_disk" && strings.Contains(r.Message, volume) {
			return ""
		}
	}
	return fmt.Sprintf("%s does not say low_disk of %s: %+v", n.name, volume, s.Cluster.Health)
}

// wholeRecords reads every archive file of a node to its end, and returns the URLs
// of the pages in it.
func wholeRecords(t *testing.T, n *node) (urls []string) {
	t.Helper()
	paths, err := archive.Files(filepath.Join(n.dir, "warc"))
	if err != nil {
		t.Fatal(err)
	}
	var found []capture
	for _, path := range paths {
		whole, err := archive.Scan(path, func(r archive.Record) error {
			if r.Type == "response" || r.Type == "revisit" {
				found = append(found, capture{url: r.TargetURI})
			}
			return r.Verify()
		})
		info, statErr := os.Stat(path)
		if err != nil || statErr != nil || info.Size() != whole {
			t.Errorf("%s: %d bytes are whole records: %v, %v", path, whole, err, statErr)
		}
	}
	for _, p := range pages(found) {
		urls = append(urls, p.url)
	}
	return urls
}
