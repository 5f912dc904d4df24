package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	grpcstatus "google.golang.org/grpc/status"

	"crawlnode/crawl"
	"crawlnode/workers/urlfrontier/wire"
)

var (
	workersLoad = flag.Duration("workersload", 0,
		"how long the clients of TestWorkersLoad and TestFrontierLoad ask; 0: not at all")
	loadWorkers    = flag.Int("workersclients", 100, "how many clients they have")
	workersProfile = flag.String("workersprofile", "",
		"a file for the node's CPU profile while they ask")
)

// The load: clients that fetch nothing, and report two new links for each URL.
const (
	loadHosts, loadBatch = 12_000, 100
	loadPort             = 1080
)

// handedOut is what clients have seen.
type handedOut struct {
	settled, serial atomic.Int64
	mu              sync.Mutex // guards the rest
	next, results   []time.Duration
}

// took notes how long a call took.
func (h *handedOut) took(calls *[]time.Duration, begun time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	*calls = append(*calls, time.Since(begun))
}

// links are two URLs of the same host that nobody has reported before.
func (h *handedOut) links(host string) (links [2]string) {
	for i := range links {
		links[i] = fmt.Sprintf("http://%s:%d/%d", host, loadPort, h.serial.Add(1))
	}
	return links
}

func quantiles(calls []time.Duration) string {
	if len(calls) == 0 {
		return "none"
	}
	slices.Sort(calls)
	return fmt.Sprintf("%d, half within %v, 99 %% within %v", len(calls),
		calls[len(calls)/2].Round(time.Millisecond), calls[len(calls)*99/100].Round(time.Millisecond))
}

// loadHost is the name of a host: an address of loopback, so that nobody is asked for it.
func loadHost(i int) string { return fmt.Sprintf("127.%d.%d.%d", 1+i>>16, i>>8&255, i&255) }

// underLoad has clients ask a node for a while, and tells what the node needed.
func underLoad(
	t *testing.T,
	what string,
	ask func(ctx context.Context, n *node, frontier string, h *handedOut),
) {
	onRequest(t, *workersLoad != 0, "a measurement; run with -workersload 30s")
	needsProcesses(t)
	frontier, profiles := fmt.Sprint("127.0.0.1:", freePort(t)), fmt.Sprint("127.0.0.1:", freePort(t))
	c := newCluster(t, "--allow-net", "127.0.0.0/8", "--delay", "0", "--robots", "ignore", "--store",
		"none", "--fetch", "off", "--log-level", "warn",
		"--frontier-addr", frontier, "--debug-addr", profiles)
	n := c.add()
	n.ready()
	for from := 0; from < loadHosts; from += 1000 {
		var urls []string
		for i := range 1000 {
			urls = append(urls, fmt.Sprintf("http://%s:%d/", loadHost(from+i), loadPort))
		}
		n.seed(urls...)
	}
	ctx, cancel := context.WithTimeout(t.Context(), *workersLoad)
	defer cancel()
	var all sync.WaitGroup
	h, begun, used, clients, load := &handedOut{}, time.Now(), cpuTime(n.cmd.Process.Pid),
		cpuTime(os.Getpid()), loadAverage()
	if *workersProfile != "" {
		all.Go(func() { saveProfile(t, profiles, *workersLoad) })
	}
	ask(ctx, n, frontier, h)
	took := time.Since(begun)
	used, clients = cpuTime(n.cmd.Process.Pid)-used, cpuTime(os.Getpid())-clients
	all.Wait()
	done := h.settled.Load()
	if done == 0 {
		t.Fatal("nothing was settled")
	}
	t.Logf("%s: %d URLs settled in %.1f s, %.0f a second; processor time of the node %.1f s, "+
		"%.3f ms a URL, of the clients %.1f s, %.3f ms; calls that give out: %s; that settle: %s; "+
		"load %s before, %s after",
		what, done, took.Seconds(), float64(done)/took.Seconds(), used.Seconds(),
		used.Seconds()*1000/float64(done), clients.Seconds(), clients.Seconds()*1000/float64(done),
		quantiles(h.next), quantiles(h.results), load, loadAverage())
}

