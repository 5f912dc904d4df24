package integration

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var traceTurns = flag.Int("traceturns", 0, "run TestTraceCost with so many pairs of crawls")

// TestTraceCost crawls by turns with traces, at the default sample and to a collector that takes
// them, and without: the ratio is that of the CPU a page without them by that with them.
func TestTraceCost(t *testing.T) {
	onRequest(t, *traceTurns != 0,
		"takes minutes, and processors of its own; run with -traceturns 7")
	needsProcesses(t)
	spans := collectSpans(t)
	traced := filepath.Join(t.TempDir(), "traced")
	script := fmt.Sprintf("#!/bin/sh\nCRAWLNODE_OTLP_ENDPOINT=http://%s exec %s \"$@\"\n", spans.addr,
		binary(t))
	if err := os.WriteFile(traced, []byte(script), 0o700); err != nil { //nolint:gosec // it is a program
		t.Fatal(err)
	}
	out, err := exec.Command(binary(t), "bench", "--against", traced, "--hosts", "100",
		"--pages-per-host", "50", "--pairs", fmt.Sprint(*traceTurns)).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if spans.count("visit") == 0 {
		t.Error("nothing was traced")
	}
	t.Logf("load %s, %d spans\n%s", loadAverage(), spans.count(""), strings.TrimSpace(string(out)))
}
