package integration

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Bad command lines end at once with the exit code of their kind and a message
// that names the mistake.
func TestBadInputs(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	ports := func() []string {
		var args []string
		for _, flag := range []string{"--http", "--gossip", "--rpc"} {
			args = append(args, flag, fmt.Sprint("127.0.0.1:", freePort(t)))
		}
		return args
	}
	notADirectory := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(notADirectory, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	foreign := t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign, "thesis.txt"), []byte("years of work"),
		0o644); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args  []string
		stdin string
		code  int
		says  []string
	}{
		"unknown flag": {
			args: []string{"start", "--delya", "1s"},
			code: 2,
			says: []string{"--delya"},
		},
		"unknown verb": {args: []string{"strat"}, code: 2, says: []string{"strat"}},
		"bad duration": {
			args: []string{"start", "--delay", "soon"},
			code: 2,
			says: []string{"--delay", "soon"},
		},
		"delay 0 for all": {
			args: []string{"start", "--delay", "0"},
			code: 2,
			says: []string{"--delay", "--allow-net"},
		},
		"open without key": {
			args: []string{"start", "--http", "0.0.0.0:0"},
			code: 2,
			says: []string{"--cluster-key-file", "--insecure"},
		},
		"two mistakes": {
			args: []string{"start", "--scope", "galaxy", "--partitions", "7"},
			code: 2,
			says: []string{"--scope", "--partitions"},
		},
		"bad seed": {args: append([]string{"crawl", "ftp://example.org/", "--data-dir",
			t.TempDir() + "/d", "--allow-net",
			"127.0.0.0/8"}, ports()...), code: 2, says: []string{"ftp://example.org/"}},
		"data dir is a file": {
			args: append([]string{"start", "--data-dir", notADirectory}, ports()...),
			code: 3,
			says: []string{notADirectory},
		},
		"foreign data dir": {
			args: append([]string{"start", "--data-dir", foreign}, ports()...),
			code: 3,
			says: []string{foreign},
		},
		"nobody answers": {args: []string{"seeds", "add", "--addr",
			fmt.Sprint("127.0.0.1:", freePort(t)),
			"http://h1.sim.test/"}, code: 1, says: []string{"nobody answers"}},
		"status of nobody": {
			args: []string{"status", "--addr", fmt.Sprint("127.0.0.1:", freePort(t))},
			code: 1,
			says: []string{"nobody answers"},
		},
		"seeds file is absent": {
			args: []string{"seeds", "add", "-f", "/nonexistent/seeds.txt"},
			code: 2,
			says: []string{"/nonexistent/seeds.txt"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := run(t, c.stdin, c.args...)
			if code != c.code {
				t.Errorf("exit code %d, want %d\n%s%s", code, c.code, stdout, stderr)
			}
			for _, word := range c.says {
				if !strings.Contains(stderr, word) {
					t.Errorf("the message does not name %s:\n%s", word, stderr)
				}
			}
		})
	}
}

func TestSecondNodeOnOneDataDirectoryIsRefused(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	c := newCluster(t, "--allow-net", "127.0.0.0/8")
	c.addReady(1)
	code, stdout, stderr := run(t, "", "start", "--name", "n2", "--data-dir", c.nodes[0].dir, "--http",
		"127.0.0.1:0", "--gossip", "127.0.0.1:0", "--rpc", "127.0.0.1:0")
	if code != 3 || !strings.Contains(stderr, c.nodes[0].dir) {
		t.Errorf("exit code %d, want 3 and the directory's name\n%s%s", code, stdout, stderr)
	}
	if s, err := c.nodes[0].status(); err != nil || s.Cluster.Members.Alive != 1 {
		t.Errorf("the first node: %+v, %v", s.Cluster, err)
	}
	c.stop()
}