func saveProfile(t *testing.T, addr string, d time.Duration) {
	resp, err := (&http.Client{}).Get(
		fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", addr, int(d.Seconds())))
	if err != nil {
		t.Error(err)
		return
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil {
		err = os.WriteFile(*workersProfile, text, 0o600)
	}
	if err != nil {
		t.Error(err)
	}
}

// TestWorkersLoad measures the calls of workers over HTTP.
func TestWorkersLoad(t *testing.T) {
	underLoad(t, "HTTP", func(ctx context.Context, n *node, _ string, h *handedOut) {
		client := &http.Client{
			Timeout:   time.Minute,
			Transport: &http.Transport{MaxIdleConnsPerHost: *loadWorkers},
		}
		var workers sync.WaitGroup
		for i := range *loadWorkers {
			workers.Go(func() {
				for ctx.Err() == nil {
					if err := askByHTTP(ctx, client, n, i, h); err != nil && ctx.Err() == nil {
						t.Log(err)
						time.Sleep(100 * time.Millisecond)
					}
				}
			})
		}
		workers.Wait()
	})
}

// askByHTTP leases a batch and settles it.
func askByHTTP(ctx context.Context, client *http.Client, n *node, worker int, h *handedOut) error {
	begun := time.Now()
	var lease crawl.WorkerLease
	if err := exchange(ctx, client, n, http.MethodGet,
		fmt.Sprintf("/api/v1/frontier/next?worker_id=w%d&batch_size=%d&timeout_ms=1000", worker,
			loadBatch), nil, &lease); err != nil {
		return err
	}
	h.took(&h.next, begun)
	if len(lease.URLs) == 0 {
		return nil
	}
	results := crawl.WorkerResults{LeaseID: lease.LeaseID}
	for i := range lease.URLs {
		links := h.links(string(lease.URLs[i].Host))
		results.Results = append(results.Results, crawl.WorkerResult{
			URL:        lease.URLs[i].URL,
			Status:     crawl.WorkerSuccess,
			HTTPStatus: 200,
			Links:      links[:],
		})
	}
	body, err := json.Marshal(results)
	if err != nil {
		return err
	}
	begun = time.Now()
	var report crawl.ResultsReport
	if err := exchange(ctx, client, n, http.MethodPost, "/api/v1/frontier/results",
		bytes.NewReader(body), &report); err != nil {
		return err
	}
	h.took(&h.results, begun)
	h.settled.Add(int64(report.Processed))
	return nil
}

func exchange(
	ctx context.Context,
	client *http.Client,
	n *node,
	method, path string,
	body io.Reader,
	into any,
) error {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+n.http+path, body)
	if err != nil {
		return err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %d %.200s", method, path, resp.StatusCode, text)
	}
	return json.Unmarshal(text, into)
}

// TestFrontierLoad measures GetURLs and PutURLs. Each client has a connection, and one stream that
// it sends all items of a lease to before it waits for their acknowledgements.
func TestFrontierLoad(t *testing.T) {
	underLoad(t, "gRPC", func(ctx context.Context, _ *node, frontier string, h *handedOut) {
		var workers sync.WaitGroup
		for range *loadWorkers {
			conn, err := grpc.NewClient(frontier, grpc.WithTransportCredentials(insecure.NewCredentials()))
			if err != nil {
				t.Fatal(err)
			}
			workers.Go(func() {
				defer conn.Close()
				c := wire.NewURLFrontierClient(conn)
				put, err := c.PutURLs(ctx)
				for err == nil && ctx.Err() == nil {
					err = askByGRPC(ctx, c, put, h)
				}
				if ctx.Err() == nil {
					t.Error(err)
				}
			})
		}
		workers.Wait()
	})
}

// askByGRPC leases a batch and settles it.
func askByGRPC(
	ctx context.Context,
	c wire.URLFrontierClient,
	put wire.URLFrontier_PutURLsClient,
	h *handedOut,
) error {
	begun := time.Now()
	stream, err := c.GetURLs(ctx, &wire.GetParams{MaxQueues: loadBatch})
	var got []*wire.URLInfo
	for err == nil {
		var info *wire.URLInfo
		if info, err = stream.Recv(); err == nil {
			got = append(got, info)
		}
	}
	switch {
	case grpcstatus.Code(err) == codes.ResourceExhausted: // all clients of an address are one worker
		time.Sleep(50 * time.Millisecond)
		return nil
	case !errors.Is(err, io.EOF):
		return err
	}
	h.took(&h.next, begun)
	begun = time.Now()
	sent := 0
	for _, info := range got {
		depth, _ := strconv.Atoi(info.GetMetadata()["depth"].GetValues()[0])
		for _, link := range h.links(info.GetKey()) {
			md := map[string]*wire.StringList{
				"source_url": {Values: []string{info.GetUrl()}},
				"depth":      {Values: []string{strconv.Itoa(depth + 1)}},
			}
			if err := put.Send(found(&wire.URLInfo{Url: link, Metadata: md}, "")); err != nil {
				return err
			}
		}
		if err := put.Send(result(info)); err != nil {
			return err
		}
		sent += 3
	}
	for range sent {
		ack, err := put.Recv()
		if err != nil {
			return err
		}
		if ack.GetStatus() != wire.AckMessage_OK {
			return fmt.Errorf("%s: %v", ack.GetID(), ack.GetStatus())
		}
	}
	if sent > 0 {
		h.took(&h.results, begun)
		h.settled.Add(int64(sent / 3))
	}
	return nil
}
