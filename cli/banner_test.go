package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"crawlnode/node"
)

// TestBanner reads the next commands as a shell would.
func TestBanner(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	s := &session{
		env:     &Env{Stderr: &b, Executable: "/opt/bin/crawlnode", Version: "v1\x1b"},
		carried: []string{"--exclude", "glob:*'a b'"},
	}
	s.cfg.ClusterKeyFile, s.cfg.DataDir = "my key", "/data/n9"
	s.banner(node.Info{
		ID:        "id",
		Name:      "n9",
		Cluster:   "default",
		HTTP:      "0.0.0.0:27295",
		Gossip:    "192.0.2.1:27296",
		RPC:       "192.0.2.1:27297",
		DataDir:   "/data/n9",
		Secure:    "no key; loopback only",
		FreeBytes: 5 << 30,
	})
	for _, want := range []string{
		`crawlnode v1\x1b`, "node        n9 (id)", "cluster     default",
		"dashboard   https://127.0.0.1:27295/", "api         https://127.0.0.1:27295/status",
		"gossip      192.0.2.1:27296", "rpc         192.0.2.1:27297",
		"data        /data/n9 (5.0 GiB free)", "security    no key; loopback only", "contact     none: ",
		`add a node  /opt/bin/crawlnode --name n10 --data-dir /data/n10 --join 192.0.2.1:27296 --exclude 'glob:*'\''a b'\'''`,
		"add work    /opt/bin/crawlnode seeds add https://example.org/ --addr 127.0.0.1:27295 " +
			"--cluster-key-file 'my key'", "stop        kill ",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, b.String())
		}
	}
}

func TestNextNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"n1":         "n2",
		"crawler-09": "crawler-10",
		"web":        "",
		"7":          "",
		"n999":       "n1000",
	} {
		if got := nextName(name); got != want {
			t.Errorf("after %q comes %q, want %q", name, got, want)
		}
	}
	if got := nextDir("/data/x/", ""); got != "/data/x-2" {
		t.Errorf("beside /data/x/ comes %q", got)
	}
}

// TestOwnCommand finds what a person types for the program.
func TestOwnCommand(t *testing.T) {
	t.Parallel()
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(wd, "bin", "crawlnode"): "./bin/crawlnode",
		"/nowhere/crawlnode":                  "/nowhere/crawlnode",
	} {
		if got := ownCommand(path); got != want {
			t.Errorf("%s is called by %s, want %s", path, got, want)
		}
	}
}

// TestCarried gives the next node what this one was given on the command line.
func TestCarried(t *testing.T) {
	t.Parallel()
	v := &startVerb{}
	v.SetGiven(map[string]bool{
		"name":          true,
		"http":          true,
		"rpc":           true,
		"sync":          true,
		"allow-net":     true,
		"dns":           true,
		"contact":       true,
		"focus-min":     true,
		"debug-addr":    true,
		"frontier-addr": true,
		"webhook":       true,
	})
	v.Output.Webhooks = []string{"https://hooks.example.org/hunter2"} // shown nowhere
	v.Node.Name, v.Node.HTTP, v.Node.RPC, v.Node.DNS = "n1", "127.0.0.1:1", "0.0.0.0:3",
		[]string{"127.0.0.1:53", "127.0.0.2:53"}
	v.Output.Sync, v.Politeness.Contact = true, "me@example.org"
	// another node here cannot listen there
	v.Node.DebugAddr, v.Node.FrontierAddr = "127.0.0.1:6060", "127.0.0.1:6061"
	carried := func() string {
		return strings.Join(v.carried(&Env{Lookup: func(string) (string, bool) { return "", false }}),
			" ")
	}
	got := carried()
	if want := "--rpc 0.0.0.0:3 --dns 127.0.0.1:53 --dns 127.0.0.2:53 --contact me@example.org " +
		"--sync=true"; got != want {
		t.Errorf("carried %q, want %q", got, want)
	}
	v.Node.FrontierAddr = "0.0.0.0:6061"
	if got := carried(); !strings.Contains(got, "--frontier-addr 0.0.0.0:6061") {
		t.Errorf("beyond this machine: %q", got)
	}
}
