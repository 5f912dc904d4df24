package integration

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	crawlnode "crawlnode/node"
	"crawlnode/peer"
	"crawlnode/security/clusterkey"
)

// secret is a cluster's key, as `keygen` made it.
type secret struct {
	clusterkey.Key
	file   string
	client *http.Client // pins the key
}

// newSecret makes a key with the command.
func newSecret(t *testing.T) *secret {
	t.Helper()
	file := filepath.Join(t.TempDir(), "cluster.key")
	if code, stdout, stderr := run(t, "", "keygen", file); code != 0 ||
		!strings.Contains(stdout, "fingerprint") {
		t.Fatalf("keygen: exit code %d\n%s%s", code, stdout, stderr)
	}
	key, err := clusterkey.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	return &secret{key, file, &http.Client{
		Timeout:   client.Timeout,
		Transport: &http.Transport{TLSClientConfig: key.ClientTLS()},
	}}
}

// pool makes the calls of a node that has the key.
func (s *secret) pool(self, cluster string) *peer.Pool {
	protocol, _ := crawlnode.Versions()
	return peer.NewPool(peer.PoolOptions{
		Self:     self,
		Protocol: protocol,
		Cluster:  func() string { return cluster },
		TLS:      func(int) *tls.Config { return s.ClientTLS() },
	})
}

// keyed gives a cluster a key before its first node starts.
func (c *cluster) keyed() *cluster {
	c.t.Helper()
	c.key = newSecret(c.t)
	c.flags = append(c.flags, "--cluster-key-file", c.key.file)
	return c
}

// A node without the key, with another key, with another --cluster or of another cluster neither
// joins a cluster, nor commands it, nor reads from it: by gossip, by calls between nodes and by the
// API. Each gets the reason, and the cluster's logs stay short.
func TestStrangersStayOut(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	c := newCluster(t, "--allow-net", "127.0.0.0/8", "--log-format", "json").keyed()
	c.addReady(2)
	began := time.Now()
	strangersJoin(t, c)
	strangersCall(t, c)
	strangersAsk(t, c)

	s, err := c.nodes[0].status()
	if err != nil || s.Cluster.Members.Alive != 2 || len(s.Nodes) != 2 || s.Crawl.State != "idle" ||
		s.Frontier.Queued != 0 {
		t.Errorf("after all that the cluster is not what it was: %+v, %v", s, err)
	}
	c.stop()
	judgeLog(t, c.nodes[0], time.Since(began)) // all of it went to this one
}

// judgeLog checks that strangers provoke at most one line a second of each kind.
func judgeLog(t *testing.T, n *node, took time.Duration) {
	t.Helper()
	text, err := os.ReadFile(n.log)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for line := range strings.SplitSeq(string(text), "\n") {
		_, rest, ok := strings.Cut(line, `"msg":"`)
		if message, _, _ := strings.Cut(rest, `"`); ok {
			if strings.Contains(line, `"from":"gossip"`) {
				message = "gossip"
			}
			kinds[message]++
		}
	}
	for kind, lines := range kinds {
		if float64(lines) > took.Seconds()+2 {
			t.Errorf("%s: %d lines %q in %v", n.name, lines, kind, took)
		}
	}
	if kinds["refused an API request: no valid token of this cluster"] == 0 ||
		kinds["refused a connection to the RPC port: it has not shown this cluster's key"] == 0 {
		t.Errorf("%s says nothing of what it has refused: %v", n.name, kinds)
	}
}

