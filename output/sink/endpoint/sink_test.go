package endpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"crawlnode/crawl"
)

// place is the other side of a sink, for the conformance suite.
type place struct {
	target crawl.SinkTarget
	// read returns the lines that have arrived, in order for each host.
	read func(t *testing.T) []string
	// refuse makes the other side refuse, or be away, until the function that it returns is called.
	// Nil: it cannot.
	refuse func(t *testing.T) (again func())
}

// TestConformance runs each sink through the same: order, repeats, a server that refuses for a
// while.
func TestConformance(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(*testing.T) place{
		"file":  filePlace,
		"kafka": kafkaPlace,
		"nats":  natsPlace,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := make(t)
			s, err := Open(p.target)
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			batch := func(from, to int) (events []Event) {
				for i := from; i < to; i++ {
					host := fmt.Sprintf("h%d.test", i%3)
					events = append(events,
						Event{Key: host, Line: fmt.Appendf(nil, `{"url":"http://%s/%d"}`, host, i)})
				}
				return events
			}
			for from := 0; from < 100; from += 25 {
				mustSend(t, s, batch(from, from+25))
			}
			if p.refuse != nil {
				again := p.refuse(t)
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				if err := s.Send(ctx, batch(100, 130)); err == nil {
					t.Error("a side that refuses took the events")
				}
				cancel()
				again()
			}
			mustSend(t, s, batch(100, 130))
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			// A second process goes on.
			if s, err = Open(p.target); err != nil {
				t.Fatal(err)
			}
			mustSend(t, s, batch(130, 140))
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			for _, e := range batch(0, 140) {
				want = append(want, string(e.Line))
			}
			judge(t, p.read(t), want)
		})
	}
}

