package integration

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"crawlnode/crawl"
)

// cluster is a set of nodes with the same settings in one folder.
type cluster struct {
	t     *testing.T
	dir   string
	flags []string // of every node
	nodes []*node
	key   *secret // nil: none
}

// node is one crawlnode process, or the place of one between two.
type node struct {
	*process
	c                 *cluster
	name, dir         string
	http, gossip, rpc string
	flags             []string
	wrap              []string // the command that starts the node's command, if any
	program           string   // "": the binary
}

// drainTime is --drain-timeout of a cluster: to hand over some hundred partitions takes longer than
// the default where other tests run beside, or the race detector. leaveTime is how long a node that
// was asked to leave may take to end.
const drainTime, leaveTime = 90 * time.Second, 130 * time.Second

// newCluster makes an empty cluster. flags are those that all nodes share.
func newCluster(t *testing.T, flags ...string) *cluster {
	t.Helper()
	// The webs of tests listen at any free port, and link to each other's.
	flags = append([]string{"--allow-ports", "1-65535", "--drain-timeout", drainTime.String()},
		flags...)
	return &cluster{t: t, dir: t.TempDir(), flags: flags}
}

// add starts one more node, which joins the first, without waiting for it.
func (c *cluster) add(flags ...string) *node {
	c.t.Helper()
	n := c.place(flags...)
	n.start()
	return n
}

// place makes the place of one more node.
func (c *cluster) place(flags ...string) *node {
	c.t.Helper()
	n := &node{c: c, name: fmt.Sprint("n", len(c.nodes)+1), flags: flags}
	n.dir = filepath.Join(c.dir, n.name)
	for _, addr := range []*string{&n.http, &n.gossip, &n.rpc} {
		*addr = fmt.Sprint("127.0.0.1:", freePort(c.t))
	}
	c.nodes = append(c.nodes, n)
	return n
}

// addReady starts some nodes, one after the other, each when the last is ready.
func (c *cluster) addReady(count int) {
	c.t.Helper()
	for range count {
		c.add().ready()
	}
}

// start runs the node's command: the same on every start.
func (n *node) start() {
	n.c.t.Helper()
	args := append(slices.Clone(n.wrap), cmp.Or(n.program, binary(n.c.t)), "start", "--name", n.name,
		"--data-dir", n.dir,
		"--http", n.http, "--gossip", n.gossip, "--rpc", n.rpc)
	if first := n.c.nodes[0]; first != n {
		args = append(args, "--join", first.gossip)
	}
	args = append(append(args, n.c.flags...), n.flags...)
	n.process = spawn(n.c.t, n.name, filepath.Join(n.c.dir, n.name+".log"), args...)
}

// ready waits until the node serves.
func (n *node) ready() {
	n.c.t.Helper()
	until(n.c.t, time.Minute, func() string {
		select {
		case <-n.done:
			n.c.t.Fatalf("%s ended instead of getting ready: %v\n%s", n.name, n.err, tail(n.log, 20))
		default:
		}
		code, _, err := n.get("/readyz")
		if err != nil || code != http.StatusOK {
			return fmt.Sprintf("%s is not ready: status %d, %v", n.name, code, err)
		}
		return ""
	})
}

// client asks nodes. It does not wait for ever: a node that hangs is a failure.
var client = &http.Client{Timeout: 40 * time.Second}

// get asks the node for a path.
func (n *node) get(path string) (int, []byte, error) {
	req, err := n.request(http.MethodGet, path, nil)
	if err != nil {
		return 0, nil, err
	}
	resp, err := n.c.client().Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, body, err
}

// request makes a request to the node, with the token when the cluster has a key.
func (n *node) request(method, path string, body io.Reader) (*http.Request, error) {
	if n.c.key == nil {
		return http.NewRequest(method, "http://"+n.http+path, body)
	}
	req, err := http.NewRequest(method, "https://"+n.http+path, body)
	if err == nil {
		req.Header.Set("Authorization", "Bearer "+n.c.key.APIToken())
	}
	return req, err
}

// client asks the nodes of the cluster.
func (c *cluster) client() *http.Client {
	if c.key == nil {
		return client
	}
	return c.key.client
}

// busyFor is how long decode asks again while the answer is that a node is too busy.
const busyFor = 2 * time.Minute

