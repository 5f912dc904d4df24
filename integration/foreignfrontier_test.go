package integration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// TestForeignFrontierClient has integration/grpcjs make every call of the URLFrontier contract at a
// node: a client with other libraries, which reads the contract by itself.
func TestForeignFrontierClient(t *testing.T) {
	needsProcesses(t)
	dir := needsPackages(t, "grpcjs", filepath.Join("@grpc", "grpc-js"))
	t.Parallel()
	const hosts, pages = 2, 3
	site := serveTree(t, hosts, pages)
	c := newCluster(t, "--allow-net", "127.0.0.0/8", "--delay", "10ms", "--fetch", "off")
	at := fmt.Sprint("127.0.0.1:", freePort(t))
	n := c.add("--frontier-addr", at)
	n.ready()
	var about struct {
		Hosts []string   `json:"hosts"`
		URLs  [][]string `json:"urls"`
	}
	for h := range hosts {
		about.Hosts = append(about.Hosts, fmt.Sprint("127.0.0.", h+1))
		var urls []string
		for p := range pages {
			urls = append(urls, site.page(h, p))
		}
		about.URLs = append(about.URLs, urls)
	}
	given, err := json.Marshal(about)
	if err != nil {
		t.Fatal(err)
	}
	proto, err := filepath.Abs("../workers/urlfrontier/wire/urlfrontier.proto")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", "client.mjs", at, proto, n.http)
	cmd.Dir, cmd.Stdin, cmd.Stderr = dir, bytes.NewReader(given), t.Output()
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var found struct{ Calls, Errors []string }
	if err := json.Unmarshal(out, &found); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	for _, wrong := range found.Errors {
		t.Error(wrong)
	}
	if want := slices.Sorted(maps.Keys(descriptor())); !slices.Equal(found.Calls, want) {
		t.Errorf("it made the calls %q, the contract has %q", found.Calls, want)
	}
	c.stop()
}
