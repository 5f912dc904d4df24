package integration

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"crawlnode/output/upload/s3test"
)

var uploadCost = flag.Int("uploadcost", 0,
	"run TestUploadCost with so many files of 64 MiB, "+
		"and append the figures to docs/results/uploads.md")

const uploadCosts = `# Copies in an object store

What a node needs to copy finished files: it finds files of 64 MiB in its data directory, and sends them over loopback to a store in the process of the test,
verified. Processor time is that of the node, less what it needs at rest; the store, which digests each part too, runs beside it. Appended by

    go test ./integration -count=1 -v -run '^TestUploadCost$' -uploadcost 32

| date | commit | MiB | seconds | MB/s | processor seconds | processor seconds a GB | MB/s of one processor | load |
|---|---|---|---|---|---|---|---|---|
`

// TestUploadCost measures what copying costs.
func TestUploadCost(t *testing.T) {
	onRequest(t, *uploadCost != 0, "takes a minute and some GiB; run with -uploadcost 32")
	needsProcesses(t)
	store := s3test.New(t.Cleanup)
	c := newCluster(t)
	c.uploading(1, store.URL)
	n := c.nodes[0]
	n.signal(syscall.SIGTERM)
	n.exit(t, time.Minute)
	const size = 64 << 20
	r, body := rand.NewChaCha8([32]byte{7}), make([]byte, size)
	_, _ = r.Read(body) // never fails
	for i := range *uploadCost {
		body[0] = byte(i)
		if err := os.WriteFile(filepath.Join(n.dir, "derived",
			fmt.Sprintf("links-20260101000000-%05d-x.jsonl.gz", i)), body, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	begun := time.Now()
	n.start()
	until(t, 5*time.Minute, func() string {
		if sent := len(store.Find(".gz")); sent < *uploadCost {
			return fmt.Sprintf("%d files", sent)
		}
		return ""
	})
	took, used := time.Since(begun), cpuTime(n.cmd.Process.Pid)
	n.ready()
	// The start and the rest cost something too.
	n.signal(syscall.SIGTERM)
	n.exit(t, time.Minute)
	begun = time.Now()
	n.start()
	n.ready()
	time.Sleep(time.Until(begun.Add(took)))
	used -= cpuTime(n.cmd.Process.Pid)
	mb := float64(*uploadCost) * size / 1e6
	appendResult(t, "uploads.md", uploadCosts, fmt.Sprintf(
		"%d | %.1f | %.0f | %.2f | %.2f | %.0f | %s |", *uploadCost*64, took.Seconds(), mb/took.Seconds(),
		used.Seconds(), used.Seconds()/mb*1000, mb/used.Seconds(), loadAverage()))
}
