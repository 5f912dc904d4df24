package integration

import (
	"bytes"
	"flag"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"crawlnode/output/upload/s3test"
	"crawlnode/simweb"
)

var uploadKills = flag.Int("uploadkills", 3, "how often TestUploads kills a node")

// uploading starts nodes that copy what they finish to a store, and remove it.
func (c *cluster) uploading(count int, address string) {
	c.t.Helper()
	for range count {
		n := c.place("--warc-size", "1MiB", "--derive", "pages", "--upload",
			"s3://bucket/crawls?region=us-east-1", "--upload-endpoint", address, "--keep-local", "none")
		n.wrap = []string{"env", "AWS_ACCESS_KEY_ID=key", "AWS_SECRET_ACCESS_KEY=secret"}
		n.start()
		n.ready()
	}
	c.converged(time.Minute)
}

// faultyUploads makes every fifth request to a store fail, in six ways, until it is told to end.
// Another body that was stored must be replaced: it counts those, by key.
type faultyUploads struct {
	mu      sync.Mutex // guards all below
	over    bool
	n       int
	failed  map[bool]int // requests that store something, and others
	damaged map[string]int
}

func (f *faultyUploads) fault(r *http.Request) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	kinds := []string{s3test.Busy, s3test.Reset, s3test.Lost, s3test.Truncated, s3test.WrongTag,
		s3test.Damaged}
	if f.n++; f.over || f.n%5 != 0 {
		return ""
	}
	stores := r.Method == http.MethodPut
	f.failed[stores]++
	kind := kinds[(f.failed[stores]+4)%len(kinds)] // damaged first
	if stores && kind == s3test.Damaged {
		_, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		f.damaged[key]++
	}
	return kind
}

// end ends the faults and returns how often a damaged body was stored, by key.
func (f *faultyUploads) end() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over = true
	return f.damaged
}

// TestUploads: three nodes copy what they finish to a store that fails one request in five, and
// remove it; nodes are killed again and again. No file goes from a disk before the store has it. In
// the end every file is in the store once, whole, and each capture is listed and read through any
// node although no disk has it.
func TestUploads(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	store := s3test.New(t.Cleanup)
	faults := &faultyUploads{failed: map[bool]int{}, damaged: map[string]int{}}
	store.Fault = faults.fault
	config, delay := simweb.Config{Seed: 41, Hosts: 12, PagesPerHost: 60, Skew: -1}, time.Duration(0)
	if *uploadKills > 3 {
		config.PagesPerHost, delay = 30**uploadKills, 200*time.Millisecond
	}
	web, srv := serveSimweb(t, config.Quirky())
	c := simCluster(t, srv, delay)
	c.uploading(3, store.URL)
	watched := watchFinished(t, store, c)
	c.nodes[0].seed(web.Seeds()...)
	for i := range *uploadKills {
		atPage(t, web, config.Hosts*config.PagesPerHost*(i+1)/(*uploadKills+1)/3)
		n := c.nodes[2-i%3]
		n.signal(syscall.SIGKILL)
		<-n.done
		n.start()
		n.ready()
	}
	c.finished(4*time.Minute + 30*time.Second*time.Duration(*uploadKills))
	want := exported(t, c.nodes[0])
	damaged := faults.end()
	for _, n := range c.nodes { // a start finishes what was open, an end too
		n.signal(syscall.SIGTERM)
	}
	for _, n := range c.nodes {
		n.exit(t, time.Minute)
		for _, pattern := range []string{"warc/*", "derived/*"} {
			if left, _ := filepath.Glob(filepath.Join(n.dir, pattern)); len(left) > 0 {
				t.Errorf("left on the disk of %s: %v", n.name, left)
			}
		}
	}
	files := watched.end()
	bodies, puts := store.Objects()
	for key, count := range puts {
		if count != 1+damaged[key] {
			t.Errorf("%s was stored %d times, damaged %d times", key, count, damaged[key])
		}
	}
	// what came and went between two looks
	if unseen := len(bodies) - files; unseen < 0 || unseen > len(bodies)/10 {
		t.Errorf("%d files were seen on the disks, the store has %d", files, len(bodies))
	}
	for _, n := range c.nodes {
		n.start()
	}
	for _, n := range c.nodes {
		n.ready()
	}
	c.converged(time.Minute)
	if got := exported(t, c.nodes[1]); got != want {
		t.Errorf("with the files in the store the index has %d lines, before %d",
			strings.Count(got, "\n"), strings.Count(want, "\n"))
	}
	places := checkSorted(t, want)
	for i := 0; i < len(places); i += 1 + len(places)/2000 { // all of them, unless there are many
		checkStored(t, c.nodes[i%3], bodies, places[i])
	}
	sum := int64(0)
	for _, b := range bodies {
		sum += int64(len(b))
	}
	exportsTo(t, c.nodes[2], store)
	s := c.nodes[1].uploads(t)
	if s.Queued != 0 || s.Bytes != sum {
		t.Errorf("the status says %+v, the store has %d bytes", s, sum)
	}
	t.Logf("%d kills, %d objects, %d seen on the disks, %d damaged on their way, %d bytes, "+
		"%d captures, load %s",
		*uploadKills, len(bodies), files, len(damaged), sum, len(places), loadAverage())
}

