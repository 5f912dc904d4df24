package integration

import (
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"crawlnode/workers/urlfrontier/wire"
)

var (
	putMany = flag.Int("putmany", 0, "run TestPutManyURLs with this many URLs, "+
		"on a fiftieth as many hosts, and append the figures to docs/results/putmany.md")
	putManyTime = flag.Duration("putmany.time", time.Hour, "when TestPutManyURLs stops at the latest")
)

// putStreams is how many clients send, each over a stream of its own; putAhead is how many items
// one sends before their acknowledgements.
const putStreams, putAhead, putPerHost = 4, 1024, 50

// TestPutManyURLs fills the frontier of a node that fetches nothing through PutURLs: hosts' seeds
// and their links. All are acknowledged, and known afterwards.
func TestPutManyURLs(t *testing.T) {
	onRequest(t, *putMany != 0, "a measurement; run with -putmany 10000000")
	needsProcesses(t)
	frontier := fmt.Sprint("127.0.0.1:", freePort(t))
	c := newCluster(t, "--allow-net", "127.0.0.0/8", "--robots", "ignore", "--store", "none",
		"--fetch", "off", "--log-level", "warn", "--frontier-addr", frontier)
	n := c.add()
	n.ready()
	ctx, cancel := context.WithTimeout(t.Context(), *putManyTime)
	defer cancel()
	var acked, host atomic.Int64
	var clients sync.WaitGroup
	begun, load, pid := time.Now(), loadAverage(), n.cmd.Process.Pid
	for range putStreams {
		clients.Go(func() {
			if err := putHosts(ctx, frontier, *putMany/putPerHost, putURL, &host, &acked); err != nil {
				t.Error(err)
			}
		})
	}
	done := make(chan struct{})
	go func() { clients.Wait(); close(done) }()
	var last, most int64
	lastCPU := time.Duration(0)
	for tick, running := time.NewTicker(20*time.Second), true; running; {
		since := time.Now()
		select {
		case <-tick.C:
		case <-done:
			tick.Stop()
			running = false
		}
		now, cpu := acked.Load(), cpuTime(pid)
		most = max(most, rssAnon(pid))
		if now > last {
			t.Logf("%d URLs after %v: %.0f a second, %.3f ms of processor time each, %d MiB", now,
				time.Since(begun).Round(time.Second),
				float64(now-last)/time.Since(since).Seconds(), (cpu-lastCPU).Seconds()*1000/float64(now-last),
				rssAnon(pid)>>20)
		}
		last, lastCPU = now, cpu
	}
	took, used := time.Since(begun), cpuTime(pid)
	s, err := n.status()
	if err != nil {
		t.Fatal(err)
	}
	if s.Frontier.SeenTotal != last {
		t.Errorf("%d URLs were acknowledged, the node knows %d", last, s.Frontier.SeenTotal)
	}
	c.stop()
	if t.Failed() {
		return
	}
	disk := allocated(t, filepath.Join(n.dir, "frontier"))
	appendResult(t, "putmany.md", putManyHead, fmt.Sprintf(
		"%d | %.0f s | %.0f | %.0f us | %d MiB | %d | %s, %s |", last, took.Seconds(),
		float64(last)/took.Seconds(),
		used.Seconds()*1e6/float64(last), most>>20, disk/last, load, loadAverage()))
}

const putManyHead = `# Filling the frontier by URLFrontier

Four clients send new URLs to one node (` + "`--fetch off`" + `, no replica) over a ` +
	"`PutURLs`" +
	` stream each, 1,024 before they wait: 50 a host, a seed and links. Each is acknowledged when it is
durable; the node knows as many afterwards. Appended by

    go test ./integration -count=1 -v -timeout 0 -run '^TestPutManyURLs$' -putmany 10000000

| date | commit | URLs | time | URLs a second | processor time a URL | most anonymous memory | bytes of the stopped node's frontier a URL | load before, after |
|---|---|---|---|---|---|---|---|---|
`

// putHosts sends the URLs of one host after the other until there are enough or the time is over,
// and counts what was acknowledged. page is URL i of host h.
func putHosts(
	ctx context.Context,
	frontier string,
	hosts int,
	page func(h, i int) *wire.URLInfo,
	host, acked *atomic.Int64,
) error {
	conn, err := grpc.NewClient(frontier, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	calls, end := context.WithCancel(context.WithoutCancel(ctx)) // what was sent is waited for
	defer end()
	put, err := wire.NewURLFrontierClient(conn).PutURLs(calls)
	if err != nil {
		return err
	}
	waiting := 0
	await := func(most int) error {
		for ; waiting > most; waiting-- {
			ack, err := put.Recv()
			if err != nil {
				return err
			}
			if ack.GetStatus() != wire.AckMessage_OK {
				return fmt.Errorf("%s: %v", ack.GetID(), ack.GetStatus())
			}
			acked.Add(1)
		}
		return nil
	}
	for ctx.Err() == nil {
		h := int(host.Add(1)) - 1
		if h >= hosts {
			break
		}
		for i := range putPerHost {
			if err := put.Send(found(page(h, i), fmt.Sprintf("%d/%d", h, i))); err != nil {
				return err
			}
			waiting++
		}
		if err := await(putAhead); err != nil {
			return err
		}
	}
	return await(0)
}

// putURL is a URL of a host: its seed, or a page that the seed links to.
func putURL(h, i int) *wire.URLInfo {
	seed := fmt.Sprintf("http://%s:%d/", loadHost(h), loadPort)
	if i == 0 {
		return &wire.URLInfo{Url: seed}
	}
	return &wire.URLInfo{
		Url: fmt.Sprintf("%ssection-%d/page-%d.html", seed, i%7, i),
		Metadata: map[string]*wire.StringList{
			"source_url": {Values: []string{seed}},
			"depth":      {Values: []string{"1"}},
		},
	}
}
