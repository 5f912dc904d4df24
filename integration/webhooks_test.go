package integration

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/output/webhooks"
)

var webhookDown = flag.Duration("webhookdown", 3*time.Second,
	"how long the receiver of TestWebhooksUnderKills is down")

const hookSecret = "open sesame"

// hookFile is a file of --secrets with the secret of webhooks.
func hookFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secrets")
	if err := os.WriteFile(path, []byte("webhook="+hookSecret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// hookReceiver keeps what webhooks send.
type hookReceiver struct {
	t    *testing.T
	addr string
	srv  *http.Server
	over chan struct{}

	mu     sync.Mutex
	bodies []string
	heads  []http.Header
}

func newHookReceiver(t *testing.T) *hookReceiver {
	t.Helper()
	r := &hookReceiver{t: t, addr: fmt.Sprintf("127.0.0.1:%d", freePort(t))}
	r.start()
	t.Cleanup(func() { r.stop() })
	return r
}

func (r *hookReceiver) start() {
	r.t.Helper()
	l, err := net.Listen("tcp", r.addr)
	if err != nil {
		r.t.Fatal(err)
	}
	r.srv, r.over = &http.Server{Handler: r, ReadHeaderTimeout: time.Minute}, make(chan struct{})
	go func() { defer close(r.over); _ = r.srv.Serve(l) }()
}

// stop breaks the connections, also of what is being answered.
func (r *hookReceiver) stop() {
	_ = r.srv.Close()
	<-r.over
}

func (r *hookReceiver) ServeHTTP(_ http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bodies, r.heads = append(r.bodies, string(body)), append(r.heads, req.Header)
}

// arrived are the bodies by the uid of their events, and how many were repeats. The events of each
// node are in order, at their first arrival.
func (r *hookReceiver) arrived() (byUID map[string]string, repeats int) {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	byUID = map[string]string{}
	last := map[string]uint64{}
	for _, body := range r.bodies {
		var e crawl.Event
		if err := json.Unmarshal([]byte(body), &e); err != nil {
			r.t.Fatalf("%v: %s", err, body)
		}
		if before, ok := byUID[e.UID]; ok {
			if repeats++; before != body {
				r.t.Errorf("%s came as %s and as %s", e.UID, before, body)
			}
			continue
		}
		byUID[e.UID] = body
		node, _, _ := strings.Cut(e.UID, "-")
		if e.ID <= last[node] {
			r.t.Errorf("%s came after event %d of its node", e.UID, last[node])
		}
		last[node] = e.ID
	}
	return byUID, repeats
}

// shown are the events that a node shows, by their uid, as it shows them.
func (n *node) shown() map[string]string {
	n.c.t.Helper()
	var events []json.RawMessage
	if err := n.decode("/api/v1/events?format=json", &events); err != nil {
		n.c.t.Fatal(err)
	}
	byUID := map[string]string{}
	for _, text := range events {
		var e crawl.Event
		var line bytes.Buffer
		if err := json.Unmarshal(text, &e); err != nil {
			n.c.t.Fatal(err)
		}
		if err := json.Compact(&line, text); err != nil {
			n.c.t.Fatal(err)
		}
		byUID[e.UID] = line.String()
	}
	return byUID
}

func (n *node) order(path string) {
	n.c.t.Helper()
	req, err := n.request(http.MethodPost, path, nil)
	if err == nil {
		err = decodeReply(n.c.client(), req, &struct{}{})
	}
	if err != nil {
		n.c.t.Fatal(err)
	}
}

// TestWebhooksUnderKills: a receiver is down for a while, and meanwhile things happen and a node is
// killed the moment that it shows an event. Afterwards every event arrives that any node had shown,
// in the order of each node, with a signature that OpenSSL makes too.
func TestWebhooksUnderKills(t *testing.T) {
	needsProcesses(t)
	needsPrograms(t, "openssl")
	t.Parallel()
	hook := newHookReceiver(t)
	c := newCluster(t, "--allow-net", "127.0.0.0/8", "--delay", "1s", "--partitions", "512",
		"--secrets", hookFile(t), "--webhook", "http://"+hook.addr+"/crawl?token=hunter2")
	c.addReady(3)
	c.converged(2 * time.Minute)
	shown := map[string]string{}
	look := func(n *node) {
		t.Helper()
		for uid, text := range n.shown() {
			shown[uid] = text
		}
	}
	first, victim := c.nodes[0], c.nodes[2]
	first.seed(fmt.Sprintf("http://127.0.0.1:%d/", freePort(t))) // nobody listens there
	arrive := func() {
		t.Helper()
		for _, n := range c.nodes {
			look(n)
		}
		until(t, 4*time.Minute, func() string {
			byUID, _ := hook.arrived()
			for uid, text := range shown {
				if byUID[uid] == "" {
					return fmt.Sprintf("%d of %d events have arrived; not %s", len(byUID), len(shown), text)
				}
			}
			return ""
		})
	}
	arrive()

	hook.stop()
	downSince := time.Now()
	for round := 0; round < 2 || time.Since(downSince) < *webhookDown; round++ {
		before := len(victim.shown())
		first.order("/api/v1/crawl/pause")
		until(t, time.Minute, func() string {
			if now := victim.shown(); len(now) == before {
				return fmt.Sprintf("%s shows %d events", victim.name, before)
			}
			return ""
		})
		look(victim)
		victim.signal(syscall.SIGKILL)
		<-victim.done
		first.order("/api/v1/crawl/resume")
		victim.start()
		victim.ready()
	}
	first.hookFails(hook.addr)
	for _, n := range c.nodes {
		look(n)
	}
	down := time.Since(downSince)
	hook.start()
	c.converged(2 * time.Minute)
	arrive()
	c.stop() // sends the rest

	byUID, repeats := hook.arrived()
	for uid, text := range shown {
		if byUID[uid] != text {
			t.Errorf("shown as %s, arrived as %s", text, byUID[uid])
		}
	}
	hook.signed()
	for _, n := range c.nodes {
		if text := tail(n.log, 100_000); strings.Contains(text, "hunter2") ||
			strings.Contains(text, hookSecret) {
			t.Errorf("the log of %s has the secret or the path of the webhook", n.name)
		}
	}
	t.Logf("the receiver was down for %v: %d events were shown, %d arrived, %d repeats, load %s",
		down.Round(time.Second), len(shown), len(byUID), repeats, loadAverage())
}

// hookFails waits until the node says that its webhook takes nothing, and says nothing of its path.
func (n *node) hookFails(addr string) {
	n.c.t.Helper()
	until(n.c.t, time.Minute, func() string {
		_, text, err := n.get("/status")
		if err != nil {
			return err.Error()
		}
		var s crawl.Status
		if err := json.Unmarshal(text, &s); err != nil {
			n.c.t.Fatal(err)
		}
		if strings.Contains(string(text), "hunter2") || strings.Contains(string(text), hookSecret) {
			n.c.t.Errorf("the status has the path of the webhook: %s", text)
		}
		w := s.Output.Webhooks
		if len(w) != 1 || !strings.HasPrefix(w[0].Webhook, "http://"+addr+"/...#") ||
			w[0].ErrorsTotal == 0 || w[0].Error == nil || w[0].Queued == 0 {
			return fmt.Sprintf("webhooks %+v", w)
		}
		return ""
	})
}

// signed checks each signature against the one that OpenSSL makes.
func (r *hookReceiver) signed() {
	r.t.Helper()
	dir := r.t.TempDir()
	args := []string{"dgst", "-sha256", "-hmac", hookSecret, "-r"}
	for i, body := range r.bodies {
		path := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
			r.t.Fatal(err)
		}
		args = append(args, path)
	}
	out, err := exec.CommandContext(r.t.Context(), "openssl", args...).CombinedOutput()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err != nil || len(lines) != len(r.bodies) {
		r.t.Fatalf("openssl: %v\n%s", err, out)
	}
	for i, line := range lines {
		digest, _, _ := strings.Cut(line, " ")
		if got := r.heads[i].Get(webhooks.SignatureHeader); got != "sha256="+digest {
			r.t.Errorf("%s is signed with %s, and OpenSSL says %s", r.bodies[i], got, digest)
		}
	}
}

// TestWebhookReceiver runs the receiver of docs/webhooks.md: it prints each event once, and refuses
// what is not signed with its secret.
func TestWebhookReceiver(t *testing.T) {
	needsProcesses(t)
	needsPrograms(t, "python3")
	t.Parallel()
	text, err := os.ReadFile("../docs/webhooks.md")
	if err != nil {
		t.Fatal(err)
	}
	_, program, _ := strings.Cut(string(text), "```python\n")
	program, _, _ = strings.Cut(program, "```")
	port := freePort(t)
	ctx, cancel := context.WithCancel(context.Background())
	receiver := exec.CommandContext(ctx, "python3", "-c", program, fmt.Sprint(port))
	receiver.Env = append(os.Environ(), "WEBHOOK_SECRET="+hookSecret)
	receiver.Stderr = os.Stderr
	out, err := receiver.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := receiver.Start(); err != nil {
		t.Fatal(err)
	}
	lines := make(chan string, 1000)
	go func() {
		defer close(lines)
		for in := bufio.NewScanner(out); in.Scan(); {
			lines <- in.Text()
		}
	}()
	defer func() {
		cancel()
		for range lines { // until its output has ended
		}
		_ = receiver.Wait()
	}()
	address := fmt.Sprintf("http://127.0.0.1:%d/", port)
	until(t, time.Minute, func() string {
		answer, err := client.Post(address, "application/json", strings.NewReader(`{"uid":"forged"}`))
		if err != nil {
			return err.Error()
		}
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusForbidden {
			t.Fatalf("what is not signed is answered %d", answer.StatusCode)
		}
		return ""
	})
	c := newCluster(t, "--allow-net", "127.0.0.0/8", "--secrets", hookFile(t), "--webhook", address)
	c.addReady(1)
	first := c.nodes[0]
	first.order("/api/v1/crawl/pause")
	first.order("/api/v1/crawl/resume")
	for _, code := range []string{crawl.EventJoined, crawl.EventPaused, crawl.EventResumed} {
		for late, arrived := time.After(4*time.Minute), false; !arrived; {
			select {
			case line := <-lines:
				if strings.Contains(line, " trouble") {
					continue // of a machine that is busy or full
				}
				if arrived = true; !strings.Contains(line, " info "+code+" '") {
					t.Errorf("it prints %q, want %s", line, code)
				}
			case <-late:
				t.Fatalf("no %s arrives", code)
			}
		}
	}
	c.stop()
}

// TestWebhookMistakes: what cannot work is refused at the start, with the remedy, and without the
// secret parts of an address.
func TestWebhookMistakes(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "secrets")
	if err := os.WriteFile(empty, []byte("other=x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		flags []string
		want  string
	}{
		{[]string{"--webhook", "ftp://a.test/hunter2"}, "--webhook: write the URL of a webhook as https://HOST/PATH"},
		{[]string{"--webhook", "https://u:hunter2@a.test/"}, "leave them out"},
		{[]string{"--webhook", "https://a.test/hunter2", "--webhook", "https://a.test/hunter2"}, "is given twice"},
		{[]string{"--webhook", "https://a.test/hunter2", "--secrets", empty}, "add a line webhook=VALUE"},
	} {
		args := append([]string{"start", "--name", "n1", "--data-dir", filepath.Join(t.TempDir(), "n1"),
			"--http", "127.0.0.1:0", "--gossip", "127.0.0.1:0", "--rpc", "127.0.0.1:0"}, tc.flags...)
		code, _, stderr := run(t, "", args...)
		if code != 2 || !strings.Contains(stderr, tc.want) || strings.Contains(stderr, "hunter2") {
			t.Errorf("%q: exit code %d, %s", tc.flags, code, stderr)
		}
	}
}
