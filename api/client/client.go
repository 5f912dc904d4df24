package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"crawlnode/crawl"
)

// maxAnswerBytes bounds how much of an answer is read; a ring of 65,536 partitions is about 15 MiB.
const maxAnswerBytes = 64 << 20

// requestTimeout bounds one request. It is longer than the node's own limits.
const requestTimeout = 15 * time.Second

// ErrUnreachable is inside the error when the node did not answer.
var ErrUnreachable = errors.New("nobody answers")

// Options say which node to ask and how.
type Options struct {
	Addr  string      // host:port, with or without http:// or https://
	Token string      // of the cluster's key, or ""
	TLS   *tls.Config // for a cluster with a key; nil: plain HTTP
}

// Client sends requests to one node. It may be used from many goroutines.
type Client struct {
	base  string // http://host:port
	addr  string // for messages
	token string
	http  *http.Client
	long  *http.Client // for answers that take long
}

// New returns a client. It sends nothing yet.
func New(o Options) *Client {
	scheme := "http://"
	if o.TLS != nil {
		scheme = "https://"
	}
	addr := strings.TrimSuffix(o.Addr, "/")
	if rest, ok := strings.CutPrefix(addr, "https://"); ok {
		scheme, addr = "https://", rest
	}
	addr = strings.TrimPrefix(addr, "http://")
	transport := &http.Transport{
		TLSClientConfig:     o.TLS,
		TLSHandshakeTimeout: 5 * time.Second,
		DialContext:         (&net.Dialer{Timeout: 3 * time.Second}).DialContext,
		MaxIdleConns:        2,
		IdleConnTimeout:     30 * time.Second,
	}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{
		base: scheme + addr, addr: addr, token: o.Token,
		http: &http.Client{Transport: transport, Timeout: requestTimeout, CheckRedirect: stay},
		long: &http.Client{Transport: transport, CheckRedirect: stay},
	}
}

// Close ends the idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Status asks for the cluster's status, or with nodeOnly for the node's own.
func (c *Client) Status(ctx context.Context, nodeOnly bool) (*crawl.Status, error) {
	path := "/status"
	if nodeOnly {
		path += "?scope=node"
	}
	st := new(crawl.Status)
	return st, c.get(ctx, path, st)
}

// Ring asks which node has which partition.
func (c *Client) Ring(ctx context.Context) (*crawl.RingReport, error) {
	ring := new(crawl.RingReport)
	return ring, c.get(ctx, "/api/v1/ring", ring)
}

// Nodes asks for the list of nodes.
func (c *Client) Nodes(ctx context.Context) ([]crawl.NodeStatus, error) {
	var nodes []crawl.NodeStatus
	return nodes, c.get(ctx, "/api/v1/nodes", &nodes)
}

// DrainNode asks a node, given by its id or its name, to hand over its partitions and leave.
func (c *Client) DrainNode(ctx context.Context, idOrName string) (NodeOrder, error) {
	return c.orderNode(ctx, idOrName, "drain")
}

// WeighNode changes the weight of a node, given by its id or its name.
func (c *Client) WeighNode(ctx context.Context, idOrName string, weight int) (NodeOrder, error) {
	return c.placeNode(ctx, idOrName, "weight", crawl.PlaceChange{Weight: &weight})
}

// ZoneNode puts a node, given by its id or its name, into a zone; "" takes it out of any.
func (c *Client) ZoneNode(ctx context.Context, idOrName, zone string) (NodeOrder, error) {
	return c.placeNode(ctx, idOrName, "zone", crawl.PlaceChange{Zone: &zone})
}

func (c *Client) placeNode(
	ctx context.Context,
	idOrName, order string,
	change crawl.PlaceChange,
) (done NodeOrder, err error) {
	body, err := json.Marshal(change)
	if err != nil {
		return done, fmt.Errorf("writing the %s as JSON: %w", order, err)
	}
	err = c.call(ctx, http.MethodPost, "/api/v1/nodes/"+url.PathEscape(idOrName)+"/"+order, body,
		&done)
	return done, err
}

// StopNode stops a node, given by its id or its name, as SIGTERM does.
func (c *Client) StopNode(ctx context.Context, idOrName string) (NodeOrder, error) {
	return c.orderNode(ctx, idOrName, "stop")
}

