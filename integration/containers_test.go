package integration

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"crawlnode/crawl"
	"crawlnode/simweb"
)

// withContainers lets the long tests with containers run, and makes it a failure when this machine
// cannot run any.
var withContainers = flag.Bool("containers", false,
	"run deploy/compose.yaml with podman in each order and under load, as make nightly does")

// service is what the composition says of one container.
type service struct {
	Command     []string
	Hostname    string
	Environment map[string]string
	Ports       []string
	Volumes     []string
	ReadOnly    bool     `yaml:"read_only"`
	CapDrop     []string `yaml:"cap_drop"`
	SecurityOpt []string `yaml:"security_opt"`
	NetworkMode string   `yaml:"network_mode"`
	Networks    map[string]struct {
		Address string `yaml:"ipv4_address"`
	}
	Alias string `yaml:"-"` // its name in the network beside that of the service; "": none
}

// compositions counts those of this run: each has its own name before its network, containers and
// volumes.
var compositions atomic.Int64

// composition runs deploy/compose.yaml with podman, on a network and ports of its own.
// podman-compose of Debian gives containers no fixed addresses, so the test does that part itself.
type composition struct {
	t        *testing.T
	name     string // of the image, and before those of containers and volumes
	network  string // the first three numbers of its addresses
	key      string // a copy of the cluster's key
	services map[string]service
	ports    map[string]string
	next     int // the last number of the next free address
}

// needsEngine has podman use what works without systemd and with any control groups.
func needsEngine(t *testing.T) {
	t.Helper()
	needsRoot(t)
	needsPrograms(t, "podman")
	if err := setEngine(); err != nil {
		t.Fatal(err)
	}
	sweepContainers()
}

// sweepContainers removes what test binaries have left that were killed: their containers would
// crawl on.
var sweepContainers = sync.OnceFunc(func() {
	for _, kind := range []struct{ list, remove []string }{
		{[]string{"ps", "-a", "--format", "{{.Names}}"}, []string{"rm", "-f", "-t", "0"}},
		{[]string{"network", "ls", "--format", "{{.Name}}"}, []string{"network", "rm", "-f"}},
		{[]string{"volume", "ls", "--format", "{{.Name}}"}, []string{"volume", "rm", "-f"}},
	} {
		// without an engine that works the test says so itself
		out, _ := exec.Command("podman", kind.list...).Output()
		for name := range strings.FieldsSeq(string(out)) {
			of, ok := strings.CutPrefix(name, "crawlnode-test-")
			pid, _, _ := strings.Cut(of, "-")
			if _, err := os.Stat("/proc/" + pid); ok && err != nil {
				_ = exec.Command("podman", append(kind.remove, name)...).Run() // the next run tries again
			}
		}
	}
})

// engineDir has the settings of podman for the whole run, as the environment is that of all tests;
// TestMain removes it.
var engineDir string

var setEngine = sync.OnceValue(func() error {
	var err error
	if engineDir, err = os.MkdirTemp("", "crawlnode-podman-"); err != nil {
		return err
	}
	conf := filepath.Join(engineDir, "containers.conf")
	text := "[containers]\ndefault_ulimits = [\"nofile=20000:20000\", \"nproc=10000:10000\"]\n" +
		"[engine]\nruntime = \"runc\"\n[network]\nnetwork_backend = \"netavark\"\n"
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		return err
	}
	return os.Setenv("CONTAINERS_CONF", conf)
})

// testImage is the image of all compositions of this run: what one test builds or removes is never
// in another's way.
func testImage() string { return fmt.Sprintf("crawlnode-test-%d", os.Getpid()) }

// buildTestImage builds it once; TestMain removes it.
var buildTestImage = sync.OnceValue(func() error {
	out, err := exec.Command("env", pgo(), "../.ci/image", "test", testImage()).CombinedOutput()
	if err != nil {
		return fmt.Errorf("building the image %s: %w\n%s", testImage(), err, out)
	}
	imageBuilt = true
	return nil
})

var imageBuilt bool

