package integration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"crawlnode/crawl"
)

const (
	chart = "../deploy/helm"
	// kubeVersion is what helm takes the cluster for: one that go install has built knows no newer
	// version than 1.20 by itself.
	kubeVersion = "1.34.0"
)

// helm runs helm, which make deps installs, with nothing of its user's.
func helm(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	path := "../bin/helm"
	if _, err := os.Stat(path); err != nil {
		if path, err = exec.LookPath("helm"); err != nil {
			unable(t, "needs helm, which make deps installs")
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	home := t.TempDir()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"),
		"KUBECONFIG=" + filepath.Join(home, "none")}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

// rendered are the objects of the chart with these values, YAML.
func rendered(t *testing.T, values string, args ...string) []manifestObject {
	t.Helper()
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, []byte(values), 0o600); err != nil {
		t.Fatal(err)
	}
	out, errs, err := helm(t, append([]string{"template", "crawlnode", chart, "--kube-version",
		kubeVersion, "--namespace", "crawl", "-f", file}, args...)...)
	if err != nil {
		t.Fatalf("helm template: %v\n%s", err, errs)
	}
	var objects []manifestObject
	for dec := yaml.NewDecoder(strings.NewReader(out)); ; {
		var o manifestObject
		if err := dec.Decode(&o); errors.Is(err, io.EOF) {
			return objects
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, out)
		}
		if o != nil {
			objects = append(objects, o)
		}
	}
}

// find returns the object of a kind and a name.
func find(t *testing.T, objects []manifestObject, kind, name string) manifestObject {
	t.Helper()
	for _, o := range objects {
		if o["kind"] == kind && dig(o, "metadata", "name") == name {
			return o
		}
	}
	t.Fatalf("there is no %s %s", kind, name)
	return nil
}

