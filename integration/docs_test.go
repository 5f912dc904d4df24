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
	"docker compose -f deploy/compose.yaml " +
		"up --build": "needs a container engine",
	"kubectl create secret generic crawlnode-key " +
		"--from-file=cluster.key": "needs a Kubernetes cluster",
	"kubectl apply -f " +
		"deploy/kubernetes/crawlnode.yaml": "needs a Kubernetes cluster",
	"helm install crawlnode deploy/helm --set " +
		"crawl.contact=me@example.org": "needs a Kubernetes cluster",
	"systemctl enable --now " +
		"crawlnode": "needs a running systemd",
	"crawlnode status --token-file metrics.token": "the nodes of this " +
		"test have no key; TestLiveSettingsOpenNoDenied has a token",
	"crawlnode tokens revoke 5f0c2a9e41b7d386 --cluster-key-file cluster.key": "the nodes of this " +
		"test have no key",
	"crawlnode nodes rotate-key new.key --cluster-key-file cluster.key": "the nodes of this test " +
		"have no key; TestRotateKeyWhileCrawling does it",
	"make demo":    "builds first; a check of claims runs the demo as another user than root",
	"make test":    "runs this test",
	"make build":   "has built the binary of this test",
	"make release": "builds for four systems; TestRelease builds for one",
	"make install": "would change this machine; TestRelease installs elsewhere," +
		" TestContainersFresh as it stands",
	"curl -s http://127.0.0.1:27295/api/v1/captures/FILE/OFFSET | gunzip": "" +
		"FILE and OFFSET are for the reader to fill in; a check of claims does",
}

// command is one line of a document behind a "$", with what shall be printed.
type command struct {
	where string // file:line
	text  string
	out   []string
}

// consoleCommands are the commands of a document.
func consoleCommands(t *testing.T, path string) (cs []command) {
	t.Helper()
	for _, it := range readDocument(t, path) {
		if it.command != nil {
			cs = append(cs, *it.command)
		}
	}
	return cs
}

// utterance is what a command has printed.
type utterance struct{ command, out string }

// reader runs the commands of a document, in a folder and a network of its own, in which the usual
// ports are free.
type reader struct {
	t       *testing.T
	dir     string
	wrap    []string            // the command that enters the network or the container
	env     []string            // variables of every command, as NAME=value
	seed    string              // stands for https://docs.example.org/; "" if that is there
	nodes   map[string]*process // by name
	waiting []string            // started since the last other command
	said    []utterance         // what the commands have printed, in their order
	lines   []string            // the commands themselves, with what stands for their seed
	reading string              // the sentence whose check runs
	web     *process            // of crawlnode simweb

	fetchedBefore int64 // pages, before the cluster was stopped

	patience time.Duration // for one command
}

// newReader gives a document a network namespace, and the PATH on which the program is.
func newReader(t *testing.T, space string) *reader {
	t.Helper()
	return &reader{t: t, dir: t.TempDir(), wrap: []string{"ip", "netns", "exec", space},
		nodes:    map[string]*process{},
		patience: slack(time.Minute),
		env: []string{"PATH=" + filepath.Dir(binary(t)) + ":" + os.Getenv("PATH"),
			"CRAWLNODE_DRAIN_TIMEOUT=" + drainTime.String()}}
}

// onSimweb has the commands crawl a synthetic web in the place of the real one.
func (r *reader) onSimweb(l *lab, delay string) *reader {
	r.t.Helper()
	web, srv := serveSimwebAt(r.t, l.net+"1:0",
		simweb.Config{Seed: 3, Hosts: 5, PagesPerHost: 100, Skew: -1})
	r.seed = web.Seeds()[0]
	r.env = append(r.env, "CRAWLNODE_DNS="+srv.DNS.String(), "CRAWLNODE_ALLOW_NET="+l.net+"0/24",
		"CRAWLNODE_PARTITIONS=512", "CRAWLNODE_DELAY="+delay)
	return r
}

// argv is a line for a shell in the reader's folder and network.
func (r *reader) argv(text string) []string {
	return slices.Concat(r.wrap, []string{"env", "-C", r.dir}, r.env,
		[]string{"bash", "-euo", "pipefail", "-c", text})
}

// Commands that run until they are stopped, and one that changes the reader's own shell.
var (
	startsNode = regexp.MustCompile(`^crawlnode (?:start )?--name (\w+)`)
	startsWeb  = regexp.MustCompile(`^crawlnode simweb `)
	setsEnv    = regexp.MustCompile(`^export ((?:\w+=\S+ ?)+)$`)
)

// placed names the test's site in the place of the documents' one.
func (r *reader) placed(text string) string {
	if r.seed == "" {
		return text
	}
	host := strings.Split(strings.TrimPrefix(r.seed, "http://"), ":")[0]
	return strings.NewReplacer("https://docs.example.org/", r.seed,
		"crawl-docs.example.org", "crawl-"+host).Replace(text)
}