// StopAll stops all nodes with their data in place.
func (c *Client) StopAll(ctx context.Context) (report crawl.StopReport, err error) {
	err = c.call(ctx, http.MethodPost, "/api/v1/nodes/stop", nil, &report)
	return report, err
}

// ForgetNode removes a dead node for good.
func (c *Client) ForgetNode(ctx context.Context, idOrName string) (NodeOrder, error) {
	return c.orderNode(ctx, idOrName, "forget")
}

// NodeOrder names the node of an order.
type NodeOrder struct {
	ID   crawl.NodeID `json:"id"`
	Name string       `json:"name"` // "" when the asked node never heard of it
}

func (c *Client) orderNode(
	ctx context.Context,
	idOrName, order string,
) (done NodeOrder, err error) {
	err = c.call(ctx, http.MethodPost, "/api/v1/nodes/"+url.PathEscape(idOrName)+"/"+order, nil, &done)
	return done, err
}

// ControlCrawl pauses, resumes or stops the crawl; action is crawl.ActionPause,
// ActionResume or ActionStop.
func (c *Client) ControlCrawl(
	ctx context.Context,
	action string,
) (report crawl.ActionReport, err error) {
	err = c.call(ctx, http.MethodPost, "/api/v1/crawl/"+action, nil, &report)
	return report, err
}

// CrawlConfig asks for the crawl's settings.
func (c *Client) CrawlConfig(ctx context.Context) (report crawl.CrawlReport, err error) {
	err = c.get(ctx, "/api/v1/crawl", &report)
	return report, err
}

// ChangeCrawl changes the named settings on all nodes.
func (c *Client) ChangeCrawl(
	ctx context.Context,
	change crawl.CrawlChange,
) (report crawl.CrawlReport, err error) {
	body, err := json.Marshal(change)
	if err != nil {
		return report, fmt.Errorf("writing the settings as JSON: %w", err)
	}
	err = c.call(ctx, http.MethodPut, "/api/v1/crawl", body, &report)
	return report, err
}

// RevokeToken ends a token on all nodes.
func (c *Client) RevokeToken(
	ctx context.Context,
	id string,
) (report crawl.RevokeReport, err error) {
	err = c.call(ctx, http.MethodPost, "/api/v1/tokens/"+url.PathEscape(id)+"/revoke", nil, &report)
	return report, err
}

// RotateKey starts to replace the cluster's key, or asks for the progress.
func (c *Client) RotateKey(
	ctx context.Context,
	key string,
) (report crawl.RotationReport, err error) {
	body, err := json.Marshal(crawl.KeyRotation{Key: key})
	if err != nil {
		return report, fmt.Errorf("writing the key as JSON: %w", err)
	}
	err = c.call(ctx, http.MethodPost, "/api/v1/keys/rotate", body, &report)
	return report, err
}

// Metrics returns the Prometheus exposition as text.
func (c *Client) Metrics(ctx context.Context) ([]byte, error) {
	return c.do(ctx, http.MethodGet, "/metrics", nil)
}

// Address is the one of the node, for messages.
func (c *Client) Address() string { return c.addr }

// RemoveSeeds asks the cluster to take URLs out of the queue, in requests of at most 1,000. After
// an error the report holds what was answered before it; sending all again is harmless.
func (c *Client) RemoveSeeds(ctx context.Context, seeds []crawl.Seed) (crawl.RemovalReport, error) {
	const batch = 1000
	var total crawl.RemovalReport
	for part := range slices.Chunk(seeds, batch) {
		body, err := json.Marshal(map[string]any{"urls": part})
		if err != nil {
			return total, fmt.Errorf("writing the URLs as JSON: %w", err)
		}
		var report crawl.RemovalReport
		if err := c.call(ctx, http.MethodPost, "/api/v1/seeds/remove", body, &report); err != nil {
			return total, err
		}
		for _, u := range report.URLs {
			total.Add(u.URL, u.State)
		}
		for _, bad := range report.Invalid {
			if i := bad.Line - 1; i >= 0 && i < len(part) && part[i].Line > 0 {
				bad.Line = part[i].Line
			}
			total.Invalid = append(total.Invalid, bad)
		}
	}
	return total, nil
}