// dig walks down maps by key and lists by number; nil: it is not there.
func dig(v any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			m, _ := v.(manifestObject)
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

// withoutHelm removes the labels that helm and its users look for; what selects stays.
func withoutHelm(v any) {
	switch v := v.(type) {
	case manifestObject:
		for key, value := range v {
			if strings.HasPrefix(key, "helm.sh/") || strings.HasPrefix(key, "app.kubernetes.io/") {
				delete(v, key)
			} else {
				withoutHelm(value)
			}
		}
	case []any:
		for _, value := range v {
			withoutHelm(value)
		}
	}
}

// TestHelmChart: the chart is well-formed, its defaults are the manifests, and what its values make
// is valid by the schemas of Kubernetes.
func TestHelmChart(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	if out, errs, err := helm(t, "lint", "--strict", "--kube-version", kubeVersion, chart); err !=
		nil {
		t.Errorf("helm lint: %v\n%s%s", err, out, errs)
	}

	want, got := readManifests(t, "../deploy/kubernetes/crawlnode.yaml"), rendered(t, "", "--no-hooks")
	for _, o := range got {
		withoutHelm(o)
	}
	if len(got) != len(want) {
		t.Errorf("%d objects, and %d in the manifests", len(got), len(want))
	}
	for _, o := range want {
		kind, _ := o["kind"].(string)
		name, _ := dig(o, "metadata", "name").(string)
		if have := find(t, got, kind, name); !reflect.DeepEqual(have, o) {
			a, _ := yaml.Marshal(have)
			b, _ := yaml.Marshal(o)
			t.Errorf("%s %s of the chart:\n%s\nand of the manifests:\n%s", kind, name, a, b)
		}
	}

	for name, tc := range map[string]struct {
		values string
		kinds  string
		check  func(t *testing.T, objects []manifestObject)
	}{
		"defaults": {"", "Pod PodDisruptionBudget Service Service StatefulSet",
			func(*testing.T, []manifestObject) {}},
		"everything": {everyValue,
			"Ingress Pod Secret Service Service ServiceAccount ServiceMonitor StatefulSet",
			func(t *testing.T, objects []manifestObject) {
				set := find(t, objects, "StatefulSet", "web")
				args := fmt.Sprint(dig(set, "spec", "template", "spec", "containers", 0, "args"))
				for _, want := range []string{"--join=web-0.web:27296,web-1.web:27296,web-2.web:27296",
					"--contact=me@example.org", "--drain-timeout=100s", "--seed=https://a.test/?x={{ .Values }}",
					"--webhook=https://hooks.example.org/", "--secrets=/secrets/secrets", "--max-pages=1000000",
					"--delay=2s", "--exclude=glob:*/a", "--exclude=glob:*/b", "--assets=true",
					"--priority=depth=0.5", "--dns=127.0.0.1:53"} {
					if !strings.Contains(args, want) {
						t.Errorf("no %s in %s", want, args)
					}
				}
				if dig(set, "spec", "replicas") != 5 ||
					dig(set, "spec", "template", "spec", "terminationGracePeriodSeconds") != 115 {
					t.Errorf("%v", dig(set, "spec"))
				}
				key := find(t, objects, "Secret", "web-key")
				if dig(key, "stringData", "the.key") != "a key" {
					t.Errorf("%v", key)
				}
				monitor := find(t, objects, "ServiceMonitor", "web")
				if dig(monitor, "spec", "endpoints", 0, "authorization", "credentials", "name") != "scrape" ||
					dig(monitor, "metadata", "labels", "release") != "prometheus" {
					t.Errorf("%v", monitor)
				}
				if dig(find(t, objects, "Ingress", "web"), "spec", "rules", 0, "http", "paths", 0, "backend",
					"service", "name") != "web-api" {
					t.Error("the ingress leads elsewhere")
				}
			}},
		"one node": {"nodes: 1", "Pod PodDisruptionBudget Service Service StatefulSet",
			func(t *testing.T, objects []manifestObject) {
				if args := fmt.Sprint(dig(find(t, objects, "StatefulSet", "crawlnode"), "spec", "template",
					"spec", "containers", 0,
					"args")); !strings.Contains(args, " --join=crawlnode-0.crawlnode:27296 ") {
					t.Error(args)
				}
			}},
	} {
		t.Run(name, func(t *testing.T) {
			objects := rendered(t, tc.values)
			var kinds []string
			var known []manifestObject
			for _, o := range objects {
				kind, _ := o["kind"].(string)
				kinds = append(kinds, kind)
				if kind != "ServiceMonitor" { // its schema is not Kubernetes' own
					known = append(known, o)
				}
			}
			slices.Sort(kinds)
			if got := strings.Join(kinds, " "); got != tc.kinds {
				t.Errorf("objects: %s, want %s", got, tc.kinds)
			}
			tc.check(t, objects)
			for i, said := range complaints(t, known) {
				if len(said) > 0 {
					t.Errorf("%s: %s", known[i]["kind"], strings.Join(said, "; "))
				}
			}
		})
	}
}

// TestHelmNotes: what is said after an installation names the commands that work there. Helm shows
// it when it installs; here a copy of the chart has the text as a value.
func TestHelmNotes(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	copied := filepath.Join(t.TempDir(), "crawlnode")
	if err := os.CopyFS(copied, os.DirFS(chart)); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(copied, "templates", "NOTES.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"_notes.tpl": `{{ define "notes" }}` + string(text) + "{{ end }}",
		"notes.yaml": `notes: {{ include "notes" . | quote }}`,
	} {
		if err := os.WriteFile(filepath.Join(copied, "templates", name), []byte(content), 0o600); err !=
			nil {
			t.Fatal(err)
		}
	}
	out, errs, err := helm(t, "template", "crawl", copied, "--kube-version", kubeVersion,
		"--namespace", "web", "--set", "nodes=5", "--show-only", "templates/notes.yaml")
	var object struct{ Notes string }
	if err == nil {
		err = yaml.Unmarshal([]byte(out), &object)
	}
	if err != nil {
		t.Fatalf("helm template: %v\n%s", err, errs)
	}
	notes := object.Notes
	for _, want := range []string{
		"5 nodes of crawlnode start as crawl-crawlnode-0 to crawl-crawlnode-4 in namespace web",
		"crawlnode keygen cluster.key",
		"kubectl -n web create secret generic crawl-crawlnode-key --from-file=cluster.key",
		"crawl.contact is still", "kubectl -n web exec crawl-crawlnode-0 -- /crawlnode status",
		"port-forward service/crawl-crawlnode-api 27295:27295",
	} {
		if !strings.Contains(notes, want) {
			t.Errorf("no %q in\n%s", want, notes)
		}
	}
}

// everyValue sets each value to something else than its default.
const everyValue = `
nodes: 5
image: {repository: registry.example.org/crawlnode, tag: "1.0", pullPolicy: Always}
imagePullSecrets: [{name: registry}]
fullnameOverride: web
key: {text: a key, file: the.key}
crawl:
  contact: me@example.org
  memory: 2GiB
  drainTimeoutSeconds: 100
  seeds: ["https://a.test/?x={{ .Values }}"]
  settings: {max-pages: 1000000, delay: 2s, exclude: ["glob:*/a", "glob:*/b"], assets: true, priority: depth=0.5}
  webhooks: ["https://hooks.example.org/"]
  secretsFrom: web-secrets
extraArgs: ["--dns=127.0.0.1:53"]
extraEnv: [{name: HTTPS_PROXY, value: "http://proxy:3128"}]
persistence: {size: 1Ti, storageClass: fast, accessModes: [ReadWriteOncePod], annotations: {a: b}}
resources: {requests: {cpu: "2"}}
service: {type: LoadBalancer, port: 443, annotations: {a: b}}
ingress: {enabled: true, className: nginx, annotations: {nginx.ingress.kubernetes.io/backend-protocol: HTTPS}, hosts: [crawl.example.org], tls: [{secretName: t, hosts: [crawl.example.org]}]}
podDisruptionBudget: {enabled: false}
serviceAccount: {create: true, annotations: {a: b}}
metrics: {annotations: true, serviceMonitor: {enabled: true, interval: 1m, labels: {release: prometheus}, tokenSecret: {name: scrape}}}
updateStrategy: {type: OnDelete}
minReadySeconds: 5
podAnnotations: {a: b}
podLabels: {team: crawl}
nodeSelector: {disk: ssd}
tolerations: [{key: crawl, operator: Exists}]
affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: disk, operator: Exists}]}]}}}
topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: web}}}]
priorityClassName: low
extraVolumes: [{name: more, emptyDir: {}}]
extraVolumeMounts: [{name: more, mountPath: /more}]
`

// TestHelmRefuses: values that cannot work are refused with the name of the value.
func TestHelmRefuses(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	for values, want := range map[string]string{
		"nodes: three":                                      "nodes",
		"nodes: 0":                                          "nodes",
		"replicas: 3":                                       "replicas",
		"crawl: {memory: lots}":                             "memory",
		"crawl: {settings: {name: n1}}":                     "name",
		"crawl: {settings: {--scope: any}}":                 "--scope",
		"crawl: {webhooks: [hooks.example.org]}":            "webhooks",
		"persistence: {size: 100}":                          "size",
		"key: {existingSecret: a, text: b}":                 "not both",
		"ingress: {enabled: true}":                          "ingress.hosts must name a host",
		"metrics: {serviceMonitor: {enabled: true}}":        "tokenSecret.name",
		"metrics: {serviceMonitor: {tokens: {name: none}}}": "tokens",
	} {
		file := filepath.Join(t.TempDir(), "values.yaml")
		if err := os.WriteFile(file, []byte(values), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, errs, err := helm(t, "template", "crawlnode", chart, "--kube-version", kubeVersion, "-f",
			file); err == nil || !strings.Contains(errs, want) {
			t.Errorf("%s: %v, %s; want %q", values, err, errs, want)
		}
	}
}

// TestHelmRuns runs the commands of the chart's pods as three processes with the pods' names, which
// lead to an address each, and the key as the pods see it. They become one cluster, which stays
// whole when a pod is killed and comes back.
func TestHelmRuns(t *testing.T) {
	needsProcesses(t)
	needsRoot(t) // to bind files in a mount namespace
	needsPrograms(t, "unshare", "mount")
	t.Parallel()
	dir := t.TempDir()
	set := find(t, rendered(t, "crawl: {settings: {allow-net: 127.0.0.0/8, partitions: 512}}"),
		"StatefulSet", "crawlnode")
	container := dig(set, "spec", "template", "spec", "containers", 0)
	key := filepath.Join(dir, "cluster.key")
	if code, _, errs := run(t, "", "keygen", key); code != 0 {
		t.Fatal(errs)
	}
	if err := os.Chmod(key, 0o440); err != nil { // as defaultMode says
		t.Fatal(err)
	}
	replicas, _ := dig(set, "spec", "replicas").(int)
	network := fmt.Sprintf("127.%d.%d.", 100+os.Getpid()%100, os.Getpid()/100%250)
	hosts := "127.0.0.1 localhost\n"
	for i := range replicas {
		hosts += fmt.Sprintf("%s%d crawlnode-%d.crawlnode\n", network, i+1, i)
	}
	hostsFile := filepath.Join(dir, "hosts")
	if err := os.WriteFile(hostsFile, []byte(hosts), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(hostsFile, 0o644); err != nil {
		t.Fatal(err)
	}
	start := func(i int) *process {
		pod, addr := fmt.Sprintf("crawlnode-%d", i), fmt.Sprintf("%s%d", network, i+1)
		env := map[string]string{"POD_NAME": pod}
		// The image's own variables, with the pod's address for all of the pod's.
		argv := []string{"unshare", "-m", "sh", "-c", `mount --bind "$0" /etc/hosts && exec "$@"`,
			hostsFile, "env", "CRAWLNODE_DATA_DIR=" + filepath.Join(dir, pod),
			"CRAWLNODE_HTTP=" + addr + ":27295", "CRAWLNODE_GOSSIP=" + addr + ":27296",
			"CRAWLNODE_RPC=" + addr + ":27297"}
		list, _ := dig(container, "env").([]any)
		for _, v := range list {
			if name, _ := dig(v, "name").(string); name == "CRAWLNODE_CLUSTER_KEY_FILE" &&
				dig(v, "value") == "/key/cluster.key" {
				argv = append(argv, name+"="+key)
			} else if name != "POD_NAME" || dig(v, "valueFrom", "fieldRef", "fieldPath") != "metadata.name" {
				t.Fatalf("the test does not know the variable %v", v)
			}
		}
		argv = append(argv, binary(t))
		args, _ := dig(container, "args").([]any)
		for _, a := range args {
			text, _ := a.(string)
			argv = append(argv, os.Expand(strings.NewReplacer("$(", "${", ")", "}").Replace(text),
				func(name string) string { return env[name] }))
		}
		return spawn(t, pod, filepath.Join(dir, pod+".log"), argv...)
	}
	pods := make([]*process, replicas)
	for i := range pods {
		pods[i] = start(i) // all at once, as podManagementPolicy says
	}
	whole := func() {
		t.Helper()
		until(t, 4*time.Minute, func() string {
			for i := range pods {
				code, out, errs := run(t, "", "status", "--check", "healthy", "--addr",
					fmt.Sprintf("%s%d:27295", network, i+1), "--cluster-key-file", key)
				if code != 0 {
					return fmt.Sprintf("pod %d: %s%s", i, out, errs)
				}
			}
			code, out, errs := run(t, "", "nodes", "list", "--addr", network+"1:27295", "--cluster-key-file",
				key)
			if n := strings.Count(out, "alive"); code != 0 || n != replicas {
				return fmt.Sprintf("%d of %d nodes are alive:\n%s%s", n, replicas, out, errs)
			}
			return ""
		})
	}
	whole()
	pods[0].signal(syscall.SIGKILL)
	<-pods[0].done
	pods[0] = start(0) // the founder comes back by the same command
	whole()
	for _, p := range pods {
		p.signal(syscall.SIGTERM)
	}
	for _, p := range pods {
		if code := p.exit(t, leaveTime); code != 0 {
			t.Errorf("a pod ends with exit code %d: %s", code, tail(p.log, 5))
		}
	}
}

// TestHelmContainers runs the chart's pods as three containers, with their names, variables,
// volumes and rights, beside the web of the composition. They crawl it; one that is killed comes
// back.
func TestHelmContainers(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	compose := c.services["n1"].Environment
	set := find(t, rendered(t, "crawl: {contact: me@example.org}"), "StatefulSet", "crawlnode")
	container := dig(set, "spec", "template", "spec", "containers", 0)
	rights := dig(container, "securityContext")
	var pods []string
	replicas, _ := dig(set, "spec", "replicas").(int)
	for i := range replicas {
		delete(c.services, fmt.Sprint("n", i+1))
		pod := fmt.Sprintf("crawlnode-%d", i)
		s := service{
			Hostname:    pod,
			Alias:       pod + ".crawlnode",
			Environment: map[string]string{},
			Ports:       []string{"0:27295"},
			Volumes:     []string{pod + ":/data", "key:/key:ro"},
		}
		s.Networks = map[string]struct {
			Address string `yaml:"ipv4_address"`
		}{"crawl": {fmt.Sprint(c.network, 11+i)}}
		// of the web that is crawled
		for _, name := range []string{"DNS", "ALLOW_NET", "DELAY", "SCOPE", "SEED"} {
			s.Environment["CRAWLNODE_"+name] = compose["CRAWLNODE_"+name]
		}
		list, _ := dig(container, "env").([]any)
		for _, v := range list {
			name, _ := dig(v, "name").(string)
			s.Environment[name], _ = dig(v, "value").(string)
			if dig(v, "valueFrom", "fieldRef", "fieldPath") == "metadata.name" {
				s.Environment[name] = pod
			}
		}
		args, _ := dig(container, "args").([]any)
		for _, a := range args {
			text, _ := a.(string)
			s.Command = append(s.Command, os.Expand(strings.NewReplacer("$(", "${", ")", "}").Replace(text),
				func(name string) string { return s.Environment[name] }))
		}
		s.ReadOnly, _ = dig(rights, "readOnlyRootFilesystem").(bool)
		if dig(rights, "allowPrivilegeEscalation") == false {
			s.SecurityOpt = []string{"no-new-privileges:true"}
		}
		drop, _ := dig(rights, "capabilities", "drop").([]any)
		for _, v := range drop {
			s.CapDrop = append(s.CapDrop, fmt.Sprint(v))
		}
		if !s.ReadOnly || len(s.SecurityOpt) != 1 || len(s.CapDrop) != 1 {
			t.Errorf("the rights of a pod: %v", rights)
		}
		c.services[pod] = s
		pods = append(pods, pod)
	}
	w := c.up(pods...)
	t.Cleanup(func() { c.down(w) })
	c.await("a crawl by the chart's three pods", time.Minute,
		func(s *crawl.Status) bool { return whole(s) && s.Throughput.PagesTotal > 20 }, pods...)
	founder := c.name + "-" + pods[0]
	c.podman("kill", founder)
	c.await("two pods without the one that was killed", time.Minute, func(s *crawl.Status) bool {
		return s.Cluster.Members.Alive == 2 && s.Ring.Served == s.Ring.Partitions
	}, pods[1:]...)
	c.podman("start", founder) // as the kubelet does, by the same command
	c.await("three pods again", time.Minute, whole, pods...)
}
