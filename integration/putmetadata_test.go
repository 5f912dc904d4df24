package integration

import (
	"context"
	"encoding/base64"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"crawlnode/workers/urlfrontier/wire"
)

var putMetadata = flag.Int("putmetadata", 0,
	"run TestPutMetadata with this many URLs, and append the figures to docs/results/urlfrontier.md")

// putMetadataBytes are the bytes of the keys and values of a URL's metadata.
const putMetadataBytes = 500

// TestPutMetadata fills the frontier of a node that fetches nothing through PutURLs, with and
// without metadata, in the cluster's own crawl and in another one. All URLs are counted afterwards,
// and some are asked for their metadata.
func TestPutMetadata(t *testing.T) {
	onRequest(t, *putMetadata != 0, "a measurement; run with -putmetadata 1000000")
	needsProcesses(t)
	for _, crawl := range []string{"DEFAULT", "guest"} {
		for _, size := range []int{0, putMetadataBytes} {
			t.Run(fmt.Sprint(crawl, "/", size), func(t *testing.T) { putWithMetadata(t, crawl, size) })
		}
	}
}

func putWithMetadata(t *testing.T, crawl string, size int) {
	at := fmt.Sprint("127.0.0.1:", freePort(t))
	c := newCluster(t, "--allow-net", "127.0.0.0/8", "--robots", "ignore", "--store", "none",
		"--fetch", "off", "--log-level", "warn", "--frontier-addr", at)
	n := c.add()
	n.ready()
	page := func(h, i int) *wire.URLInfo {
		info := putURL(h, i)
		if info.CrawlID = crawl; crawl != "DEFAULT" {
			info.Metadata = nil // only links of the own crawl need their page
		}
		if size > 0 {
			if info.Metadata == nil {
				info.Metadata = map[string]*wire.StringList{}
			}
			info.Metadata["note"] = &wire.StringList{Values: []string{noteOf(h, i, size-len("note"))}}
		}
		return info
	}
	var acked, host atomic.Int64
	var clients sync.WaitGroup
	begun, load, pid := time.Now(), loadAverage(), n.cmd.Process.Pid
	for range putStreams {
		clients.Go(func() {
			if err := putHosts(t.Context(), at, *putMetadata/putPerHost, page, &host, &acked); err != nil {
				t.Error(err)
			}
		})
	}
	done := make(chan struct{})
	go func() { clients.Wait(); close(done) }()
	most := int64(0)
	for tick, running := time.NewTicker(time.Second), true; running; {
		select {
		case <-tick.C:
		case <-done:
			tick.Stop()
			running = false
		}
		most = max(most, rssAnon(pid))
	}
	took, used, count := time.Since(begun), cpuTime(pid), acked.Load()
	conn, err := grpc.NewClient(at, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	judgeMetadata(t.Context(), t, wire.NewURLFrontierClient(conn), crawl, count, page)
	c.stop()
	if t.Failed() {
		return
	}
	disk := allocated(t, filepath.Join(n.dir, "frontier"))
	appendResult(t, "urlfrontier.md", putMetadataHead, fmt.Sprintf(
		"%s | %d | %d | %.0f s | %.0f | %.0f us | %d MiB | %d MiB | %d | %s, %s |", crawl, size, count,
		took.Seconds(),
		float64(count)/took.Seconds(), used.Seconds()*1e6/float64(count), most>>20, disk>>20, disk/count,
		load, loadAverage()))
}

const putMetadataHead = `# Metadata by URLFrontier

Four clients send new URLs to one node (` + "`--fetch off`" + `, no replica) over a ` +
	"`PutURLs`" +
	` stream each, 1,024 before they wait: 50 a host. Each is acknowledged when it is durable; ` +
	"`CountURLs`" + `
counts as many afterwards, and ` + "`GetURLStatus`" +
	` gives the metadata of a hundred of them as it was sent. *metadata* are the bytes of its keys and values, random ones in base64, so that they
hardly compress. URLs of the cluster's own crawl (` + "`DEFAULT`" +
	`) are a seed of each host and its links, and have a ` + "`source_url`" + ` and a ` + "`depth`" +
	` beside it; those of another crawl (` + "`guest`" + `)
have nothing else. Appended by

    go test ./integration -count=1 -v -timeout 0 -run '^TestPutMetadata$' -putmetadata 1000000

| date | commit | crawl | metadata | URLs | time | URLs a second | processor time a URL | most anonymous memory | stopped node's frontier on disk | bytes of it a URL | load before, after |
|---|---|---|---|---|---|---|---|---|---|---|---|
`

// noteOf is metadata of so many bytes: the same for the same URL.
func noteOf(h, i, size int) string {
	rng := rand.New(rand.NewPCG(uint64(h), uint64(i)))
	raw := make([]byte, size)
	for b := range raw {
		raw[b] = byte(rng.Uint32())
	}
	return base64.RawURLEncoding.EncodeToString(raw)[:size]
}

// judgeMetadata compares the count of a crawl, and the metadata of a hundred URLs, with what was
// sent.
func judgeMetadata(
	ctx context.Context,
	t *testing.T,
	c wire.URLFrontierClient,
	crawl string,
	count int64,
	page func(h, i int) *wire.URLInfo,
) {
	t.Helper()
	got, err := c.CountURLs(ctx, &wire.CountUrlParams{CrawlID: crawl})
	if err != nil || int64(got.GetValue()) < count {
		t.Errorf("%d URLs were acknowledged, the node counts %d, %v", count, got.GetValue(), err)
	}
	for range 100 {
		sent := page(rand.IntN(*putMetadata/putPerHost), rand.IntN(putPerHost))
		item, err := c.GetURLStatus(ctx, &wire.URLStatusRequest{Url: sent.GetUrl(), CrawlID: crawl})
		info := item.GetDiscovered().GetInfo()
		if info == nil {
			info = item.GetKnown().GetInfo()
		}
		if err != nil || !slices.Equal(info.GetMetadata()["note"].GetValues(),
			sent.GetMetadata()["note"].GetValues()) {
			t.Errorf("%s has %v, %v; want %v", sent.GetUrl(), item, err, sent)
		}
	}
}
