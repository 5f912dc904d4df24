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

	"crawlnode/cli/command"
	"crawlnode/cli/doctor"
	"crawlnode/cli/process"
	"crawlnode/local/closedport"
	"crawlnode/simweb"
)

// diagnosis is what the check has found.
type diagnosis doctor.Diagnosis

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

// has reports whether there is a finding, named by the beginning of what was looked at.
func (d *diagnosis) has(what, level, found string) bool {
	i := slices.IndexFunc(d.Findings,
		func(f doctor.Finding) bool { return strings.HasPrefix(f.What, what) && f.Level == level })
	return i >= 0 && strings.Contains(d.Findings[i].Found+d.Findings[i].Do, found)
}

// wants checks one finding.
func (d *diagnosis) wants(t *testing.T, what, level, found string) {
	t.Helper()
	if !d.has(what, level, found) {
		t.Errorf("no %s of %q with %q in %+v", level, what, found, d.Findings)
	}
}

// diagnosed runs the check until it has these findings, each what, level and a part of the text: a
// node on a busy machine may answer later than the check waits.
func diagnosed(t *testing.T, code int, findings [][3]string, args ...string) {
	t.Helper()
	for end := time.Now().Add(patience); ; {
		d, got := diagnose(t, args...)
		lacks := slices.IndexFunc(findings, func(f [3]string) bool { return !d.has(f[0], f[1], f[2]) })
		if got == code && lacks < 0 {
			return
		}
		if time.Now().After(end) {
			if lacks >= 0 {
				t.Errorf("no finding %q", findings[lacks])
			}
			t.Fatalf("exit code %d, want %d: %+v", got, code, d)
		}
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
	if code != command.ExitOK || !d.OK {
		t.Errorf("exit code %d: %+v", code, d)
	}
	for _, what := range []string{"settings", "port of --http", "port of --gossip", "port of --rpc",
		"open files", "data directory", "free space", "name server", "contact", "cluster key"} {
		d.wants(t, what, doctor.LevelOK, "")
	}
	run(t, "", append([]string{"doctor"}, healthy...)...).want(t, command.ExitOK,
		"nothing keeps this node from working", "")

	foreign, open := t.TempDir(), filepath.Join(t.TempDir(), "open.key")
	if err := os.WriteFile(filepath.Join(foreign, "thesis.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, "", "keygen", open).want(t, command.ExitOK, "", "")
	if err := os.Chmod(open, 0o644); err != nil {
		t.Fatal(err)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	nobody := closedport.Reserve(t).Addr
	for _, tc := range []struct {
		args               []string
		code               int
		what, level, found string
	}{
		{append(healthy, "--fetchers", "0"), command.ExitError, "settings", doctor.LevelFail, "--fetchers"},
		{replaced(healthy, "--http", taken.Addr().String()), command.ExitError, "port of --http",
			doctor.LevelFail, "process " + strconv.Itoa(os.Getpid())},
		{append(replaced(healthy, "--http", "198.18.0.1:1"), "--insecure"), command.ExitError,
			"port of --http", doctor.LevelFail, "198.18.0.1:1"},
		{replaced(healthy, "--data-dir", foreign), command.ExitError, "data directory", doctor.LevelFail, "thesis.txt"},
		{replaced(healthy, "--dns", nobody), command.ExitError, "name server", doctor.LevelFail, "--dns"},
		{append(healthy, "--dns", nobody), command.ExitOK, "name server " + nobody, doctor.LevelWarn, "--dns"},
		{append(healthy, "--cluster-key-file", open), command.ExitError, "cluster key", doctor.LevelFail, "chmod 600"},
		{append(healthy, "--insecure"), command.ExitOK, "cluster key", doctor.LevelWarn, "keygen"},
		{append(healthy, "--join", nobody), command.ExitCluster, "gossip to " + nobody + ", TCP", doctor.LevelFail, "start that node"},
		{append(healthy, "--join", nobody, "--addr", nobody), command.ExitCluster, "node at --addr", doctor.LevelFail, "nobody answers"},
		{[]string{"--http", "127.0.0.1:0", "--gossip", "127.0.0.1:0", "--rpc", "127.0.0.1:0",
			"--data-dir", "/dev/null/x", "--dns",
			server.DNS.String()}, command.ExitError, "contact", doctor.LevelFail, "--contact"},
	} {
		d, code := diagnose(t, tc.args...)
		if code != tc.code {
			t.Errorf("%v: exit code %d, want %d: %+v", tc.args, code, tc.code, d)
		}
		d.wants(t, tc.what, tc.level, tc.found)
	}
}

// startBeside starts a node in this process, and stops it at the end of the test.
// It returns the node's addresses.
func startBeside(t *testing.T, args ...string) (http, gossip string) {
	t.Helper()
	ports, err := process.FreePorts(3)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range ports { // where no client and no other test can take one meanwhile
		ports[i] = strings.Replace(p, "127.0.0.1", "127.95.0.1", 1)
	}
	signals := make(chan os.Signal, 2)
	errout := &watchedBuffer{want: "stop", seen: make(chan struct{})}
	ended := make(chan int, 1)
	go func() {
		ended <- Main(context.Background(),
			append([]string{"start", "--http", ports[0], "--gossip", ports[1], "--rpc", ports[2]}, args...),
			Env{
				Stdin: strings.NewReader(""), Stdout: &bytes.Buffer{}, Stderr: errout,
				Lookup: func(string) (string, bool) { return "", false }, Signals: signals,
				Executable: "crawlnode", Version: "test",
			})
	}()
	t.Cleanup(func() {
		signals <- syscall.SIGTERM
		if code := <-ended; code != command.ExitOK {
			t.Errorf("exit code %d:\n%s", code, errout.text())
		}
	})
	select {
	case <-errout.seen:
	case code := <-ended:
		ended <- code // for the end of the test
		t.Fatalf("the node ended with code %d:\n%s", code, errout.text())
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ask := []string{"status", "--check", "ready", "--addr", ports[0]}
	if i := slices.Index(args, "--cluster-key-file"); i >= 0 {
		ask = append(ask, args[i:i+2]...)
	}
	for run(t, "", ask...).code != command.ExitOK {
		if !command.Pause(ctx, readyLook) {
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
	run(t, "", "keygen", key).want(t, command.ExitOK, "", "")
	run(t, "", "keygen", other).want(t, command.ExitOK, "", "")
	common := []string{"--allow-net", "127.0.0.0/8", "--dns", server.DNS.String(),
		"--cluster-key-file", key, "--partitions", "512", "--drain-timeout", "2s"}
	first, second := filepath.Join(t.TempDir(), "n1"), filepath.Join(t.TempDir(), "n2")
	http1, gossip1 := startBeside(t, append(common, "--name", "n1", "--data-dir", first)...)
	http2, gossip2 := startBeside(t,
		append(common, "--name", "n2", "--data-dir", second, "--join", gossip1)...)

	diagnosed(t, command.ExitOK, [][3]string{
		{"port of --http", doctor.LevelOK, "in use by this node"},
		{"gossip to " + gossip1 + ", TCP", doctor.LevelOK, "open"},
		{"gossip to " + gossip1 + ", UDP", doctor.LevelOK, "answers in"},
		{"calls to", doctor.LevelOK, "answered"},
		{"clock against n1", doctor.LevelOK, ""},
		{"way back from n1", doctor.LevelOK, "heard this node"},
	}, append(common, "--name", "n2", "--data-dir", second, "--http", http2, "--gossip", gossip2,
		"--join", gossip1+","+gossip2)...)

	ports := []string{"--http", "127.0.0.1:0", "--gossip", "127.0.0.1:0", "--rpc", "127.0.0.1:0",
		"--data-dir", filepath.Join(t.TempDir(), "n3"), "--join", gossip1}
	diagnosed(t, command.ExitOK, [][3]string{
		{"calls to", doctor.LevelOK, "answered"},
		{"way back from n1", doctor.LevelWarn, "start it"},
	}, append(common, append(ports, "--addr", http1)...)...)

	diagnosed(t, command.ExitCluster, [][3]string{
		{"gossip to " + gossip1 + ", UDP", doctor.LevelFail, "--cluster"},
	}, append(common, append(ports, "--cluster", "another")...)...)
	diagnosed(t, command.ExitCluster, [][3]string{
		{"gossip to " + gossip1 + ", UDP", doctor.LevelFail, "another key"},
	}, append(replaced(common, "--cluster-key-file", other), append(ports, "--addr", http1)...)...)
}
