package crawlnode

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"crawlnode/config"
	"crawlnode/metrics"
)

// document is YAML or JSON whose shape is looked at piece by piece.
type document = map[string]any

// documents reads all YAML documents of a file.
func documents(t *testing.T, path string) (ds []document) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	dec := yaml.NewDecoder(bytes.NewReader(raw))
	for {
		var d document
		if err := dec.Decode(&d); errors.Is(err, io.EOF) {
			return ds
		} else if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		ds = append(ds, d)
	}
}

// at walks down maps by key and lists by number; it returns nil for what is not there.
func at(v any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			m, _ := v.(document)
			v = m[step]
		case int:
			l, _ := v.([]any)
			if step >= len(l) {
				return nil
			}
			v = l[step]
		}
	}
	return v
}

// texts turns a list of scalars into strings.
func texts(v any) (out []string) {
	l, _ := v.([]any)
	for _, x := range l {
		s, _ := x.(string)
		out = append(out, s)
	}
	return out
}

// seriesName finds what an expression of Prometheus reads.
var seriesName = regexp.MustCompile(`\b(?:crawlnode|process|go)_[a-z0-9_]+`)

// foreignSeries are those of the client library that dashboard and alerts use.
var foreignSeries = []string{"process_cpu_seconds_total", "process_resident_memory_bytes",
	"process_open_fds", "process_max_fds",
	"process_start_time_seconds", "go_memstats_heap_inuse_bytes", "go_goroutines"}

// checkExpression says which series of an expression no node has.
func checkExpression(t *testing.T, where, expr string) {
	t.Helper()
	known := map[string]string{}
	for _, m := range metrics.Reference() {
		if m.Type == "histogram" {
			known[m.Name+"_bucket"], known[m.Name+"_sum"], known[m.Name+"_count"] = m.Type, m.Type, m.Type
		} else {
			known[m.Name] = m.Type
		}
	}
	for _, name := range foreignSeries {
		known[name] = "the client library's"
	}
	for _, name := range seriesName.FindAllString(expr, -1) {
		if known[name] == "" {
			t.Errorf("%s reads %s, which no node has", where, name)
		}
	}
	for _, m := range regexp.MustCompile(`\brate\(([a-z_]+)`).FindAllStringSubmatch(expr, -1) {
		if known[m[1]] == "gauge" {
			t.Errorf("%s takes the rate of %s, a gauge", where, m[1])
		}
	}
}

// TestDashboard: each panel asks for figures that exist, and none is of no data source.
func TestDashboard(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("deploy/grafana/crawlnode.json")
	if err != nil {
		t.Fatal(err)
	}
	var d document
	if err := json.Unmarshal(raw, &d); err != nil {
		t.Fatal(err)
	}
	panels, _ := at(d, "panels").([]any)
	expressions, ids := 0, map[any]bool{}
	for _, p := range panels {
		title, _ := at(p, "title").(string)
		if id := at(p, "id"); ids[id] || title == "" {
			t.Errorf("panel %v %q has no title, or another's id", id, title)
		} else {
			ids[id] = true
		}
		targets, _ := at(p, "targets").([]any)
		if at(p, "type") != "row" && len(targets) == 0 {
			t.Errorf("panel %q shows nothing", title)
		}
		for _, target := range targets {
			expr, _ := at(target, "expr").(string)
			checkExpression(t, "panel "+title, expr)
			if !seriesName.MatchString(expr) || at(target, "datasource", "uid") != "${datasource}" {
				t.Errorf("panel %q: %q reads nothing, or from a fixed source", title, expr)
			}
			expressions++
		}
	}
	if expressions < 30 {
		t.Errorf("%d expressions in %d panels: the dashboard was not read", expressions, len(panels))
	}
}

