package integration

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"crawlnode/metrics"
	"crawlnode/simweb"
)

// metricHosts is how many hosts TestMetricsOfManyHosts crawls.
var metricHosts = flag.Int("metrichosts", 1000, "hosts of TestMetricsOfManyHosts")

// maxSeries bounds the series of a node, whatever it crawls.
const maxSeries = 2000

// tool runs a program that the system must have, and returns what it prints.
func tool(t *testing.T, stdin string, argv ...string) string {
	t.Helper()
	needsPrograms(t, argv[0])
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v\n%s", strings.Join(argv, " "), err, out)
	}
	return string(out)
}

// TestAlertRules has Prometheus' own tool read the rules and run their tests.
func TestAlertRules(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	out := tool(t, "", "promtool", "check", "rules", "../deploy/prometheus/alerts.yml")
	if !strings.Contains(out, "SUCCESS") {
		t.Error(out)
	}
	tool(t, "", "promtool", "test", "rules", "../deploy/prometheus/alerts_test.yml")
	tool(t, "", "promtool", "check", "config", "../deploy/prometheus/prometheus.yml")
}

// TestSystemdUnit has systemd's own tool read the unit, with the program where
// the unit wants it, and say how much of the machine is open to it.
func TestSystemdUnit(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	raw, err := os.ReadFile("../deploy/systemd/crawlnode.service")
	if err != nil {
		t.Fatal(err)
	}
	unit := filepath.Join(t.TempDir(), "crawlnode.service")
	text := strings.Replace(string(raw), "/usr/local/bin/crawlnode ", binary(t)+" ", 1)
	if err := os.WriteFile(unit, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	// Its messages about other units of this machine are ignored.
	out := tool(t, "", "systemd-analyze", "verify", "--recursive-errors=no", "--man=no", unit)
	for line := range strings.SplitSeq(out, "\n") {
		if strings.Contains(line, "crawlnode.service") {
			t.Error(line)
		}
	}
	// From 0 (nothing is open) to 10. What is left is the network, which a crawler needs, and /proc,
	// in which a node sees that another one of this machine has ended.
	if out := tool(t, "", "systemd-analyze", "security", "--offline=true", "--threshold=15",
		unit); !strings.Contains(out, "Overall exposure level") {
		t.Error(out)
	}
}

// series returns the names, with labels, of all series of a node, and the text
// in which they stand.
func (n *node) series() (names []string, text string) {
	n.c.t.Helper()
	code, body, err := n.get("/metrics")
	if err != nil || code != http.StatusOK {
		n.c.t.Fatalf("/metrics: status %d, %v", code, err)
	}
	for line := range strings.SplitSeq(string(body), "\n") {
		if line != "" && line[0] != '#' {
			names = append(names, line[:strings.LastIndexByte(line, ' ')])
		}
	}
	return names, string(body)
}

// The number of series does not depend on the number of hosts, no label shows
// one, and Prometheus' linter has nothing to say.
func TestMetricsOfManyHosts(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	web, srv := serveSimweb(t, simweb.Config{
		Seed:         11,
		Hosts:        *metricHosts,
		PagesPerHost: 2,
		PageBytes:    2000,
		Skew:         -1,
		Redirects:    30,
		Missing:      20,
	})
	c := simCluster(t, srv, 0, "--scope", "domain")
	c.addReady(1)
	n := c.nodes[0]
	before, _ := n.series()
	n.seed(web.Seeds()...)
	c.finished(time.Minute + time.Duration(*metricHosts)*10*time.Millisecond)
	after, text := n.series()

	if len(after) > maxSeries || len(after) != len(before) {
		t.Errorf("%d series after %d hosts, %d before; at most %d, and as many as before", len(after),
			*metricHosts, len(before), maxSeries)
	}
	if strings.Contains(text, web.Domain()) || strings.Contains(text, "http://") {
		t.Error("a host or a URL stands in the metrics")
	}
	if out := tool(t, text, "promtool", "check", "metrics"); strings.TrimSpace(out) != "" {
		t.Errorf("promtool check metrics: %s", out)
	}
	for _, m := range metrics.Reference() {
		if !missingHere(m.Name) && !strings.Contains(text, "\n# TYPE "+m.Name+" "+m.Type+"\n") {
			t.Errorf("docs/metrics.md names %s %s, the node does not", m.Type, m.Name)
		}
	}
	for _, want := range []string{
		fmt.Sprintf("crawlnode_pages_total %d", web.Report().Reachable),
		`crawlnode_crawl_state{state="finished"} 1`, "crawlnode_ready 1",
		`crawlnode_partitions{role="replica"} 0`,
	} {
		if !strings.Contains(text, "\n"+want+"\n") {
			t.Errorf("no line %q", want)
		}
	}
	for _, name := range []string{"response", "dns_lookup", "frontier_commit"} {
		if m := regexp.MustCompile(`\ncrawlnode_` + name +
			`_duration_seconds_count ([1-9]\d*)\n`).FindString(text); m == "" {
			t.Errorf("nothing was measured of %s_duration_seconds", name)
		}
	}
	t.Logf("%d series after %d hosts and %d pages", len(after), *metricHosts, web.Report().Pages)
	c.stop()
}

// missingHere reports whether a metric, as its help says, is missing on a node that is alone,
// visits no page again, and has neither an index nor a browser nor a webhook.
func missingHere(name string) bool {
	switch name {
	case "crawlnode_lease_remaining_seconds", "crawlnode_revisits_due",
		"crawlnode_revisits_late_seconds", "crawlnode_revisits_price_seconds",
		"crawlnode_revisits_capacity", "crawlnode_freshness_expected_ratio",
		"crawlnode_index_documents", "crawlnode_index_bytes", "crawlnode_index_waiting",
		"crawlnode_index_behind_seconds",
		"crawlnode_render_queued", "crawlnode_render_busy", "crawlnode_render_max",
		"crawlnode_render_duration_seconds",
		"crawlnode_upload_queued_files", "crawlnode_upload_stored_bytes",
		"crawlnode_upload_behind_seconds",
		"crawlnode_webhook_queued_events", "crawlnode_webhook_behind_seconds":
		return true
	}
	return false
}
