package integration

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"crawlnode/simweb"
)

// A node that is alone ends with exit code 3 when a byte of its newest log is flipped, and names
// the file. When the loss is accepted, it goes on from what is left, and the seeds bring everything
// back.
func TestLoneNodeWithADamagedLog(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	web, srv := serveSimweb(t,
		simweb.Config{Seed: 74, Hosts: 4, PagesPerHost: 60, Delay: 5 * time.Millisecond})
	c := simCluster(t, srv, 5*time.Millisecond)
	c.addReady(1)
	n := c.nodes[0]
	n.seed(web.Seeds()...)
	atPage(t, web, 60)
	n.signal(syscall.SIGKILL)
	<-n.done
	log := filepath.Join(n.dir, "frontier", "00001.mem")
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	from := len(bytes.TrimRight(b, "\x00")) / 3
	at := bytes.Index(b[from:], []byte(web.Domain())) // the length of an entry may not be read at all
	if at < 0 {
		t.Fatalf("no URL behind byte %d of %s", from, log)
	}
	b[from+at] ^= 1
	if err := os.WriteFile(log, b, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second start finds the log cut, and nothing damaged
		n.start()
		code, out := n.exit(t, 30*time.Second), tail(n.log, 10)
		if code != 3 || !strings.Contains(out, log) || !strings.Contains(out, "LOSS-ACCEPTED") {
			t.Fatalf("exit code %d, want 3 and a message with %s and the remedy:\n%s", code, log, out)
		}
	}
	if err := os.Rename(filepath.Join(n.dir, "LOSS"), filepath.Join(n.dir, "LOSS-ACCEPTED")); err !=
		nil {
		t.Fatal(err)
	}
	n.start()
	n.ready()
	n.seed(web.Seeds()...)
	c.finished(time.Minute)
	if r := web.Report(); web.Progress() != r.Reachable {
		t.Errorf("%d of %d pages were fetched", web.Progress(), r.Reachable)
	}
	c.stop()
}