// obey runs a command, and fails the test when it fails.
func (r *reader) obey(c command) {
	r.t.Helper()
	text := r.placed(c.text)
	r.lines = append(r.lines, text)
	if m := startsNode.FindStringSubmatch(text); m != nil {
		r.start(m[1], text)
		return
	} else if startsWeb.MatchString(text) {
		r.serve(text)
		return
	} else if m := setsEnv.FindStringSubmatch(text); m != nil {
		r.env = append(r.env, strings.Fields(m[1])...)
		return
	}
	r.ready()
	if strings.HasPrefix(text, "kill -9 ") || strings.HasPrefix(text, "crawlnode seeds add ") {
		r.whole()
	}
	if strings.HasPrefix(text, "crawlnode cat ") && !strings.Contains(text, "--data-dir") {
		r.fetched(strings.Fields(text)[2])
	}
	ctx, cancel := context.WithTimeout(r.t.Context(), r.patience)
	defer cancel()
	argv := r.argv(text)
	out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		r.t.Fatalf("%s: $ %s\n%v\n%s", c.where, c.text, err, out)
	}
	r.said = append(r.said, utterance{c.text, string(out)})
	for _, line := range c.out {
		if !strings.Contains(string(out), line) {
			r.t.Errorf("%s: $ %s\nprints %q, the document says %q", c.where, c.text, out, line)
		}
	}
}

// start runs a node in the background and waits until it listens.
func (r *reader) start(name, text string) {
	r.t.Helper()
	log := filepath.Join(r.t.TempDir(), name+".log")
	pidFile := filepath.Join(r.dir, "crawlnode-data", name, "pid")
	before := tail(pidFile, 1)
	r.nodes[name] = spawn(r.t, name, log, r.argv("exec "+text)...)
	r.waiting = append(r.waiting, name)
	until(r.t, 20*time.Second, func() string {
		if pid := tail(pidFile, 1); pid == "" || pid == before {
			return name + " has not written its pid: " + tail(log, 5)
		}
		if _, err := os.Stat(filepath.Join(r.dir, "crawlnode-data", name, "addresses.json")); err != nil {
			return err.Error()
		}
		return ""
	})
}

// serve runs the synthetic web beside, until it says where it is.
func (r *reader) serve(text string) {
	r.t.Helper()
	log := filepath.Join(r.t.TempDir(), "web.log")
	r.web = spawn(r.t, "web", log, r.argv("echo $$ >web.pid; exec "+text)...)
	until(r.t, 20*time.Second, func() string {
		if out := tail(log, 1); !strings.Contains(out, `"seeds"`) {
			return "the web has not said where it is: " + out
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
			argv := r.argv("crawlnode status --check ready --addr " + at.HTTP)
			out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
			if err != nil {
				return name + " at " + at.HTTP + ": " + string(out)
			}
			return ""
		})
	}
	r.waiting = nil
}

// whole waits until every partition is served, or seeds might have to be sent again, and has its
// copies: what a killed node alone had would be gone with it.
func (r *reader) whole() {
	r.t.Helper()
	until(r.t, time.Minute, func() string {
		argv := r.argv("crawlnode status -o json")
		out, err := exec.Command(argv[0], argv[1:]...).Output()
		var s status
		if err != nil || json.Unmarshal(out, &s) != nil || s.Ring.UnderReplicated > 0 ||
			s.Ring.Served != s.Ring.Partitions {
			return fmt.Sprintf("%d of %d partitions are served, %d have too few copies: %v\n%s",
				s.Ring.Served, s.Ring.Partitions, s.Ring.UnderReplicated, err, out)
		}
		return ""
	})
}

// fetched waits until a page has been fetched: its host may have waited for the takeover of a
// killed node, which a person who reads on sees in the status.
func (r *reader) fetched(url string) {
	r.t.Helper()
	until(r.t, time.Minute, func() string {
		argv := r.argv("crawlnode urls why " + url)
		out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "\nrecord      done") {
			return fmt.Sprintf("%s has not been fetched: %v\n%s", url, err, out)
		}
		return ""
	})
}

// TestDocuments runs the commands that the documents show, and checks the sentences of those that
// are claimed.
func TestDocuments(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	excused := maps.Clone(notRun)
	l := newLab(t)
	for file, reader := range map[string]func(r *reader) *reader{
		// In the first two a crawl ends; in operations it must continue to the last command.
		"../README.md":               func(r *reader) *reader { return r.onSimweb(l, "10ms") },
		"../docs/getting-started.md": func(r *reader) *reader { return r.onSimweb(l, "10ms") },
		"../docs/operations.md":      func(r *reader) *reader { return r.onSimweb(l, "1s") },
		"../docs/tutorial.md":        func(r *reader) *reader { return r }, // it has a web of its own
	} {
		commands, space := consoleCommands(t, file), l.space(l.add())
		for _, c := range commands {
			delete(excused, c.text)
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			r := reader(newReader(t, space))
			if document := strings.TrimPrefix(file, "../"); slices.Contains(claimed, document) {
				r.walk(document, notRun)
			} else {
				r.timed(commands, notRun)
			}
		})
	}
	for text := range excused {
		t.Errorf("no document has the command that is excused: %s", text)
	}
}

// timed obeys the commands, but those that are excused, and says how long each has taken.
func (r *reader) timed(commands []command, excused map[string]string) map[string]time.Duration {
	r.t.Helper()
	took := map[string]time.Duration{}
	for _, c := range commands {
		if reason, ok := excused[c.text]; ok {
			r.t.Logf("%s: not run, %s: %s", c.where, reason, c.text)
			continue
		}
		began := time.Now()
		r.obey(c)
		took[c.text] = time.Since(began)
		r.t.Logf("%s: %v: %s", c.where, took[c.text].Round(10*time.Millisecond), c.text)
	}
	return took
}
