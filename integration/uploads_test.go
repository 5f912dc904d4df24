package integration

import (
	"bytes"
	"net/http"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"crawlnode/simweb"
	"crawlnode/store/s3test"
)

// TestUploads: three nodes copy what they finish to a store that fails one request in five, and remove it; one node is killed again and
// again. In the end every file is in the store once, whole, and each capture is listed and read through any node although no disk
// has it.
func TestUploads(t *testing.T) {
	needsProcesses(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "key") // children inherit it
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	store := s3test.New(t.Cleanup)
	var faults atomic.Bool
	faults.Store(true)
	n := 0
	kinds := []string{s3test.Busy, s3test.Reset, s3test.Lost, s3test.Truncated, s3test.WrongTag, s3test.Damaged}
	store.Fault = func(*http.Request) string {
		if n++; !faults.Load() || n%5 != 0 {
			return ""
		}
		return kinds[n/5%len(kinds)]
	}
	web, srv := serveSimweb(t, simweb.Config{Seed: 41, Hosts: 12, PagesPerHost: 60, Skew: -1}.Quirky())
	c := simCluster(t, srv, 0, "--warc-size", "1MiB", "--derive", "pages", "--upload", "s3://bucket/crawls?region=us-east-1", "--upload-endpoint", store.URL, "--keep-local", "none")
	c.addReady(3)
	c.converged(time.Minute)
	c.nodes[0].seed(web.Seeds()...)
	for i := range 3 {
		atPage(t, web, 60*(i+1))
		c.nodes[2].signal(syscall.SIGKILL)
		<-c.nodes[2].done
		c.nodes[2].start()
		c.nodes[2].ready()
	}
	c.finished(4 * time.Minute)
	want := exported(t, c.nodes[0])
	faults.Store(false)
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
	bodies, puts := store.Objects()
	for key, count := range puts {
		if count != 1 && !strings.HasSuffix(key, ".cdxj") && count > 2 { // once more, when the answer to the first was lost
			t.Errorf("%s was stored %d times", key, count)
		}
	}
	for _, n := range c.nodes {
		n.start()
	}
	for _, n := range c.nodes {
		n.ready()
	}
	c.converged(time.Minute)
	if got := exported(t, c.nodes[1]); got != want {
		t.Errorf("with the files in the store the index has %d lines, before %d", strings.Count(got, "\n"), strings.Count(want, "\n"))
	}
	places := checkSorted(t, want)
	for i := 0; i < len(places); i += max(1, len(places)/100) {
		checkStored(t, c.nodes[i%3], bodies, places[i])
	}
	var s struct {
		Output struct {
			Upload struct {
				Queued int64 `json:"queued_files"`
				Bytes  int64 `json:"bytes_total"`
			}
		}
	}
	if err := c.nodes[1].decode("/status", &s); err != nil {
		t.Fatal(err)
	}
	sum := int64(0)
	for _, b := range bodies {
		sum += int64(len(b))
	}
	if s.Output.Upload.Queued != 0 || s.Output.Upload.Bytes != sum {
		t.Errorf("the status says %+v, the store has %d bytes", s.Output.Upload, sum)
	}
	t.Logf("%d objects, %d bytes, %d captures", len(bodies), sum, len(places))
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
		if err != nil || code != http.StatusOK || i+size > len(body) || !bytes.Equal(got, body[i:i+size]) {
			t.Errorf("%s at %s: %d, %v, %d bytes", l.Filename, l.Offset, code, err, len(got))
		}
		return
	}
	t.Errorf("the store has no %s", l.Filename)
}