// TestAlerts: each alert reads figures that exist, has a test of its own, and a
// paragraph about what to do.
func TestAlerts(t *testing.T) {
	t.Parallel()
	operations, err := os.ReadFile("docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	tested := map[string]bool{}
	tests, _ := at(documents(t, "deploy/prometheus/alerts_test.yml")[0], "tests").([]any)
	for _, c := range tests {
		rules, _ := at(c, "alert_rule_test").([]any)
		for _, r := range rules {
			if fires, _ := at(r, "exp_alerts").([]any); len(fires) > 0 {
				name, _ := at(r, "alertname").(string)
				tested[name] = true
			}
		}
	}
	rules, _ := at(documents(t, "deploy/prometheus/alerts.yml")[0], "groups", 0, "rules").([]any)
	if len(rules) < 15 {
		t.Fatalf("%d rules were read", len(rules))
	}
	paragraphs := strings.Count(string(operations), "\n### Crawlnode")
	if paragraphs != len(rules) {
		t.Errorf("%d paragraphs for %d alerts", paragraphs, len(rules))
	}
	for _, r := range rules {
		name, _ := at(r, "alert").(string)
		expr, _ := at(r, "expr").(string)
		checkExpression(t, name, expr)
		if !tested[name] {
			t.Errorf("%s never fires in alerts_test.yml", name)
		}
		if want := "docs/operations.md#" +
			strings.ToLower(name); at(r, "annotations", "runbook_url") != want {
			t.Errorf("%s: its runbook_url is %v, want %s", name, at(r, "annotations", "runbook_url"), want)
		}
		_, paragraph, found := strings.Cut(string(operations), "\n### "+name+"\n")
		paragraph, _, _ = strings.Cut(paragraph, "\n#")
		if !found || len(strings.TrimSpace(paragraph)) < 80 {
			t.Errorf("%s has no paragraph in docs/operations.md that says what to do", name)
		}
		if severity := at(r, "labels", "severity"); severity != "critical" && severity != "warning" {
			t.Errorf("%s: severity %v", name, severity)
		}
	}
}

// flags are the names of all flags of start.
func flags() map[string]bool {
	names := map[string]bool{"config": true}
	var walk func(reflect.Type)
	walk = func(typ reflect.Type) {
		for i := range typ.NumField() {
			f := typ.Field(i)
			if _, embedded := f.Tag.Lookup("embed"); embedded {
				walk(f.Type)
			} else if name, ok := f.Tag.Lookup("name"); ok {
				names[name] = true
			} else {
				names[strings.ToLower(f.Name)] = true
			}
		}
	}
	walk(reflect.TypeFor[config.Config]())
	return names
}

// checkFlags reports words that look like flags of start and are none.
func checkFlags(t *testing.T, where string, words []string) {
	t.Helper()
	known := flags()
	for _, w := range words {
		name, isFlag := strings.CutPrefix(w, "--")
		name, _, _ = strings.Cut(name, "=")
		if isFlag && !known[name] {
			t.Errorf("%s: --%s is no flag of start", where, name)
		}
	}
}

// seconds reads a duration of Go, or a number of seconds.
func seconds(t *testing.T, v any) float64 {
	t.Helper()
	switch v := v.(type) {
	case int:
		return float64(v)
	case string:
		if d, err := time.ParseDuration(v); err == nil {
			return d.Seconds()
		}
	}
	t.Fatalf("%v is no duration", v)
	return 0
}

// TestKubernetes checks by hand what a cluster would refuse or, worse, take.
func TestKubernetes(t *testing.T) {
	t.Parallel()
	byKind := map[string]document{}
	labels := document{"app": "crawlnode"}
	for _, d := range documents(t, "deploy/kubernetes/crawlnode.yaml") {
		kind, _ := d["kind"].(string)
		name, _ := at(d, "metadata", "name").(string)
		byKind[kind+" "+name] = d
		if !reflect.DeepEqual(at(d, "metadata", "labels"), any(labels)) {
			t.Errorf("%s %s: labels %v", kind, name, at(d, "metadata", "labels"))
		}
	}
	set := byKind["StatefulSet crawlnode"]
	pod := at(set, "spec", "template", "spec")
	node := at(pod, "containers", 0)
	for _, selector := range []any{at(set, "spec", "selector", "matchLabels"),
		at(set, "spec", "template", "metadata", "labels"),
		at(byKind["Service crawlnode"], "spec", "selector"),
		at(byKind["Service crawlnode-api"], "spec", "selector"),
		at(byKind["PodDisruptionBudget crawlnode"], "spec", "selector", "matchLabels")} {
		if !reflect.DeepEqual(selector, any(labels)) {
			t.Errorf("a selector is %v, not %v", selector, labels)
		}
	}
	if headless := byKind["Service crawlnode"]; at(headless, "spec", "clusterIP") != "None" ||
		at(headless, "spec", "publishNotReadyAddresses") != true ||
		at(set, "spec", "serviceName") != "crawlnode" ||
		at(set, "spec", "podManagementPolicy") != "Parallel" {
		t.Error("nodes that are not ready yet cannot find each other")
	}
	args := texts(at(node, "args"))
	checkFlags(t, "kubernetes", args)
	drain := ""
	for _, a := range args {
		if v, ok := strings.CutPrefix(a, "--drain-timeout="); ok {
			drain = v
		}
		if list, ok := strings.CutPrefix(a, "--join="); ok &&
			!strings.HasPrefix(list, "crawlnode-0.crawlnode:27296,") {
			t.Errorf("the first pod does not found: --join=%s", list)
		}
	}
	if grace := seconds(t, at(pod, "terminationGracePeriodSeconds")); grace <= seconds(t, drain)+5 {
		t.Errorf("a pod is killed after %v s, a drain may take %s", grace, drain)
	}
	ports := map[any]any{}
	list, _ := at(node, "ports").([]any)
	for _, p := range list {
		ports[at(p, "name")] = at(p, "containerPort")
	}
	for probe, path := range map[string]string{
		"readinessProbe": "/readyz",
		"livenessProbe":  "/livez",
		"startupProbe":   "/livez",
	} {
		get := at(node, probe, "httpGet")
		if at(get, "path") != path || at(get, "scheme") != "HTTPS" || ports[at(get, "port")] == nil {
			t.Errorf("%s asks %v", probe, get)
		}
	}
	if !reflect.DeepEqual(ports,
		map[any]any{"http": 27295, "gossip": 27296, "gossip-udp": 27296, "rpc": 27297}) {
		t.Errorf("ports %v", ports)
	}
	if at(pod, "volumes", 0, "secret", "defaultMode") != 0o440 ||
		at(pod, "securityContext", "fsGroup") != at(pod, "securityContext", "runAsUser") {
		t.Error("the node's user cannot read the key, or everybody can")
	}
	if at(byKind["PodDisruptionBudget crawlnode"], "spec", "maxUnavailable") != 1 {
		t.Error("more nodes may go at once than copies allow")
	}
}

// TestCompose checks the composition's references, and the flags and variables.
func TestCompose(t *testing.T) {
	t.Parallel()
	c := documents(t, "deploy/compose.yaml")[0]
	services, _ := at(c, "services").(document)
	if names := slices.Sorted(maps.Keys(services)); !slices.Equal(names,
		[]string{"key", "n1", "n2", "n3", "web"}) {
		t.Fatalf("services %v", names)
	}
	known := flags()
	for name, s := range services {
		for _, v := range texts(at(s, "volumes")) {
			volume, _, _ := strings.Cut(v, ":")
			if _, ok := at(c, "volumes").(document)[volume]; !ok {
				t.Errorf("%s: volume %s is not declared", name, volume)
			}
		}
		waits, _ := at(s, "depends_on").(document)
		for other := range waits {
			if services[other] == nil {
				t.Errorf("%s waits for %s, which is not there", name, other)
			}
		}
		if at(s, "build", "dockerfile") != "deploy/Dockerfile" || at(s, "build", "context") != ".." {
			t.Errorf("%s is built from %v", name, at(s, "build"))
		}
		command := texts(at(s, "command"))
		if command[0] != "start" {
			continue
		}
		checkFlags(t, "compose "+name, command)
		env, _ := at(s, "environment").(document)
		for variable := range env {
			if flag := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(variable, "CRAWLNODE_"), "_",
				"-")); !known[flag] {
				t.Errorf("%s: %s sets no flag", name, variable)
			}
		}
		if grace := seconds(t, at(s, "stop_grace_period")); grace <=
			seconds(t, env["CRAWLNODE_DRAIN_TIMEOUT"])+5 {
			t.Errorf("%s is killed after %v s, a drain may take %v", name, grace,
				env["CRAWLNODE_DRAIN_TIMEOUT"])
		}
	}
}