// newComposition has the image built and makes the network.
func newComposition(t *testing.T) *composition {
	t.Helper()
	needsProcesses(t)
	needsEngine(t)
	c := &composition{
		t:     t,
		name:  fmt.Sprintf("%s-%d", testImage(), compositions.Add(1)),
		ports: map[string]string{},
		next:  100,
	}
	if err := buildTestImage(); err != nil {
		t.Fatal(err)
	}
	// In a sandbox the kernel may refuse what containers are made of; that is no fault of the tree.
	if out, err := exec.Command("podman", "run", "--rm", "--network", "none", testImage(),
		"version").CombinedOutput(); err != nil {
		if *withContainers {
			t.Fatalf("no container runs on this machine: %v\n%s", err, out)
		}
		unable(t, "no container runs on this machine: %v: %s", err, out)
	}
	for try := 0; ; try++ {
		place := claimOne(t, "networks", os.Getpid()%500, 500) // no lab has it either
		c.network = fmt.Sprintf("198.%d.%d.", 18+place/250, place%250)
		out, err := exec.Command("podman", "network", "create", "--subnet", c.network+
			"0/24", c.name).CombinedOutput()
		if err == nil {
			break
		} else if try == 10 {
			t.Fatalf("podman network create: %v\n%s", err, out)
		}
	}
	t.Cleanup(func() { c.podman("network", "rm", "-f", c.name) })
	raw, err := os.ReadFile("../deploy/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Services map[string]service }
	if err := yaml.Unmarshal(bytes.ReplaceAll(raw, []byte("198.18.0."), []byte(c.network)),
		&file); err != nil {
		t.Fatal(err)
	}
	c.services = file.Services
	for _, s := range c.services {
		if s.Environment["CRAWLNODE_DRAIN_TIMEOUT"] != "" {
			s.Environment["CRAWLNODE_DRAIN_TIMEOUT"] = drainTime.String() // as in every test
		}
	}
	return c
}

// stop ends a node's container politely.
func (c *composition) stop(name string) {
	c.t.Helper()
	c.podman("stop", "-t", fmt.Sprint(int(leaveTime.Seconds())), c.name+"-"+name)
}

// podman runs one of its commands and returns what it prints.
func (c *composition) podman(args ...string) string {
	c.t.Helper()
	out, err := exec.Command("podman", args...).Output()
	if err != nil {
		c.t.Errorf("podman %s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}

// args are what `podman run` needs for a service at an address; "" is that of the composition.
func (c *composition) args(name, address string, options ...string) []string {
	s := c.services[name]
	args := append([]string{"run", "--name", c.name + "-" + name, "--no-healthcheck"}, options...)
	if s.NetworkMode != "" {
		args = append(args, "--network", s.NetworkMode)
	} else {
		args = append(args, "--network", c.name, "--network-alias", name, "--ip",
			cmp.Or(address, s.Networks["crawl"].Address))
	}
	if s.Alias != "" {
		args = append(args, "--network-alias", s.Alias)
	}
	if s.Hostname != "" {
		args = append(args, "--hostname", s.Hostname)
	}
	for _, k := range slices.Sorted(maps.Keys(s.Environment)) {
		args = append(args, "-e", k+"="+s.Environment[k])
	}
	for _, v := range s.Volumes {
		args = append(args, "-v", c.name+"-"+v)
	}
	for _, p := range s.Ports {
		_, inside, _ := strings.Cut(p, ":")
		args = append(args, "-p", c.port(name)+":"+inside)
	}
	if s.ReadOnly {
		args = append(args, "--read-only")
	}
	for _, v := range s.CapDrop {
		args = append(args, "--cap-drop", v)
	}
	for _, v := range s.SecurityOpt {
		args = append(args, "--security-opt", strings.TrimSuffix(v, ":true"))
	}
	return append(append(args, testImage()), s.Command...)
}

// port is the port of this machine that a node's API is published at.
func (c *composition) port(name string) string {
	if c.ports[name] == "" {
		c.ports[name] = fmt.Sprint(freePort(c.t)) // it stays ours while its container is down
	}
	return c.ports[name]
}

// up starts everything, the nodes in the order given, and returns the judge's end of the web.
func (c *composition) up(order ...string) *containerWeb {
	c.t.Helper()
	c.podman(c.args("key", "", "--rm")...)
	w := &containerWeb{cmd: exec.Command("podman", c.args("web", "", "--rm", "-i")...)}
	var err error
	if w.stdin, err = w.cmd.StdinPipe(); err != nil {
		c.t.Fatal(err)
	}
	w.cmd.Stdout = &w.out
	if err := w.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	for _, name := range order {
		c.start(name, "")
	}
	if c.key == "" {
		c.key = filepath.Join(c.t.TempDir(), "cluster.key")
	}
	c.podman("cp", c.name+"-"+order[0]+":/key/cluster.key", c.key)
	return w
}

func (c *composition) start(name, address string) {
	c.t.Helper()
	c.podman(c.args(name, address, "-d")...)
}

// elsewhere starts a node whose container is gone at a new address, with its volume.
func (c *composition) elsewhere(name string) {
	c.t.Helper()
	c.next++
	c.start(name, fmt.Sprint(c.network, c.next))
}

// down removes all containers and volumes.
func (c *composition) down(w *containerWeb) {
	c.t.Helper()
	w.stdin.Close()
	_ = w.cmd.Wait()
	for name := range c.services {
		c.podman("rm", "-f", "-i", "-t", "0", c.name+"-"+name)
		for _, v := range c.services[name].Volumes {
			volume, _, _ := strings.Cut(v, ":")
			// another service has removed it
			_ = exec.Command("podman", "volume", "rm", "-f", c.name+"-"+volume).Run()
		}
	}
}

// status asks a node from outside, by the port that is published.
func (c *composition) status(name string) (s crawl.Status, ok bool) {
	code, out, _ := run(c.t, "", "status", "-o", "json", "--addr", "127.0.0.1:"+c.port(name),
		"--cluster-key-file", c.key)
	return s, code == 0 && json.Unmarshal([]byte(out), &s) == nil
}

// await waits until the status of each node is as expected.
func (c *composition) await(
	what string,
	within time.Duration,
	right func(*crawl.Status) bool,
	names ...string,
) {
	c.t.Helper()
	var last crawl.Status
	for end := time.Now().Add(slack(within)); time.Now().Before(end); time.Sleep(
		200 * time.Millisecond) {
		if !slices.ContainsFunc(names, func(name string) bool {
			s, ok := c.status(name)
			if ok {
				last = s
			}
			return !ok || !right(&s)
		}) {
			return
		}
	}
	text, _ := json.MarshalIndent(last.Cluster, "", " ")
	c.t.Fatalf("%s: not within %v; the last status: %s", what, slack(within), text)
}

func whole(s *crawl.Status) bool {
	return s.Cluster.Members.Alive == 3 && s.Ring.Converged && s.Ring.Served == s.Ring.Partitions &&
		s.Ring.UnderReplicated == 0
}

// containerWeb is the synthetic web in its container.
type containerWeb struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	out   bytes.Buffer
}

// report ends the web and returns what it saw.
func (w *containerWeb) report(t *testing.T) (r simweb.Report) {
	t.Helper()
	w.stdin.Close()
	_ = w.cmd.Wait()
	lines := strings.Split(strings.TrimSpace(w.out.String()), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &r); err != nil || r.Reachable == 0 {
		t.Fatalf("the web's report: %v\n%s", err, w.out.String())
	}
	return r
}

// TestContainersQuick starts the composition once. Its nodes find each other, crawl, answer at the
// ports that are published and to the image's own health check, and one that is stopped drains.
func TestContainersQuick(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	nodes := []string{"n1", "n2", "n3"}
	began := time.Now()
	w := c.up("n2", "n3", "n1")
	t.Cleanup(func() { c.down(w) })
	c.await("a crawl by three nodes", time.Minute,
		func(s *crawl.Status) bool { return whole(s) && s.Throughput.PagesTotal > 20 }, nodes...)
	took := time.Since(began)
	for _, name := range nodes {
		// a machine that is busy with other things may delay a lease
		until(t, time.Minute, func() string {
			if out, err := exec.Command("podman", "exec", c.name+"-"+
				name, "/crawlnode", "status", "--check", "ready").CombinedOutput(); err != nil {
				return fmt.Sprintf("%s is not ready: %v\n%s", name, err, out)
			}
			return ""
		})
	}
	if user := strings.TrimSpace(c.podman("inspect", "-f",
		"{{.Config.User}} {{.HostConfig.ReadonlyRootfs}}", c.name+"-n1")); user != "65532:65532 true" {
		t.Errorf("user and read-only root: %s", user)
	}
	c.stop("n1")
	if code := strings.TrimSpace(c.podman("inspect", "-f", "{{.State.ExitCode}}", c.name+
		"-n1")); code != "0" {
		t.Errorf("a node that was stopped exits with %s\n%s", code,
			c.podman("logs", "--tail", "5", c.name+"-n1"))
	}
	c.await("two nodes without the one that was stopped", time.Minute, func(s *crawl.Status) bool {
		return s.Cluster.Members.Alive == 2 && s.Ring.Served == s.Ring.Partitions
	}, "n2", "n3")
	t.Logf("three containers crawl after %v", took.Round(100*time.Millisecond))
}

// needsContainers leaves a long test to the nightly run.
func needsContainers(t *testing.T) {
	t.Helper()
	onRequest(t, *withContainers,
		"takes minutes: run it with -containers, as make nightly; TestContainersQuick is the short form")
}

const containersHead = `# Containers

The three nodes of deploy/compose.yaml as podman runs them, with runc, on a network of their own: started in each order, and replaced while they crawl 5,000 pages of 50 hosts, 200 ms
apart. Judged at the web server. Reachable from outside: each await asks every node at the port that is published, with the cluster's key. Appended by ` + "`make containers`" +
	`.

| date | commit | what | figures |
|---|---|---|---|
`

// TestContainersInAnyOrder starts the three nodes of the composition in each order.
func TestContainersInAnyOrder(t *testing.T) {
	needsContainers(t)
	c := newComposition(t)
	nodes := []string{"n1", "n2", "n3"}
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		names := []string{nodes[order[0]], nodes[order[1]], nodes[order[2]]}
		begin := time.Now()
		w := c.up(names...)
		c.await(fmt.Sprint("a cluster of three, started as ", names), 2*time.Minute, whole, nodes...)
		appendResult(t, "containers.md", containersHead, fmt.Sprintf(
			"started as %s | a whole cluster after %.1f s |", strings.Join(names, ", "),
			time.Since(begin).Seconds()))
		c.down(w)
	}
}

// TestContainersReplaced kills a container and starts it at a new address, then replaces all
// three, one after the other, while they crawl: no page is missing, and none is fetched twice but
// for what was in flight when the container was killed.
func TestContainersReplaced(t *testing.T) {
	needsContainers(t)
	c := newComposition(t)
	nodes := []string{"n1", "n2", "n3"}
	web := c.services["web"]
	web.Command = append(slices.Clone(web.Command), "--latency", "50ms")
	c.services["web"] = web
	w := c.up(nodes...)
	t.Cleanup(func() { c.down(w) })
	c.await("a crawl by three nodes", 2*time.Minute,
		func(s *crawl.Status) bool { return whole(s) && s.Throughput.PagesTotal > 200 }, nodes...)

	c.podman("kill", c.name+"-n2")
	c.podman("rm", "-f", c.name+"-n2")
	gone := time.Now()
	c.elsewhere("n2")
	c.await("the killed container's node, at a new address", 2*time.Minute, whole, nodes...)
	back, killed := time.Since(gone), c.pages()
	for _, name := range nodes {
		c.stop(name)
		c.podman("rm", "-f", c.name+"-"+name)
		c.elsewhere(name)
		c.await(name+" replaced", 3*time.Minute, whole, nodes...)
	}
	rolled := c.pages()
	c.await("the end of the crawl", 10*time.Minute,
		func(s *crawl.Status) bool { return s.Crawl.State == crawl.CrawlFinished }, nodes...)
	r := w.report(t)
	appendResult(t, "containers.md", containersHead, fmt.Sprintf("one killed and started at a new "+
		"address, then all three replaced, each at a new address | whole again %.1f s after the kill; "+
		"%d pages by then, %d when all were replaced, %d in all; missing %d, twice %d, too soon %d, "+
		"smallest gap %v of 200ms |",
		back.Seconds(), killed, rolled, r.Pages, r.Missing, r.Duplicates, r.TooSoon,
		r.SmallestGap.Round(10*time.Microsecond)))
	if rolled >= int64(r.Pages) {
		t.Error(
			"the crawl had ended before the last container was replaced: the test says nothing of a load")
	}
	if r.Missing > 0 || r.Extra > 0 || r.TooSoon > 0 || r.Overlaps > 0 {
		t.Errorf("missing %d %v, extra %d, too soon %d, overlaps %d", r.Missing, r.MissingExamples,
			r.Extra, r.TooSoon, r.Overlaps)
	}
	if hosts := 50; r.Duplicates > hosts { // one fetch of a host is in flight at a time
		t.Errorf("%d pages were fetched twice, at most %d were in flight", r.Duplicates, hosts)
	}
}

func (c *composition) pages() int64 {
	s, _ := c.status("n1")
	return s.Throughput.PagesTotal
}
