package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	crawlnode "crawlnode/node"
)

// newerRelease builds a program that differs from this one in the numbers of its
// protocol and its data format: each is one more.
func newerRelease(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	protocol, format := crawlnode.Versions()
	for file, c := range map[string]struct {
		constant string
		number   int
	}{
		"../membership/consensus/version.go": {"const ProtocolVersion = ", protocol},
		"../local/datadir/dir.go":            {"FormatVersion = ", format},
	} {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		old := fmt.Sprint(c.constant, c.number, "\n")
		if strings.Count(string(raw), old) != 1 {
			t.Fatalf("%s does not say %q", file, old)
		}
		path, err := filepath.Abs(file)
		if err != nil {
			t.Fatal(err)
		}
		overlay.Replace[path] = filepath.Join(dir, filepath.Base(file))
		text := strings.Replace(string(raw), old, fmt.Sprint(c.constant, c.number+1, "\n"), 1)
		if err := os.WriteFile(overlay.Replace[path], []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	list, program := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "crawlnode")
	if err := os.WriteFile(list, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-overlay", list, "-o", program,
		"crawlnode/cmd/crawlnode").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// Nodes of two protocol versions refuse each other, a cluster's data go over to
// the newer program, and the older one refuses them from then on: always with both
// numbers (F29).
func TestVersions(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	newer := newerRelease(t)
	protocol, format := crawlnode.Versions()
	c := newCluster(t, "--partitions", "512")
	c.addReady(1)
	old := c.nodes[0]
	start := func(p *node, program string) {
		p.process = spawn(t, p.name, filepath.Join(c.dir, p.name+".log"), program, "start", "--name",
			p.name, "--data-dir", p.dir,
			"--http", p.http, "--gossip", p.gossip, "--rpc", p.rpc, "--join", old.gossip, "--partitions",
			"512")
	}

	stranger := c.place()
	start(stranger, newer)
	if code := stranger.exit(t, 30*time.Second); code != 4 {
		t.Errorf("the newer node ends with exit code %d, want 4", code)
	}
	printed(t, stranger,
		fmt.Sprintf(`it speaks protocol version %d, we speak %d`, protocol, protocol+1))
	until(t, 10*time.Second, func() string {
		if want := fmt.Sprintf("it speaks protocol version %d, we speak %d", protocol+
			1, protocol); !strings.Contains(tail(old.log, 100), want) {
			return "the member has not said: " + want
		}
		return ""
	})
	if s, err := old.status(); err != nil || s.Cluster.Members.Alive != 1 {
		t.Errorf("the member sees %+v, %v", s.Cluster, err)
	}

	stop := func(n *node) {
		n.signal(syscall.SIGTERM)
		if code := n.exit(t, 40*time.Second); code != 0 {
			t.Errorf("exit code %d after SIGTERM", code)
		}
	}
	stop(old)
	start(old, newer)
	old.ready()
	if s, err := old.status(); err != nil || s.Ring.Served != s.Ring.Partitions {
		t.Errorf("the newer program on the older one's data: %+v, %v", s.Ring, err)
	}
	stop(old)

	start(old, binary(t))
	if code := old.exit(t, 30*time.Second); code != 3 {
		t.Errorf("the older program on newer data ends with exit code %d, want 3", code)
	}
	printed(t, old,
		fmt.Sprintf(`its data format is %d, this program reads up to %d`, format+1, format))
}

// printed looks for a pattern in what a process printed.
func printed(t *testing.T, n *node, pattern string) {
	t.Helper()
	raw, err := os.ReadFile(n.log)
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(pattern).Match(raw) {
		t.Errorf("%s does not say %q:\n%s", n.name, pattern, tail(n.log, 10))
	}
}