// TestDockerfile: what it copies is there, and it runs as nobody in particular.
func TestDockerfile(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("deploy/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	for _, want := range []string{"\nFROM scratch\n", "CGO_ENABLED=0", "-trimpath",
		"\nUSER 65532:65532\n", "\nSTOPSIGNAL SIGTERM\n",
		`CMD ["/crawlnode", "status", "--check", "ready"]`, "ca-certificates.crt",
		"\nENTRYPOINT [\"/crawlnode\"]\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q", want)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^COPY ([^-].*) \S+$`).FindAllStringSubmatch(text, -1) {
		for _, file := range strings.Fields(m[1]) {
			if _, err := os.Stat(file); err != nil {
				t.Errorf("COPY: %v", err)
			}
		}
	}
	known := flags()
	for _, m := range regexp.MustCompile(`CRAWLNODE_([A-Z_]+)=`).FindAllStringSubmatch(text, -1) {
		if flag := strings.ToLower(strings.ReplaceAll(m[1], "_", "-")); !known[flag] {
			t.Errorf("ENV CRAWLNODE_%s sets no flag", m[1])
		}
	}
}

// TestSystemd: the unit drains, gives it the time, and its settings exist.
func TestSystemd(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("deploy/systemd/crawlnode.service")
	if err != nil {
		t.Fatal(err)
	}
	unit := map[string]string{}
	for _, line := range strings.Split(string(raw), "\n") {
		if key, value, ok := strings.Cut(line, "="); ok && line[0] != '#' {
			unit[key] = value
		}
	}
	settings := documents(t, "deploy/systemd/crawlnode.yaml")[0]
	for key := range settings {
		if !flags()[key] {
			t.Errorf("crawlnode.yaml: %s is no setting", key)
		}
	}
	checkFlags(t, "crawlnode.service", strings.Fields(unit["ExecStart"]))
	stop := unit["TimeoutStopSec"] + "s"
	if unit["KillSignal"] != "SIGTERM" || unit["Type"] != "notify" ||
		seconds(t, stop) <= seconds(t, settings["drain-timeout"])+5 {
		t.Errorf("a stop is %s and %s, a drain may take %v", unit["KillSignal"], stop,
			settings["drain-timeout"])
	}
	for _, key := range []string{"NoNewPrivileges", "ProtectHome", "PrivateTmp",
		"MemoryDenyWriteExecute"} {
		if unit[key] != "yes" {
			t.Errorf("%s is %q", key, unit[key])
		}
	}
	if unit["ProtectSystem"] != "strict" || unit["User"] != "crawlnode" {
		t.Error("the node may write anywhere, or runs as root")
	}
}

// TestLicences: the file of licences is what the linked modules say.
func TestLicences(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile("THIRD_PARTY_LICENSES")
	if err != nil {
		t.Fatal(err)
	}
	got, err := exec.Command(".ci/licenses").Output()
	if err != nil {
		t.Fatalf(".ci/licenses: %v", err)
	}
	if !bytes.Equal(got, want) {
		t.Error("THIRD_PARTY_LICENSES is not what .ci/licenses writes: make generate")
	}
	linked, err := exec.Command("go", "list", "-deps", "-f",
		"{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{end}}{{end}}",
		"./cmd/crawlnode").Output()
	if err != nil {
		t.Fatal(err)
	}
	modules := slices.Compact(
		slices.Sorted(slices.Values(strings.Fields(strings.ReplaceAll(string(linked), " ", "@")))))
	if len(modules) < 10 {
		t.Fatalf("%d modules are linked", len(modules))
	}
	for _, m := range modules {
		if !strings.Contains(string(want), "\n"+strings.Replace(m, "@", " ", 1)+"\n") {
			t.Errorf("%s is linked and not listed", m)
		}
	}
	for _, must := range []string{"Mozilla Public License",
		"https://github.com/hashicorp/memberlist"} {
		if !strings.Contains(string(want), must) {
			t.Errorf("no %q: the source of what is under the MPL must be named", must)
		}
	}
}