// decode asks the node for a path and reads the JSON. As clients do, it asks again when the node can
// answer later, or another one has not answered it in time.
func (n *node) decode(path string, into any) error {
	for end := time.Now().Add(busyFor); ; time.Sleep(50 * time.Millisecond) {
		req, err := n.request(http.MethodGet, path, nil)
		if err != nil {
			return err
		}
		code, body, err := reply(n.c.client(), req)
		if err != nil {
			return err
		}
		if code == http.StatusServiceUnavailable || code == http.StatusOK && unanswered(body) {
			if time.Now().Before(end) {
				continue
			}
		}
		return decodeBody(req, code, body, into)
	}
}

// unanswered reports whether a document names somebody who has not answered in time.
func unanswered(body []byte) bool {
	var part struct{ Unanswered json.RawMessage }
	if json.Unmarshal(body, &part) != nil {
		return false // a list
	}
	text := string(part.Unanswered)
	return text != "" && text != "null" && text != "[]"
}

// decodeReply sends a request and reads the JSON of its answer.
func decodeReply(client *http.Client, req *http.Request, into any) error {
	code, body, err := reply(client, req)
	if err != nil {
		return err
	}
	return decodeBody(req, code, body, into)
}

// reply sends a request and reads its answer.
func reply(client *http.Client, req *http.Request) (code int, body []byte, err error) {
	resp, err := client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(resp.Body)
	return resp.StatusCode, body, err
}

// decodeBody reads the JSON of an answer.
func decodeBody(req *http.Request, code int, body []byte, into any) error {
	if code != http.StatusOK {
		return fmt.Errorf("%s %s: status %d: %s", req.Method, req.URL.Path, code, body)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("%s %s: %w", req.Method, req.URL.Path, err)
	}
	return nil
}

// view is the number of the view that a node shows.
func (c *cluster) view() int {
	c.t.Helper()
	s, err := c.living()[0].status()
	if err != nil {
		c.t.Fatal(err)
	}
	return s.Ring.View
}

// moves is how often a partition may have moved since a view: so often by changes of the members, in
// so many views, and once more with each other view. Those are of members that were silent for too
// long on a busy machine, and of their return.
func (c *cluster) moves(since, views, moves int) int {
	c.t.Helper()
	return moves + max(c.view()-since-views, 0)
}

// stopTimeout is --timeout of commands that stop nodes, which wait for their ends.
const stopTimeout = "15m"

// stopAll stops all nodes at once by an order to one of them, and, as a person would, those that did
// not take the order in time by orders of their own. It returns what the command says.
func (c *cluster) stopAll(at *node) (stdout string) {
	c.t.Helper()
	code, stdout, stderr := run(c.t, "", "stop", "--all", "--timeout", stopTimeout, "--addr", at.http)
	if late, _, ok := strings.Cut(stderr, " did not take the order"); code == 4 && ok {
		words := strings.FieldsFunc(late, func(r rune) bool { return r == ' ' || r == ',' })
		for _, n := range c.living() {
			if slices.Contains(words, n.name) { // or it has taken it by now, and ends
				code, out, errs := run(c.t, "", "stop", "--timeout", stopTimeout, "--addr", n.http)
				c.t.Logf("%sstop at %s ends with %d: %s%s", stderr, n.name, code, out, errs)
			}
		}
		return stdout
	}
	if code != 0 || stderr != "" {
		c.t.Fatalf("stop --all ends with %d: %s%s", code, stdout, stderr)
	}
	if strings.Count(stdout, ", ") != len(c.nodes)-1 {
		c.t.Errorf("stop --all names other nodes than the %d that there are: %s", len(c.nodes), stdout)
	}
	return stdout
}

// status is the part of /status that the tests look at.
type status struct {
	Cluster struct {
		State  string
		Health struct {
			Reasons []struct{ Code, Message string }
		}
		Members struct{ Alive, Suspect, Failed int }
	}
	Ring struct {
		View            int
		Digest          string
		Converged       bool
		Partitions      int
		Served          int
		UnderReplicated int `json:"under_replicated"`
		Offline         int
	}
	Crawl struct {
		State        string
		FinishReason *string `json:"finish_reason"`
	}
	Throughput struct {
		PagesTotal int64 `json:"pages_total"`
	}
	Frontier struct {
		Queued, Outbox int64
		InFlight       int64   `json:"in_flight"`
		ByBand         []int64 `json:"by_band"`
		SeenTotal      int64   `json:"seen_total"`
		Hosts          struct{ Total int64 }
	}
	Output struct {
		ContentDuplicatesTotal int64 `json:"content_duplicates_total"`
		ContentUnansweredTotal int64 `json:"content_unanswered_total"`
	}
	Bottleneck struct{ Cause, Message string }
	Nodes      []struct{ ID, Name, State string }
}

func (n *node) status() (s status, err error) { return s, n.decode("/status", &s) }

