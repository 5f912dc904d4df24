package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"crawlnode/simweb"
)

// diagnose runs the check and returns its findings and its exit code.
func diagnose(t *testing.T, args ...string) (diagnosis, int) {
	t.Helper()
	r := run(t, "", append([]string{"doctor", "-o", "json"}, args...)...)
	var d diagnosis
	if err := json.Unmarshal([]byte(r.out), &d); err != nil {
		t.Fatalf("%v\n%s%s", err, r.out, r.errout)
	}
	return d, r.code
}

// wants checks one finding, named by the beginning of what was looked at.
func (d *diagnosis) wants(t *testing.T, what, level, found string) {
	t.Helper()
	i := slices.IndexFunc(d.Findings, func(f finding) bool { return strings.HasPrefix(f.What, what) && f.Level == level })
	if i < 0 || !strings.Contains(d.Findings[i].Found+d.Findings[i].Do, found) {
		t.Errorf("no %s of %q with %q in %+v", level, what, found, d.Findings)
	}
}

// replaced returns a copy of args with the value of one flag changed.
func replaced(args []string, flag, value string) []string {
	args = slices.Clone(args)
	args[slices.Index(args, flag)+1] = value
	return args
}

// TestDoctorBeforeTheFirstStart spoils one thing at a time.
func TestDoctorBeforeTheFirstStart(t *testing.T) {
	t.Parallel()
	_, server := serveWeb(t, simweb.Config{Hosts: 1, PagesPerHost: 1})
	healthy := nodeFlags(t, server)
	d, code := diagnose(t, healthy...)
	if code != exitOK || !d.OK {
		t.Errorf("exit code %d: %+v", code, d)
	}
	for _, what := range []string{"settings", "port of --http", "port of --gossip", "port of --rpc", "open files", "data directory", "free space", "name server", "contact", "cluster key"} {
		d.wants(t, what, levelOK, "")
	}
	run(t, "", append([]string{"doctor"}, healthy...)...).want(t, exitOK, "nothing keeps this node from working", "")

	foreign, open := t.TempDir(), filepath.Join(t.TempDir(), "open.key")
	if err := os.WriteFile(filepath.Join(foreign, "thesis.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, "", "keygen", open).want(t, exitOK, "", "")
	if err := os.Chmod(open, 0o644); err != nil {
		t.Fatal(err)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	nobody, err := freePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		args               []string
		code               int
		what, level, found string
	}{
		{append(healthy, "--fetchers", "0"), exitError, "settings", levelFail, "--fetchers"},
		{replaced(healthy, "--http", taken.Addr().String()), exitOK, "port of --http", levelWarn, "process " + strconv.Itoa(os.Getpid())},
		{append(replaced(healthy, "--http", "198.18.0.1:1"), "--insecure"), exitError, "port of --http", levelFail, "198.18.0.1:1"},
		{replaced(healthy, "--data-dir", foreign), exitError, "data directory", levelFail, "thesis.txt"},
		{replaced(healthy, "--dns", nobody[0]), exitError, "name server", levelFail, "--dns"},
		{append(healthy, "--dns", nobody[0]), exitOK, "name server " + nobody[0], levelWarn, "--dns"},
		{append(healthy, "--cluster-key-file", open), exitError, "cluster key", levelFail, "chmod 600"},
		{append(healthy, "--insecure"), exitOK, "cluster key", levelWarn, "keygen"},
		{append(healthy, "--join", nobody[0]), exitCluster, "gossip to " + nobody[0] + ", TCP", levelFail, "start that node"},
		{append(healthy, "--join", nobody[0], "--addr", nobody[0]), exitCluster, "node at --addr", levelFail, "nobody answers"},
		{[]string{"--http", "127.0.0.1:0", "--gossip", "127.0.0.1:0", "--rpc", "127.0.0.1:0", "--data-dir", "/dev/null/x", "--dns", server.DNS.String()}, exitError, "contact", levelFail, "--contact"},
	} {
		d, code := diagnose(t, tc.args...)
		if code != tc.code {
			t.Errorf("%v: exit code %d, want %d: %+v", tc.args, code, tc.code, d)
		}
		d.wants(t, tc.what, tc.level, tc.found)
	}
}

// TestDoctorCountsFiles wants more files than any machine allows.
func TestDoctorCountsFiles(t *testing.T) {
	t.Parallel()
	var d diagnosis
	d.checkFiles(1 << 50)
	d.wants(t, "open files", levelFail, "ulimit -n 2251799813685760")
}

// startBeside starts a node in this process, and stops it at the end of the test.
// It returns the node's addresses.
func startBeside(t *testing.T, args ...string) (http, gossip string) {
	t.Helper()
	ports, err := freePorts(3)
	if err != nil {
		t.Fatal(err)
	}
	signals := make(chan os.Signal, 2)
	errout := &watchedBuffer{want: "stop", seen: make(chan struct{})}
	ended := make(chan int, 1)
	go func() {
		ended <- Main(context.Background(), append([]string{"start", "--http", ports[0], "--gossip", ports[1], "--rpc", ports[2]}, args...), Env{
			Stdin: strings.NewReader(""), Stdout: &bytes.Buffer{}, Stderr: errout,
			Lookup: func(string) (string, bool) { return "", false }, Signals: signals, Executable: "crawlnode", Version: "test",
		})
	}()
	t.Cleanup(func() {
		signals <- syscall.SIGTERM
		if code := <-ended; code != exitOK {
			t.Errorf("exit code %d:\n%s", code, errout.text())
		}
	})
	<-errout.seen
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ask := []string{"status", "--check", "ready", "--addr", ports[0]}
	if i := slices.Index(args, "--cluster-key-file"); i >= 0 {
		ask = append(ask, args[i:i+2]...)
	}
	for run(t, "", ask...).code != exitOK {
		if !pause(ctx, readyLook) {
			t.Fatal("the node does not get ready:\n", errout.text())
		}
	}
	return ports[0], ports[1]
}

// TestDoctorBesideNodes looks at the ways between two nodes with a key, from the
// side of one that runs, and of one that does not.
func TestDoctorBesideNodes(t *testing.T) {
	t.Parallel()
	_, server := serveWeb(t, simweb.Config{Hosts: 1, PagesPerHost: 1})
	key, other := filepath.Join(t.TempDir(), "cluster.key"), filepath.Join(t.TempDir(), "other.key")
	run(t, "", "keygen", key).want(t, exitOK, "", "")
	run(t, "", "keygen", other).want(t, exitOK, "", "")
	common := []string{"--allow-net", "127.0.0.0/8", "--dns", server.DNS.String(), "--cluster-key-file", key, "--partitions", "512", "--drain-timeout", "2s"}
	first, second := filepath.Join(t.TempDir(), "n1"), filepath.Join(t.TempDir(), "n2")
	http1, gossip1 := startBeside(t, append(common, "--name", "n1", "--data-dir", first)...)
	http2, gossip2 := startBeside(t, append(common, "--name", "n2", "--data-dir", second, "--join", gossip1)...)

	d, code := diagnose(t, append(common, "--name", "n2", "--data-dir", second, "--http", http2, "--gossip", gossip2, "--join", gossip1+","+gossip2)...)
	if code != exitOK {
		t.Errorf("exit code %d beside a running node: %+v", code, d)
	}
	d.wants(t, "port of --http", levelOK, "in use by this node")
	d.wants(t, "gossip to "+gossip1+", TCP", levelOK, "open")
	d.wants(t, "gossip to "+gossip1+", UDP", levelOK, "answers in")
	d.wants(t, "calls to", levelOK, "answered")
	d.wants(t, "clock against n1", levelOK, "")
	d.wants(t, "way back from n1", levelOK, "heard this node")

	ports := []string{"--http", "127.0.0.1:0", "--gossip", "127.0.0.1:0", "--rpc", "127.0.0.1:0", "--data-dir", filepath.Join(t.TempDir(), "n3"), "--join", gossip1}
	d, code = diagnose(t, append(common, append(ports, "--addr", http1)...)...)
	if code != exitOK {
		t.Errorf("exit code %d before the first start: %+v", code, d)
	}
	d.wants(t, "calls to", levelOK, "answered")
	d.wants(t, "way back from n1", levelWarn, "start it")

	d, code = diagnose(t, append(common, append(ports, "--cluster", "another")...)...)
	if code != exitCluster {
		t.Errorf("exit code %d with another --cluster: %+v", code, d)
	}
	d.wants(t, "gossip to "+gossip1+", UDP", levelFail, "--cluster")
	d, code = diagnose(t, append(replaced(common, "--cluster-key-file", other), append(ports, "--addr", http1)...)...)
	if code != exitCluster {
		t.Errorf("exit code %d with another key: %+v", code, d)
	}
	d.wants(t, "gossip to "+gossip1+", UDP", levelFail, "another key")
}
