package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"crawlnode/simweb"
)

// notRun are the commands of the documents that the test does not run, with the
// reason. A reason for a command that no document has is an error.
var notRun = map[string]string{
	"docker compose -f deploy/compose.yaml up --build":                        "needs a container engine",
	"kubectl create secret generic crawlnode-key --from-file=cluster.key":     "needs a Kubernetes cluster",
	"kubectl apply -f deploy/kubernetes/crawlnode.yaml":                       "needs a Kubernetes cluster",
	"systemctl enable --now crawlnode":                                        "needs a running systemd",
	"crawlnode status --token-file metrics.token":                             "the nodes of this test have no key; TestLiveSettingsOpenNoDenied has a token",
	"crawlnode tokens revoke 5f0c2a9e41b7d386 --cluster-key-file cluster.key": "the nodes of this test have no key",
	"crawlnode nodes rotate-key new.key --cluster-key-file cluster.key":       "the nodes of this test have no key; TestRotateKeyWhileCrawling does it",
	"make demo":    "has tests of its own, and takes a minute",
	"make test":    "runs this test",
	"make build":   "has built the binary of this test",
	"make release": "builds for four systems",
	"curl -s http://127.0.0.1:27295/api/v1/captures/FILE/OFFSET | gunzip": "FILE and OFFSET are for the reader to fill in; TestExport does",
}

// command is one line of a document behind a "$", with what shall be printed.
type command struct {
	where string // file:line
	text  string
	out   []string
}

// consoleCommands reads the blocks marked as console.
func consoleCommands(t *testing.T, path string) (cs []command) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	inside := false
	comment := regexp.MustCompile(`\s+# .*$`)
	for i, line := range strings.Split(string(text), "\n") {
		switch {
		case strings.HasPrefix(line, "```"):
			inside = line == "```console"
		case !inside:
		case strings.HasPrefix(line, "$ "):
			cs = append(cs, command{where: fmt.Sprintf("%s:%d", filepath.Base(path), i+1), text: comment.ReplaceAllString(line[2:], "")})
		case len(cs) > 0:
			last := &cs[len(cs)-1]
			last.out = append(last.out, line)
		}
	}
	return cs
}

// reader runs the commands of a document, in a folder and a network of its own, in which the usual
// ports are free.
type reader struct {
	t       *testing.T
	dir     string
	wrap    []string // the command that enters the network
	env     []string
	seed    string              // stands for https://docs.example.org/
	nodes   map[string]*process // by name
	waiting []string            // started since the last other command
}

func newReader(t *testing.T, l *lab, space, delay string) *reader {
	t.Helper()
	web, srv := serveSimwebAt(t, l.net+"1:0", simweb.Config{Seed: 3, Hosts: 5, PagesPerHost: 100, Skew: -1})
	r := &reader{t: t, dir: t.TempDir(), wrap: []string{"ip", "netns", "exec", space}, seed: web.Seeds()[0], nodes: map[string]*process{}}
	r.env = append(os.Environ(), "PATH="+filepath.Dir(binary(t))+":"+os.Getenv("PATH"),
		"CRAWLNODE_DNS="+srv.DNS.String(), "CRAWLNODE_ALLOW_NET="+l.net+"0/24", "CRAWLNODE_PARTITIONS=512", "CRAWLNODE_DELAY="+delay)
	return r
}

// startsNode matches a command that runs until it is stopped.
var startsNode = regexp.MustCompile(`^crawlnode (?:start )?--name (\w+)`)

// obey does what a command says, and complains when it fails.
func (r *reader) obey(c command) {
	r.t.Helper()
	text := strings.ReplaceAll(c.text, "https://docs.example.org/", r.seed)
	if m := startsNode.FindStringSubmatch(text); m != nil {
		r.start(m[1], text)
		return
	}
	r.ready()
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, r.wrap[0], append(slices.Clone(r.wrap[1:]), "bash", "-euo", "pipefail", "-c", text)...)
	cmd.Dir, cmd.Env = r.dir, r.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("%s: $ %s\n%v\n%s", c.where, c.text, err, out)
	}
	for _, line := range c.out {
		if !strings.Contains(string(out), line) {
			r.t.Errorf("%s: $ %s\nprints %q, the document says %q", c.where, c.text, out, line)
		}
	}
}

// start runs a node beside, until it listens.
func (r *reader) start(name, text string) {
	r.t.Helper()
	argv := append(slices.Clone(r.wrap), "env", "-C", r.dir)
	for _, v := range r.env {
		if strings.HasPrefix(v, "CRAWLNODE_") || strings.HasPrefix(v, "PATH=") {
			argv = append(argv, v)
		}
	}
	log := filepath.Join(r.t.TempDir(), name+".log")
	r.nodes[name] = spawn(r.t, name, log, append(argv, "bash", "-c", "exec "+text)...)
	r.waiting = append(r.waiting, name)
	until(r.t, 20*time.Second, func() string {
		if pid := strings.TrimSpace(tail(filepath.Join(r.dir, "crawlnode-data", name, "pid"), 1)); pid != fmt.Sprint(r.nodes[name].cmd.Process.Pid) {
			return name + " has not written its pid: " + tail(log, 5)
		}
		if _, err := os.Stat(filepath.Join(r.dir, "crawlnode-data", name, "addresses.json")); err != nil {
			return err.Error()
		}
		return ""
	})
}

// ready waits for the nodes that were started last.
func (r *reader) ready() {
	r.t.Helper()
	for _, name := range r.waiting {
		until(r.t, time.Minute, func() string {
			select {
			case <-r.nodes[name].done:
				r.t.Fatalf("%s has ended: %v\n%s", name, r.nodes[name].err, lastWords(r.nodes[name].log))
			default:
			}
			var at struct{ HTTP string }
			raw, err := os.ReadFile(filepath.Join(r.dir, "crawlnode-data", name, "addresses.json"))
			if err == nil {
				err = json.Unmarshal(raw, &at)
			}
			if err != nil {
				return err.Error()
			}
			out, err := exec.Command(r.wrap[0], append(slices.Clone(r.wrap[1:]), binary(r.t), "status", "--check", "ready", "--addr", at.HTTP)...).CombinedOutput()
			if err != nil {
				return name + " at " + at.HTTP + ": " + string(out)
			}
			return ""
		})
	}
	r.waiting = nil
}

// TestDocuments types what the documents tell people to type.
func TestDocuments(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	excused := maps.Clone(notRun)
	l := newLab(t)
	// In the first two a crawl ends; in operations it must continue to the last command.
	for file, delay := range map[string]string{"../README.md": "10ms", "../docs/getting-started.md": "10ms", "../docs/operations.md": "1s"} {
		commands, space := consoleCommands(t, file), l.space(l.add())
		for _, c := range commands {
			delete(excused, c.text)
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			r := newReader(t, l, space, delay)
			for _, c := range commands {
				if reason, ok := notRun[c.text]; ok {
					t.Logf("%s: not run, %s: %s", c.where, reason, c.text)
				} else {
					r.obey(c)
				}
			}
		})
	}
	for text := range excused {
		t.Errorf("no document has the command that is excused: %s", text)
	}
}