// strangersJoin starts nodes that try to join by gossip.
func strangersJoin(t *testing.T, c *cluster) {
	t.Helper()
	other := newSecret(t)
	var strangers []*node
	start := func(says string, flags ...string) {
		home := &cluster{
			t:     t,
			dir:   t.TempDir(),
			flags: []string{"--allow-net", "127.0.0.0/8", "--log-format", "json"},
		}
		n := home.place(append(flags, "--join", c.nodes[0].gossip)...)
		n.name = fmt.Sprint("stranger", len(strangers)+1)
		if strings.Contains(says, "same name") { // it has founded a cluster of its own before
			home.flags = append(home.flags, "--cluster-key-file", c.key.file)
			home.key = c.key
			n.flags = nil
			n.start()
			n.ready()
			n.signal(syscall.SIGKILL)
			<-n.done
			n.flags = []string{"--join", c.nodes[0].gossip}
		}
		n.start()
		strangers = append(strangers, n)
		until(t, 20*time.Second, func() string {
			if log := tail(n.log, 1000); !strings.Contains(log, says) {
				return fmt.Sprintf("%s does not say %q:\n%s", n.name, says, log)
			}
			return ""
		})
	}
	start("it has a cluster key and this node has none")
	start("it has another cluster key", "--cluster-key-file", other.file)
	start("another --cluster", "--cluster-key-file", c.key.file, "--cluster", "elsewhere")
	start("another cluster of the same name")
	for i, n := range strangers {
		if i < 3 { // the last one serves its own
			if code, _, err := n.get("/readyz"); err == nil && code == http.StatusOK {
				t.Errorf("%s is ready", n.name)
			}
		}
		n.signal(syscall.SIGKILL)
		<-n.done
	}
}

// strangersCall makes the calls of nodes.
func strangersCall(t *testing.T, c *cluster) {
	t.Helper()
	const someCluster = "0123456789abcdef0123456789abcdef"
	other := newSecret(t)
	protocol, _ := crawlnode.Versions()
	for _, who := range []struct {
		name, cluster string
		tls           *tls.Config
		code          codes.Code
		says          string
	}{
		{"without a key", someCluster, nil, codes.Unavailable, ""},
		{"with another key", someCluster, other.ClientTLS(), codes.Unavailable, "another cluster key"},
		{"of another cluster", someCluster, c.key.ClientTLS(), codes.FailedPrecondition, "the caller is of cluster"},
		{"of no cluster", "", c.key.ClientTLS(), codes.FailedPrecondition, "the caller is of cluster"},
	} {
		o := peer.PoolOptions{
			Self:     "stranger",
			Protocol: protocol,
			Cluster:  func() string { return who.cluster },
		}
		if who.tls != nil {
			o.TLS = func(int) *tls.Config { return who.tls }
		}
		pool := peer.NewPool(o)
		everyCallFails(t, fmt.Sprintf("a node %s, want %v, %q", who.name, who.code, who.says), pool,
			c.nodes[0].target(), func(err error) bool {
				return grpcstatus.Code(err) == who.code && strings.Contains(err.Error(), who.says)
			})
		pool.Close()
	}
}

// target is a node that has been started once, as calls name it.
func (n *node) target() peer.Target {
	n.c.t.Helper()
	s, err := n.status()
	if err != nil {
		n.c.t.Fatal(err)
	}
	for _, other := range s.Nodes {
		if other.Name == n.name {
			return peer.Target{ID: other.ID, Boot: 1, Addr: n.rpc}
		}
	}
	n.c.t.Fatalf("%s is not in its own status", n.name)
	return peer.Target{}
}

// everyCallFails makes each call, and again while its error is another than it must be: a refusal may
// come later than a call waits.
func everyCallFails(t *testing.T, who string, pool *peer.Pool, to peer.Target, fits func(error) bool) {
	t.Helper()
	until(t, time.Minute, func() string {
		for call, err := range everyCall(t.Context(), pool, to) {
			if err == nil {
				t.Fatalf("%s: %s was answered", who, call)
			}
			if !fits(err) {
				return fmt.Sprintf("%s: %s: %v", who, call, err)
			}
		}
		return ""
	})
}