// A port that was given stays: when it is busy, the node says by whom and ends. The usual ports
// move on (TestDocuments, TestFirstSteps).
func TestGivenPortsStay(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	for _, flag := range []string{"--http", "--gossip", "--rpc"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		log := filepath.Join(t.TempDir(), "log")
		p := spawn(t, "n1", log, binary(t), "start", "--name", "n1", "--data-dir",
			filepath.Join(t.TempDir(), "n1"),
			"--contact", "me@example.org", flag, l.Addr().String())
		if code := p.exit(t, time.Minute); code != 2 { // a mistake in the command line
			t.Errorf("%s: exit code %d", flag, code)
		}
		want := fmt.Sprintf("listen on %s %s: the port is in use by ", flag, l.Addr())
		if out := tail(log, 10); !strings.Contains(out, want) ||
			!strings.Contains(out, fmt.Sprint("(process ", os.Getpid(), ")")) {
			t.Errorf("%s: %s", flag, out)
		}
	}
}

// logged waits until the node's output says something.
func (c *cluster) logged(n *node, word string) {
	c.t.Helper()
	until(c.t, 30*time.Second, func() string {
		if out := tail(n.log, 100); !strings.Contains(out, word) {
			return fmt.Sprintf("the log of %s does not say %q:\n%s", n.name, word, out)
		}
		return ""
	})
}

// alone checks that a node is the only member of its cluster.
func alone(t *testing.T, n *node) {
	t.Helper()
	if s, err := n.status(); err != nil || s.Cluster.Members.Alive != 1 {
		t.Errorf("%s is not alone: %+v, %v", n.name, s.Cluster, err)
	}
}

// Two clusters that were founded apart never merge, whatever --join says; the
// refusal names the difference.
func TestTwoClustersNeverMerge(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	c := newCluster(t, "--allow-net", "127.0.0.0/8")
	c.addReady(1)
	other := newCluster(t, "--allow-net", "127.0.0.0/8")
	other.addReady(1)
	other.stop()
	stranger := other.nodes[0]
	stranger.flags = []string{"--join", c.nodes[0].gossip, "--name", "stranger"}
	stranger.start()
	other.logged(stranger, "another cluster of the same name")
	stranger.ready()
	alone(t, c.nodes[0])
	alone(t, stranger)

	lost := c.add("--cluster", "other")
	c.logged(lost, "another --cluster")
	alone(t, c.nodes[0])
	if code, _, err := lost.get("/readyz"); err != nil || code != 503 {
		t.Errorf("a node that nobody takes in is ready: %d, %v", code, err)
	}
	c.stop()
	other.stop()
}

// A name that is taken ends the second node with the exit code of cluster
// errors; what belongs to the founder is taken over from it.
func TestJoinersGiveWay(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	c := newCluster(t, "--allow-net", "127.0.0.0/8")
	c.addReady(1)
	double := c.add("--name", "n1")
	if code := double.exit(t, 30*time.Second); code != 4 ||
		!strings.Contains(tail(double.log, 20), "name is taken") {
		t.Errorf("exit code %d, want 4 and the name:\n%s", code, tail(double.log, 20))
	}
	alone(t, c.nodes[0])
	joiner := c.add("--partitions", "2048")
	joiner.ready()
	c.converged(time.Minute)
	if s, err := joiner.status(); err != nil || s.Ring.Partitions != 1024 {
		t.Errorf("the joiner has %d partitions, the founder 1024 (%v)", s.Ring.Partitions, err)
	}
	c.stop()
}

// The second signal ends a node at once.
func TestSecondSignalEndsAtOnce(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	c := newCluster(t, "--allow-net", "127.0.0.0/8")
	c.addReady(2)
	n := c.nodes[1]
	n.signal(syscall.SIGINT)
	n.signal(syscall.SIGINT)
	if code := n.exit(t, 20*time.Second); code != 130 && code != 0 {
		t.Errorf("exit code %d after two signals, want 130 (or 0 when the first had done its work)", code)
	}
}
