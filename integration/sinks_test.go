package integration

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"crawlnode/crawl"
	"crawlnode/simweb"
)

var sinkRestarts = flag.Int("sinkrestarts", 1,
	"how often TestSinksUnderKills stops the message server, and kills a node meanwhile")

// TestSinksUnderKills sends the results of three nodes to a message server, which is stopped for a
// while, and kills a node and starts it again. Each page that was answered arrives, and repeats are
// counted.
func TestSinksUnderKills(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	queue := newMessageServer(t)
	sinkUnderKills(t, "nats://"+queue.addr+"/crawl.pages", queue, 50)
}

// queue is a server that keeps what sinks send.
type queue interface {
	start()
	stop()
	stored() uint64
	read(t *testing.T) (lines [][]byte)
}

// sinkUnderKills allows so many repeats for each restart.
func sinkUnderKills(t *testing.T, sink string, queue queue, repeats int) {
	t.Helper()
	delay, config := 50*time.Millisecond,
		simweb.Config{Seed: 97, Hosts: 18, PagesPerHost: 20, Skew: -1}
	if *sinkRestarts > 1 {
		delay, config.PagesPerHost = 500*time.Millisecond, 30**sinkRestarts
	}
	config.Delay = delay
	web, srv := serveSimweb(t, config)
	c := simCluster(t, srv, delay, "--partitions", "512", "--sink", sink)
	c.addReady(3)
	c.converged(time.Minute)
	c.nodes[0].seed(web.Seeds()...)
	for i := range *sinkRestarts {
		until(t, time.Minute, func() string {
			if n := queue.stored(); n < uint64(40*(i+1)) {
				return fmt.Sprintf("%d messages", n)
			}
			return ""
		})
		queue.stop()
		victim := c.nodes[1+i%2]
		victim.signal(syscall.SIGKILL)
		<-victim.done
		c.nodes[0].sinkFails()
		victim.start()
		victim.ready()
		queue.start()
	}
	c.finished(3*time.Minute + 20*time.Second*time.Duration(*sinkRestarts))
	c.stop() // sends the rest

	arrived := map[string]int{}
	for _, line := range queue.read(t) {
		var page struct{ URL string }
		if err := json.Unmarshal(line, &page); err != nil {
			t.Fatal(err)
		}
		arrived[page.URL]++
	}
	pages, missing, twice := reachable(web), 0, 0
	for _, u := range pages {
		switch n := arrived[u]; {
		case n == 0:
			missing++
			t.Errorf("%s has not arrived", u)
		case n > 1:
			twice++
		}
	}
	// what the kill repeats: visits under way, and lines since the last cursor
	if twice > repeats**sinkRestarts {
		t.Errorf("%d pages arrived twice", twice)
	}
	t.Logf("%d restarts of a node and of the server: %d pages, %d missing, "+
		"%d arrived more than once, %d messages, load %s",
		*sinkRestarts, len(pages), missing, twice, queue.stored(), loadAverage())
}

// sinkFails waits until the node says that its sink takes nothing.
func (n *node) sinkFails() {
	n.c.t.Helper()
	until(n.c.t, time.Minute, func() string {
		var s crawl.Status
		if err := n.decode("/status", &s); err != nil {
			return err.Error()
		}
		if len(s.Output.Sinks) != 1 || s.Output.Sinks[0].ErrorsTotal == 0 ||
			s.Output.Sinks[0].Error == nil {
			return fmt.Sprintf("sinks %+v", s.Output.Sinks)
		}
		return ""
	})
}

// messageServer is a NATS server with a stream on disk.
type messageServer struct {
	t    *testing.T
	dir  string
	addr string
	port int
	srv  *server.Server
}

func newMessageServer(t *testing.T) *messageServer {
	t.Helper()
	m := &messageServer{t: t, dir: t.TempDir(), port: freePort(t)}
	m.addr = fmt.Sprintf("127.0.0.1:%d", m.port)
	m.start()
	t.Cleanup(func() { m.stop() })
	m.use(func(ctx context.Context, js jetstream.JetStream) error {
		_, err := js.CreateStream(ctx,
			jetstream.StreamConfig{Name: "PAGES", Subjects: []string{"crawl.pages"}})
		return err
	})
	return m
}

func (m *messageServer) start() {
	m.t.Helper()
	srv, err := server.NewServer(&server.Options{
		Host:      "127.0.0.1",
		Port:      m.port,
		JetStream: true,
		StoreDir:  m.dir,
		NoSigs:    true,
		NoLog:     true,
	})
	if err != nil {
		m.t.Fatal(err)
	}
	go srv.Start()
	if !srv.ReadyForConnections(slack(10 * time.Second)) {
		m.t.Fatal("the message server does not start")
	}
	m.srv = srv
}

func (m *messageServer) stop() {
	m.srv.Shutdown()
	m.srv.WaitForShutdown()
}

func (m *messageServer) use(do func(context.Context, jetstream.JetStream) error) {
	m.t.Helper()
	conn, err := nats.Connect("nats://" + m.addr)
	if err != nil {
		m.t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		m.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(m.t.Context(), slack(10*time.Second))
	defer cancel()
	if err := do(ctx, js); err != nil {
		m.t.Fatal(err)
	}
}

// stored counts the messages of the stream.
func (m *messageServer) stored() (n uint64) {
	m.t.Helper()
	m.use(func(ctx context.Context, js jetstream.JetStream) error {
		s, err := js.Stream(ctx, "PAGES")
		if err != nil {
			return err
		}
		n = s.CachedInfo().State.Msgs
		return nil
	})
	return n
}

// read returns all messages.
func (m *messageServer) read(t *testing.T) (lines [][]byte) {
	t.Helper()
	total := m.stored()
	m.use(func(ctx context.Context, js jetstream.JetStream) error {
		c, err := js.OrderedConsumer(ctx, "PAGES", jetstream.OrderedConsumerConfig{})
		if err != nil {
			return err
		}
		for uint64(len(lines)) < total {
			msg, err := c.Next(jetstream.FetchMaxWait(slack(10 * time.Second)))
			if err != nil {
				return fmt.Errorf("message %d of %d: %w", len(lines), total, err)
			}
			lines = append(lines, msg.Data())
		}
		return nil
	})
	return lines
}
