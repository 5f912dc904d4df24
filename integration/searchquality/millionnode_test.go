package searchquality

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	_ "net/http/pprof" // profiles of a node, for whoever asks why
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/frontier/texts"
	"crawlnode/importance/opic"
	"crawlnode/search"
	"crawlnode/search/index"
	"crawlnode/web/urlnorm"
)

// The variables by which TestMillion tells a process that it is a node: its folder and its number.
const (
	nodeVariable   = "SEARCHQUALITY_NODE"
	numberVariable = "SEARCHQUALITY_NUMBER"
)

// partitionCount is the number of partitions of synthetic pages.
const partitionCount = 1024

// serveMillion is a node: it writes its address, reads those of all, and answers until its input
// ends.
func serveMillion(t *testing.T) {
	number, err := strconv.Atoi(os.Getenv(numberVariable))
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(l.Addr())
	in := bufio.NewReader(os.Stdin)
	urls := map[crawl.NodeID]string{}
	for k := range millionNodes {
		line, err := in.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		urls[crawl.NodeID(fmt.Sprint(k))] = strings.TrimSpace(line)
	}
	store := &filledStore{number: number}
	x := search.New(search.Options{
		Self: crawl.NodeID(fmt.Sprint(number)), Dir: os.Getenv(nodeVariable) + "/index", Open: store.open,
		Store:   store,
		Cluster: millionCluster{urls},
		Rules:   func() search.Rules { return search.Rules{On: true} },
		Now:     time.Now, Log: slog.New(
			slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- x.Run(ctx) }()
	searcher := search.NewSearcher(x)
	http.HandleFunc("/call", func(w http.ResponseWriter, r *http.Request) {
		payload, err := io.ReadAll(r.Body)
		if err == nil {
			payload, err = x.Serve(r.Context(), payload)
		}
		reply(w, payload, err)
	})
	http.HandleFunc("/search", func(w http.ResponseWriter, r *http.Request) {
		report, err := searcher.Search(r.Context(),
			crawl.SearchQuery{Query: r.URL.Query().Get("query"), Page: 1, Size: 10})
		b, _ := json.Marshal(report)
		reply(w, b, err)
	})
	go func() { _ = http.Serve(l, nil) }()
	_, _ = io.Copy(io.Discard, in)
	stop()
	<-done
}

// millionCluster are the nodes by their addresses.
type millionCluster struct{ urls map[crawl.NodeID]string }

func (millionCluster) Partitions() int  { return partitionCount }
func (millionCluster) Documents() int64 { return 0 }

func (millionCluster) Holders(p crawl.Partition) (ids []crawl.NodeID) {
	for _, k := range holdersOf(uint32(p)) {
		ids = append(ids, crawl.NodeID(fmt.Sprint(k)))
	}
	return ids
}

func (c millionCluster) Call(
	ctx context.Context, to crawl.NodeID, payload []byte,
) ([]byte, error) {
	return post(ctx, c.urls[to]+"/call", payload)
}

func reply(w http.ResponseWriter, b []byte, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	_, _ = w.Write(b)
}

func post(ctx context.Context, url string, payload []byte) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(payload))
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %s", resp.StatusCode, b)
	}
	return b, err
}

// filledStore says that the partitions of a node are in its index already.
type filledStore struct {
	number int
	counts map[uint32]int64
}

// filled is an index that loses nothing.
type filled struct{ *index.Index }

func (filled) RemovePartition(context.Context, ...uint32) error { return nil }

func (s *filledStore) open(dir string) (search.Index, bool, error) {
	x, _, err := index.Open(dir, index.Options{})
	if err != nil {
		return nil, false, err
	}
	s.counts = x.Partitions()
	return filled{x}, false, nil
}

func (s *filledStore) Meta(p crawl.Partition) (m frontier.Meta, ok bool) {
	for _, k := range holdersOf(uint32(p)) {
		if k == s.number {
			m = frontier.Meta{Partition: p, State: frontier.Holder, Seq: 1 << 40, Generation: 1}
			m.Counters.Texts, m.Counters.TextChanges = s.counts[uint32(p)], s.counts[uint32(p)]
			return m, true
		}
	}
	return m, false
}

func (s *filledStore) Walk(visit func(*frontier.Meta) bool) {
	for p := range crawl.Partition(partitionCount) {
		if m, ok := s.Meta(p); ok && !visit(&m) {
			return
		}
	}
}

func (s *filledStore) TextChanges(
	_ crawl.Partition,
	after texts.Position,
	_ func(texts.Change) bool,
) (texts.Position, bool, error) {
	return after, true, nil
}

func (s *filledStore) Account(crawl.Partition, urlnorm.URL) (a opic.Account, ok bool, err error) {
	return a, false, nil
}
