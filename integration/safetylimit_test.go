package integration

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"crawlnode/simweb"
)

// A crawl without an operator ends with exit code 6 when its disk has been nearly full for a
// minute. With space again the same command finishes it.
func TestCrawlOnAFullDisk(t *testing.T) {
	needsProcesses(t)
	needsRoot(t)
	t.Parallel()
	web, srv := serveSimweb(t, simweb.Config{Seed: 31, Hosts: 3, PagesPerHost: 10, Skew: -1})
	dir := t.TempDir()
	disk := filepath.Join(dir, "disk")
	smallDisk(t, disk, 512<<20)
	ballast := fillDisk(t, disk, 100<<20)
	args := append([]string{"crawl"}, web.Seeds()...)
	args = append(args, "--data-dir", filepath.Join(disk, "data"), "--dns", srv.DNS.String(),
		"--allow-net", "127.0.0.0/8", "--delay", "0",
		"--http", "127.0.0.1:0", "--gossip", "127.0.0.1:0", "--rpc", "127.0.0.1:0")
	for _, step := range []struct {
		code int
		says string
	}{{6, "free some space there"}, {0, "ended: frontier_exhausted"}} {
		log := filepath.Join(dir, "crawl.log")
		p := spawn(t, "crawl", log, append([]string{binary(t)}, args...)...)
		if code := p.exit(t, 3*time.Minute); code != step.code ||
			!strings.Contains(tail(log, 20), step.says) {
			t.Fatalf("exit code %d, want %d and %q\n%s", code, step.code, step.says, tail(log, 20))
		}
		if step.code != 0 {
			if err := os.Remove(ballast); err != nil {
				t.Fatal(err)
			}
		}
	}
	report := web.Report()
	if err := report.Err(); err != nil {
		t.Error(err)
	}
}
