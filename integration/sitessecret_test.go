package integration

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestSitesWithoutSecret: of two nodes one lacks a secret. It asks its hosts for nothing,
// robots.txt neither, and says so; once its file has the line it goes on, and every page is fetched
// with it.
func TestSitesWithoutSecret(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	const hosts, pages = 16, 3
	w := newRuleWeb(t, "127.43.0.1", func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(rw, r)
			return
		}
		showPage(rw, `<a href="/p1">1</a> <a href="/p2">2</a>`)
	})
	var names, seeds []string
	for i := range hosts {
		names = append(names, fmt.Sprintf("h%d.locked.test", i))
	}
	port := w.local(names...)
	for _, name := range names {
		seeds = append(seeds, fmt.Sprintf("http://%s:%d/", name, port))
	}
	dir := t.TempDir()
	rules := secretFile(t, filepath.Join(dir, "rules.yaml"),
		"- match: domain:locked.test\n  auth: {bearer: secret:token}\n")
	whole := secretFile(t, filepath.Join(dir, "whole"), "token=T0KEN\n")
	lacking := secretFile(t, filepath.Join(dir, "lacking"), "# nothing yet\n")

	c := newCluster(t, "--allow-net", "127.0.0.0/8", "--dns", w.dns, "--delay", "50ms",
		"--partitions", "512", "--sites", rules)
	c.add("--secrets", whole).ready()
	c.add("--secrets", lacking).ready()
	c.converged(time.Minute)
	with, without := c.nodes[0], c.nodes[1]
	with.seed(seeds...)
	waits := map[string]bool{}
	for _, name := range names {
		if with.holderOf(name) == without.name {
			waits[name] = true
		}
	}
	if len(waits) == 0 || len(waits) == hosts {
		t.Fatalf("%s has %d of %d hosts", without.name, len(waits), hosts)
	}
	until(t, time.Minute, func() string {
		got := w.paths()
		if want := (hosts - len(waits)) * (pages + 1); len(got) < want {
			return fmt.Sprintf("%d requests of %d", len(got), want)
		}
		return ""
	})
	with.reasonOf("secret_missing", "token", without.name)
	for _, q := range w.requests() {
		if waits[q.host] {
			t.Errorf("%s was asked for by the node that lacks the secret: %v", q.url(), q.header)
		}
	}
	s, err := with.status()
	if err != nil || s.Crawl.State == "finished" {
		t.Errorf("the crawl is %s while hosts wait, %v", s.Crawl.State, err)
	}

	if err := os.WriteFile(lacking, []byte("token=T0KEN\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	without.signal(syscall.SIGHUP)
	c.finished(time.Minute)
	for _, n := range c.nodes {
		until(t, time.Minute, func() string {
			s, err := n.status()
			if text := fmt.Sprint(s.Cluster.Health.Reasons); err != nil ||
				strings.Contains(text, "secret_missing") {
				return fmt.Sprintf("%s, %v", text, err)
			}
			return ""
		})
	}
	c.stop()
	got := w.paths()
	for _, name := range names {
		for _, path := range []string{"/robots.txt", "/", "/p1", "/p2"} {
			if got[name+path] != 1 {
				t.Errorf("%s%s was asked for %d times", name, path, got[name+path])
			}
		}
	}
	for _, q := range w.requests() {
		if got := q.header.Get("Authorization"); got != "Bearer T0KEN" {
			t.Errorf("%s was asked for with %q", q.url(), got)
		}
	}
}

// paths counts the requests for each path, with the host before it.
func (w *ruleWeb) paths() map[string]int {
	count := map[string]int{}
	for _, q := range w.requests() {
		count[q.host+q.uri]++
	}
	return count
}