// everyCall makes one call of each kind that reads or commands.
func everyCall(ctx context.Context, pool *peer.Pool, to peer.Target) map[string]error {
	got := map[string]error{}
	envelope := &peer.Envelope{Payload: []byte("{}")}
	_, got["Renew"] = peer.Call(ctx, pool, to,
		&peer.RenewRequest{View: 1, Boot: 1, Block: []byte("{}")}, peer.PeerClient.Renew)
	_, got["Clock"] = peer.Call(ctx, pool, to, &peer.ClockRequest{Boot: 1}, peer.PeerClient.Clock)
	_, got["Crawl"] = peer.Call(ctx, pool, to, &peer.CrawlRequest{}, peer.PeerClient.Crawl)
	_, got["Handoff"] = peer.Call(ctx, pool, to, envelope, peer.PeerClient.Handoff)
	_, got["Operate"] = peer.Call(ctx, pool, to, envelope, peer.PeerClient.Operate)
	_, got["Explain"] = peer.Call(ctx, pool, to, envelope, peer.PeerClient.Explain)
	_, got["Permits"] = peer.Call(ctx, pool, to, &peer.PermitRequest{}, peer.PeerClient.Permits)
	_, got["Idle"] = peer.Call(ctx, pool, to, &peer.IdleRequest{}, peer.PeerClient.Idle)
	_, got["Partitions"] = peer.Call(ctx, pool, to, &peer.PartitionsRequest{},
		peer.PeerClient.Partitions)
	_, got["Addresses"] = peer.Call(ctx, pool, to, &peer.AddressBatch{}, peer.PeerClient.Addresses)
	_, got["Contents"] = peer.Call(ctx, pool, to, &peer.ContentBatch{}, peer.PeerClient.Contents)
	return got
}

// strangersAsk sends requests to the API.
func strangersAsk(t *testing.T, c *cluster) {
	t.Helper()
	n, other := c.nodes[0], newSecret(t)
	blind := &http.Client{
		Timeout:   client.Timeout,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
	}
	paths := []string{"GET /", "GET /status", "GET /metrics", "GET /healthz", "GET /api/v1/ring",
		"GET /api/v1/nodes", "GET /api/v1/stats", "GET /api/v1/urls?url=http://a/",
		"GET /api/v1/cdxj", "GET /nothing", "POST /api/v1/seeds", "POST /api/v1/crawl/pause",
		"POST /api/v1/crawl/stop", "POST /api/v1/nodes/n2/drain", "POST /api/v1/nodes/n2/forget"}
	for _, auth := range []string{"", "Bearer " + other.APIToken(), "Bearer ", "Basic Og==",
		"Bearer " + c.key.APIToken()[1:]} {
		for _, p := range paths {
			method, path, _ := strings.Cut(p, " ")
			req, err := http.NewRequest(method, "https://"+n.http+path, strings.NewReader("http://a.test/"))
			if err != nil {
				t.Fatal(err)
			}
			if auth != "" {
				req.Header.Set("Authorization", auth)
			}
			resp, err := blind.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close() // its status is enough
			if resp.StatusCode != http.StatusUnauthorized {
				t.Errorf("%s with %q: status %d, want 401", p, auth, resp.StatusCode)
			}
		}
	}
	for _, path := range []string{"/livez", "/readyz"} {
		if resp, err := blind.Get("https://" + n.http + path); err != nil ||
			resp.StatusCode != http.StatusOK {
			t.Errorf("%s without a token: %v, %v", path, resp, err)
		}
	}
	for _, verb := range []struct {
		args []string
		says string
	}{
		{[]string{"status", "--addr", n.http}, "--cluster-key-file"},
		{[]string{"status", "--addr", n.http, "--cluster-key-file", other.file}, "another cluster key"},
		{[]string{"seeds", "add", "http://a.test/", "--addr", n.http}, "--cluster-key-file"},
		{[]string{"pause", "--addr", n.http, "--cluster-key-file", other.file}, "another cluster key"},
	} {
		if code, stdout, stderr := run(t, "", verb.args...); code != 1 ||
			!strings.Contains(stderr, verb.says) {
			t.Errorf("crawlnode %v: exit code %d, want 1 and %q\n%s%s", slices.Concat(verb.args), code,
				verb.says, stdout, stderr)
		}
	}
}