// mustSend sends until the other side takes the events.
func mustSend(t *testing.T, s Sink, events []Event) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var err error
	for ctx.Err() == nil {
		if err = s.Send(ctx, events); err == nil {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
	t.Fatal(err)
}

// judge wants each line at least once, and the first arrivals of a host in their order.
func judge(t *testing.T, got, want []string) {
	t.Helper()
	host := func(line string) string { return line[:strings.LastIndexByte(line, '/')] }
	firsts, seen := map[string][]string{}, map[string]bool{}
	for _, line := range got {
		if !seen[line] {
			seen[line] = true
			firsts[host(line)] = append(firsts[host(line)], line)
		}
	}
	expected := map[string][]string{}
	for _, line := range want {
		expected[host(line)] = append(expected[host(line)], line)
	}
	for h, lines := range expected {
		if !slices.Equal(firsts[h], lines) {
			t.Errorf("%s: %d lines in an order of %v, want %d", h, len(firsts[h]), firsts[h], len(lines))
		}
	}
	if len(got) > len(want)+30 {
		t.Errorf("%d lines arrived, of %d", len(got), len(want))
	}
}

func filePlace(t *testing.T) place {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	return place{crawl.SinkTarget{Kind: "file", Name: path},
		func(t *testing.T) []string {
			text, err := os.ReadFile(path)
			if err != nil || !strings.HasSuffix(string(text), "\n") {
				t.Fatal(len(text), err)
			}
			return slices.DeleteFunc(strings.Split(string(text), "\n"),
				func(line string) bool { return line == "" })
		}, nil}
}

func kafkaPlace(t *testing.T) place {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(4, "pages"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	return place{crawl.SinkTarget{Kind: "kafka", Servers: cluster.ListenAddrs(), Name: "pages"},
		func(t *testing.T) (lines []string) {
			client, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...),
				kgo.ConsumeTopics("pages"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			partitions := map[string]int32{}
			for seen := map[string]bool{}; len(seen) < 140; {
				fetched := client.PollFetches(ctx)
				if err := fetched.Err(); err != nil {
					t.Fatal(len(lines), err)
				}
				fetched.EachRecord(func(r *kgo.Record) {
					if p, ok := partitions[string(r.Key)]; ok && p != r.Partition {
						t.Errorf("host %s is in the partitions %d and %d", r.Key, p, r.Partition)
					}
					partitions[string(r.Key)] = r.Partition
					lines, seen[string(r.Value)] = append(lines, string(r.Value)), true
				})
			}
			return lines
		},
		func(*testing.T) func() {
			var refusing atomic.Bool
			refusing.Store(true)
			cluster.ControlKey(int16(kmsg.Produce), func(req kmsg.Request) (kmsg.Response, error, bool) {
				if !refusing.Load() {
					return nil, nil, false
				}
				cluster.KeepControl()
				return refusal(req.(*kmsg.ProduceRequest)), nil, true
			})
			return func() { refusing.Store(false) }
		}}
}

// refusal answers that too few replicas are in sync.
func refusal(req *kmsg.ProduceRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.ProduceResponse)
	for _, topic := range req.Topics {
		rt := kmsg.NewProduceResponseTopic()
		rt.Topic, rt.TopicID = topic.Topic, topic.TopicID
		for _, p := range topic.Partitions {
			rp := kmsg.NewProduceResponseTopicPartition()
			rp.Partition, rp.ErrorCode = p.Partition, kerr.NotEnoughReplicas.Code
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

func natsPlace(t *testing.T) place {
	dir := t.TempDir()
	start := func(port int) *server.Server {
		s, err := server.NewServer(&server.Options{
			Host:      "127.0.0.1",
			Port:      port,
			JetStream: true,
			StoreDir:  dir,
			NoSigs:    true,
			NoLog:     true,
		})
		if err != nil {
			t.Fatal(err)
		}
		go s.Start()
		if !s.ReadyForConnections(time.Minute) {
			t.Fatal("the server does not start")
		}
		return s
	}
	return natsPlaceAt(t, start(server.RANDOM_PORT), start)
}

func natsPlaceAt(t *testing.T, srv *server.Server, start func(port int) *server.Server) place {
	url := srv.ClientURL()
	addr := strings.TrimPrefix(url, "nats://")
	var port int
	if _, err := fmt.Sscanf(addr[strings.LastIndexByte(addr, ':')+1:], "%d", &port); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	withStream(t, url, func(ctx context.Context, js jetstream.JetStream) {
		if _, err := js.CreateStream(ctx, jetstream.StreamConfig{
			Name:     "PAGES",
			Subjects: []string{"crawl.pages"},
		}); err != nil {
			t.Fatal(err)
		}
	})
	return place{crawl.SinkTarget{Kind: "nats", Servers: []string{addr}, Name: "crawl.pages"},
		func(t *testing.T) (lines []string) {
			withStream(t, url, func(ctx context.Context, js jetstream.JetStream) {
				c, err := js.OrderedConsumer(ctx, "PAGES", jetstream.OrderedConsumerConfig{})
				if err != nil {
					t.Fatal(err)
				}
				for seen := map[string]bool{}; len(seen) < 140; {
					m, err := c.Next(jetstream.FetchMaxWait(30 * time.Second))
					if err != nil {
						t.Fatal(len(lines), err)
					}
					lines, seen[string(m.Data())] = append(lines, string(m.Data())), true
				}
			})
			return lines
		},
		func(t *testing.T) func() {
			srv.Shutdown()
			srv.WaitForShutdown()
			return func() { srv = start(port) }
		}}
}

func withStream(t *testing.T, url string, use func(context.Context, jetstream.JetStream)) {
	t.Helper()
	conn, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	use(ctx, js)
}

// TestFileLine ends a line that an earlier process left in part.
func TestFileLine(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "events.jsonl")
	if err := os.WriteFile(path, []byte("{\"url\":\"http://a.test/\"}\n{\"url\":\"http"),
		0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(crawl.SinkTarget{Kind: "file", Name: path})
	if err != nil {
		t.Fatal(err)
	}
	mustSend(t, s, []Event{{Key: "a.test", Line: []byte("{}")}})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Send(ended, []Event{{Line: []byte("late")}}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(path); err != nil ||
		string(text) != "{\"url\":\"http://a.test/\"}\n{\"url\":\"http\n{}\n" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := Open(crawl.SinkTarget{Kind: "file", Name: filepath.Dir(path)}); err == nil {
		t.Error("a folder is a file")
	}
}

// TestSharedFile: two nodes may append to one file. What the one takes back after a failed write is
// its own.
func TestSharedFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "events.jsonl")
	var both [2]*fileSink
	for i := range both {
		s, err := openFile(path)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		both[i] = s
	}
	mustSend(t, both[0], []Event{{Line: []byte("first")}})
	mustSend(t, both[1], []Event{{Line: []byte("second")}})
	const part = "a line that a full disk has"
	if _, err := both[0].f.WriteString(part); err != nil {
		t.Fatal(err)
	}
	if err := both[0].takeBack(len(part)); err != nil {
		t.Error(err)
	}
	mustSend(t, both[0], []Event{{Line: []byte("third")}})
	if text, err := os.ReadFile(path); err != nil ||
		string(text) != "first\nsecond\n"+part+"\nthird\n" {
		t.Errorf("%q, %v", text, err)
	}
}

// TestNoStream says what is missing.
func TestNoStream(t *testing.T) {
	t.Parallel()
	p := natsPlace(t)
	p.target.Name = "other"
	s, err := Open(p.target)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := s.Send(ctx, []Event{{Line: []byte("{}")}}); err == nil ||
		!strings.Contains(err.Error(), "nats stream add --subjects other") {
		t.Errorf("%v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestRotatedFile moves, removes, replaces and cuts the file of a sink between events, as programs
// do that rotate logs. Each event is in one file, once, and the name has a file again at once.
func TestRotatedFile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rotate func(path string) error
		moved  string // what the other file has afterwards
		kept   string // what the file of that name has before the next event
	}{
		"moved":   {func(p string) error { return os.Rename(p, p+".1") }, "one\n", ""},
		"removed": {os.Remove, "", ""},
		"replaced": {
			func(p string) error { return errors.Join(os.Rename(p, p+".1"), os.WriteFile(p, nil, 0o600)) },
			"one\n",
			"",
		},
		"replaced by one with a part of a line": {func(p string) error {
			return errors.Join(os.Rename(p, p+".1"), os.WriteFile(p, []byte("part"), 0o600))
		}, "one\n", "part\n"},
		"copied and cut": {func(p string) error {
			text, err := os.ReadFile(p)
			return errors.Join(err, os.WriteFile(p+".1", text, 0o600), os.Truncate(p, 0))
		}, "one\n", ""},
		"untouched": {func(string) error { return nil }, "", "one\n"},
	} {
		for _, idle := range []bool{false, true} {
			path := filepath.Join(t.TempDir(), "pages.jsonl")
			s, err := Open(crawl.SinkTarget{Kind: "file", Name: path})
			if err != nil {
				t.Fatal(err)
			}
			send := func(line string) {
				if err := s.Send(t.Context(), []Event{{Line: []byte(line)}}); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			read := func(path string) string {
				text, err := os.ReadFile(path)
				if err != nil && !errors.Is(err, fs.ErrNotExist) {
					t.Fatal(err)
				}
				return string(text)
			}
			send("one")
			if err := c.rotate(path); err != nil {
				t.Fatal(err)
			}
			if idle { // the name has a file without an event
				if err := s.(Refresher).Refresh(); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				if _, err := os.Stat(path); err != nil || read(path) != c.kept {
					t.Errorf("%s, idle: %q, %v", name, read(path), err)
				}
			}
			send("two")
			send("three")
			if got := read(path); got != c.kept+"two\nthree\n" || read(path+".1") != c.moved {
				t.Errorf("%s, idle %v: the file has %q, the other %q", name, idle, got, read(path+".1"))
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