// exportsTo exports a table in parts and a collection, of records that only the store has, and
// copies them to the store.
func exportsTo(t *testing.T, n *node, store *s3test.Store) {
	t.Helper()
	dir := t.TempDir()
	for out, args := range map[string][]string{
		"parts":      {"parquet", "--rows", "100"},
		"crawl.wacz": {"wacz"},
	} {
		args = append([]string{"export", args[0], "--addr", n.http, "-o", filepath.Join(dir, out), "--to",
			"s3://bucket/exports?region=us-east-1", "--to-endpoint", store.URL}, args[1:]...)
		cmd := exec.Command(binary(t), args...)
		cmd.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID=key", "AWS_SECRET_ACCESS_KEY=secret")
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%q: %v\n%s", args, err, said)
		}
	}
	written := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		written++
		want, err := os.ReadFile(path)
		key, _ := filepath.Rel(dir, path)
		if got := store.Find("/" + filepath.ToSlash(key)); len(got) != 1 || !bytes.Equal(got[0], want) {
			t.Errorf("the store has %d objects exports/%s, or another one", len(got), key)
		}
		return err
	})
	if err != nil || written < 3 {
		t.Errorf("%d files were exported, %v", written, err)
	}
}

// uploadFigures are what a status says of uploads.
type uploadFigures struct {
	Queued int64   `json:"queued_files"`
	Bytes  int64   `json:"bytes_total"`
	Failed int64   `json:"failed_total"`
	Behind float64 `json:"behind_seconds"`
}

func (n *node) uploads(t *testing.T) uploadFigures {
	t.Helper()
	var s struct {
		Output struct{ Upload uploadFigures }
	}
	if err := n.decode("/status", &s); err != nil {
		t.Fatal(err)
	}
	return s.Output.Upload
}

// checkStored: a node reads the record that the object of the file has there.
func checkStored(t *testing.T, n *node, bodies map[string][]byte, l cdxLine) {
	t.Helper()
	i, _ := strconv.Atoi(l.Offset)
	size, _ := strconv.Atoi(l.Length)
	for key, body := range bodies {
		if path.Base(key) != l.Filename {
			continue
		}
		code, got, err := n.get("/api/v1/captures/" + l.Filename + "/" + l.Offset)
		if err != nil || code != http.StatusOK || i+size > len(body) ||
			!bytes.Equal(got, body[i:i+size]) {
			t.Errorf("%s at %s: %d, %v, %d bytes", l.Filename, l.Offset, code, err, len(got))
		}
		return
	}
	t.Errorf("the store has no %s", l.Filename)
}