// AddSeeds sends seeds to the cluster, in requests of at most 1,000. The lines of the report are
// those of the seeds, or the positions in the list, from 1, for seeds without a line. After an
// error the report holds what was acknowledged before it; sending all again is harmless.
func (c *Client) AddSeeds(ctx context.Context, seeds []crawl.Seed) (crawl.SeedReport, error) {
	const batch = 1000
	total := crawl.SeedReport{Invalid: []crawl.SeedError{}}
	for begin := 0; begin < len(seeds); begin += batch {
		part := seeds[begin:min(begin+batch, len(seeds))]
		body, err := json.Marshal(map[string]any{"urls": part})
		if err != nil {
			return total, fmt.Errorf("writing the seeds as JSON: %w", err)
		}
		var report crawl.SeedReport
		if err := c.call(ctx, http.MethodPost, "/api/v1/seeds", body, &report); err != nil {
			return total, err
		}
		total.Accepted += report.Accepted
		total.Duplicates += report.Duplicates
		total.OutOfScope += report.OutOfScope
		for _, bad := range report.Invalid {
			if i := bad.Line - 1; i >= 0 && i < len(part) {
				if bad.Line = part[i].Line; bad.Line == 0 {
					bad.Line = begin + i + 1
				}
			}
			total.Invalid = append(total.Invalid, bad)
		}
	}
	return total, nil
}

// Check asks whether the node is "ready" or the cluster "healthy" (anything else is an error). It
// returns the node's explanation.
func (c *Client) Check(ctx context.Context, what string) (ok bool, why string, err error) {
	path := map[string]string{"ready": "/readyz", "healthy": "/healthz"}[what]
	if path == "" {
		return false, "", fmt.Errorf("%q is neither ready nor healthy", what)
	}
	body, err := c.do(ctx, http.MethodGet, path, nil)
	var failed *Error
	if errors.As(err, &failed) && failed.Code == http.StatusServiceUnavailable {
		return false, failed.Detail, nil
	}
	return err == nil, strings.TrimSpace(string(body)), err
}

func (c *Client) get(ctx context.Context, path string, into any) error {
	return c.call(ctx, http.MethodGet, path, nil, into)
}

// call sends one request and reads the JSON of its answer into a value.
func (c *Client) call(ctx context.Context, method, path string, body []byte, into any) error {
	answer, err := c.do(ctx, method, path, body)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return fmt.Errorf("%s%s did not answer like a crawlnode: is --addr right? %w", c.addr, path, err)
	}
	return nil
}

// Error is an error status that the node answered.
type Error struct {
	Addr   string
	Code   int    // HTTP status
	Detail string // the node's message: escape it before printing it to a terminal
}

func (e *Error) Error() string {
	// a former token of this cluster
	if e.Code == http.StatusUnauthorized && strings.HasPrefix(e.Detail, "not allowed: ") {
		return fmt.Sprintf("%s: %s", e.Addr, e.Detail)
	}
	if e.Code == http.StatusUnauthorized {
		return fmt.Sprintf("%s belongs to a cluster with a key: "+
			"give the same one with --cluster-key-file (its API token was not given "+
			"or is another's)", e.Addr)
	}
	return fmt.Sprintf("%s answered %d: %s", e.Addr, e.Code, e.Detail)
}

// NotFound reports whether the node has nothing of that name.
func (e *Error) NotFound() bool { return e.Code == http.StatusNotFound }

// CopyIndex writes the CDXJ index of the cluster's archive to w. It has no time limit. The output
// is complete only if the error is nil.
func (c *Client) CopyIndex(ctx context.Context, w io.Writer) error {
	resp, err := c.send(ctx, c.long, http.MethodGet, "/api/v1/cdxj", nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		answer, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswerBytes)) // the status is enough
		return &Error{c.addr, resp.StatusCode, detailOf(answer)}
	}
	if _, err := io.Copy(w, resp.Body); err != nil {
		return fmt.Errorf("the index from %s is incomplete: %w", c.addr, err)
	}
	return nil
}