// ring is /api/v1/ring.
type ring struct {
	View       int
	Digest     string
	Partitions []struct {
		Partition     int
		Owner, Holder string
		Replicas      []string
		InSync        []string `json:"in_sync"`
		Epoch         int
		State         string
	}
}

// seed hands URLs to the node as a person would: again, as the command says, when partitions that
// are still being handed out did not acknowledge them in time. A seed counts as a duplicate when it
// was stored by an attempt before, or when a page of another seed, fetched while the rest was on
// its way, has linked to it.
func (n *node) seed(urls ...string) {
	n.c.t.Helper()
	args := []string{"seeds", "add", "--addr", n.http, "-"}
	if n.c.key != nil {
		args = append(args, "--cluster-key-file", n.c.key.file)
	}
	attempts := 0
	until(n.c.t, time.Minute, func() string {
		code, stdout, stderr := run(n.c.t, strings.Join(urls, "\n")+"\n", args...)
		if attempts++; code == 4 && strings.Contains(stderr, "send them again") {
			return stderr
		}
		var accepted, duplicate int
		_, err := fmt.Sscanf(stdout, "seeds: %d accepted, %d duplicate, 0 invalid", &accepted, &duplicate)
		if code != 0 || err != nil || accepted == 0 && attempts == 1 || accepted+duplicate != len(urls) {
			n.c.t.Fatalf("seeds add: exit code %d, want 0 and %d URLs taken\n%s%s", code, len(urls), stdout,
				stderr)
		}
		return ""
	})
}

// finished waits until every running node reports that the crawl has ended.
func (c *cluster) finished(within time.Duration) {
	c.t.Helper()
	waiting, look := "", time.Now().Add(time.Minute)
	until(c.t, within, func() string {
		for _, n := range c.living() {
			s, err := n.status()
			if err != nil {
				return fmt.Sprintf("%s: %v", n.name, err)
			}
			if s.Crawl.State == "finished" {
				continue
			}
			if time.Now().After(look) { // for whoever reads why it has not finished in time
				waiting, look = n.queued(), time.Now().Add(10*time.Second)
			}
			return fmt.Sprintf("%s: crawl %s, %d pages, %d queued, %d in flight%s", n.name, s.Crawl.State,
				s.Throughput.PagesTotal, s.Frontier.Queued, s.Frontier.InFlight, waiting)
		}
		return ""
	})
	c.lawful()
}

// queued says of a few URLs that are queued in the cluster what their hosts wait for.
func (n *node) queued() string {
	var text strings.Builder
	var page crawl.URLPage
	if err := n.decode("/api/v1/urls?state=queued&limit=5", &page); err != nil {
		return fmt.Sprintf("; what is queued is not known: %v", err)
	}
	for _, l := range page.URLs {
		var h struct {
			Holder  crawl.NodeRef
			Summary string
		}
		u, err := url.Parse(l.URL)
		if err == nil {
			err = n.decode("/api/v1/hosts/"+u.Hostname(), &h)
		}
		fmt.Fprintf(&text, "\n  %s, held by %s: %s (%v)", l.URL, h.Holder.Name, h.Summary, err)
	}
	return text.String()
}

// living returns the nodes whose process runs.
func (c *cluster) living() []*node {
	var nodes []*node
	for _, n := range c.nodes {
		select {
		case <-n.done:
		default:
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// converged waits until all living nodes see each other, agree on the table and
// serve all of it.
func (c *cluster) converged(within time.Duration) {
	c.t.Helper()
	until(c.t, within, func() string {
		digest := ""
		for _, n := range c.living() {
			s, err := n.status()
			if err != nil {
				return fmt.Sprintf("%s: %v", n.name, err)
			}
			if s.Cluster.Members.Alive != len(c.living()) || !s.Ring.Converged ||
				s.Ring.Served != s.Ring.Partitions || digest != "" && digest != s.Ring.Digest {
				return fmt.Sprintf("%s: %d members of %d, ring %+v", n.name, s.Cluster.Members.Alive,
					len(c.living()), s.Ring)
			}
			digest = s.Ring.Digest
		}
		return ""
	})
	c.lawful()
}

// stop asks all nodes to end at once; each must end with exit code 0.
func (c *cluster) stop() {
	c.t.Helper()
	living := c.living()
	for _, n := range living {
		n.signal(syscall.SIGTERM)
	}
	for _, n := range living {
		if code := n.exit(c.t, leaveTime); code != 0 {
			c.t.Errorf("%s: exit code %d after SIGTERM\n%s", n.name, code, tail(n.log, 10))
		}
	}
}