// Captures lists what the cluster has stored of a URL.
func (c *Client) Captures(ctx context.Context, of string) (*crawl.CapturesReport, error) {
	report := new(crawl.CapturesReport)
	return report, c.get(ctx, "/api/v1/captures?url="+url.QueryEscape(of), report)
}

// OpenCapture reads one record of the cluster's archive, as it is stored: a gzip member or a
// zstd frame. The caller closes it.
func (c *Client) OpenCapture(
	ctx context.Context,
	file string,
	offset int64,
) (io.ReadCloser, error) {
	resp, err := c.send(ctx, c.long, http.MethodGet,
		fmt.Sprintf("/api/v1/captures/%s/%d", url.PathEscape(file), offset), nil)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		answer, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswerBytes)) // the status says enough
		return nil, errors.Join(&Error{c.addr, resp.StatusCode, detailOf(answer)}, resp.Body.Close())
	}
	return resp.Body, nil
}

// send sends one request. Its body is JSON.
func (c *Client) send(
	ctx context.Context,
	h *http.Client,
	method, path string,
	body []byte,
) (*http.Response, error) {
	header := http.Header{}
	if body != nil {
		header.Set("Content-Type", "application/json")
	}
	return c.sendWith(ctx, h, method, path, body, header)
}

// sendWith sends one request with some headers.
func (c *Client) sendWith(ctx context.Context, h *http.Client, method, path string, body []byte,
	header http.Header) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("%q is not an address: write host:port, such as 127.0.0.1:27295", c.addr)
	}
	req.Header = header
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := h.Do(req)
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	return resp, nil
}

// do sends one request and reads the whole answer.
func (c *Client) do(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	resp, err := c.send(ctx, c.http, method, path, body)
	if err != nil {
		return nil, err
	}
	return c.whole(resp)
}

// whole reads the whole of an answer, and closes it.
func (c *Client) whole(resp *http.Response) ([]byte, error) {
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswerBytes))
	if err != nil {
		return nil, fmt.Errorf("the answer of %s was interrupted: %w", c.addr, err)
	}
	if resp.StatusCode == http.StatusBadRequest &&
		strings.Contains(string(answer), "HTTP request to an HTTPS server") {
		return nil, &Error{Addr: c.addr, Code: http.StatusUnauthorized} // it uses TLS, so it has a key
	}
	if resp.StatusCode != http.StatusOK {
		return nil, &Error{c.addr, resp.StatusCode, detailOf(answer)}
	}
	return answer, nil
}

// unreachable makes the error for a missing answer, with advice.
func (c *Client) unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if strings.Contains(err.Error(), "server gave HTTP response to HTTPS client") {
		return fmt.Errorf("%w over HTTPS at %s: it speaks plain HTTP, so its cluster has no key: "+
			"leave --cluster-key-file out", ErrUnreachable, c.addr)
	}
	if strings.Contains(err.Error(), "another cluster key") {
		return fmt.Errorf("%w with this key at %s: the node has another cluster key; "+
			"give --cluster-key-file with the one of its cluster", ErrUnreachable, c.addr)
	}
	if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() {
		return fmt.Errorf("%w in time at %s: %w", ErrUnreachable, c.addr, err)
	}
	return fmt.Errorf(
		"%w at %s: is the node running? Start one with `crawlnode`, or name another with --addr (%w)",
		ErrUnreachable, c.addr, err)
}

// detailOf is the message of a failed answer: the detail of a problem (RFC 9457) or its plain text.
func detailOf(answer []byte) string {
	var problem struct {
		Detail string             `json:"detail"`
		Errors []crawl.FieldError `json:"errors"`
	}
	if json.Unmarshal(answer, &problem) == nil && problem.Detail != "" {
		detail := problem.Detail
		for _, e := range problem.Errors {
			detail += "\n" + e.Field + ": " + e.Detail
		}
		return detail
	}
	text := strings.TrimSpace(string(answer[:min(len(answer), 1000)]))
	if strings.HasPrefix(text, "<") {
		return "a web page, so that is no node: --addr is host:port of a node's --http address"
	}
	return strings.ReplaceAll(text, "\n", "; ")
}

// Reachable turns a listener's address into one that can be dialled from this
// machine.
func Reachable(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	if host == "" || host == "0.0.0.0" || host == "::" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}
