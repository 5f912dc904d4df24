package integration

import (
	"context"
	"fmt"
	"math"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"
)

const (
	// moveDoors is how many nodes can be distinguished.
	moveDoors = 3
	// hotHosts may be asked again after hotDelay: they show how long a partition
	// waits. The robots.txt of all others asks for far more, so that the hosts,
	// and not the machine, bound the speed.
	hotHosts = 60
	hotDelay = 250 * time.Millisecond
	// coldRate is about how many pages a second the other hosts give together.
	coldRate = 450
)

// moveWeb is a bigWeb that knows which node a request comes from: each node has
// a name server of its own, and with it addresses of its own for all hosts.
type moveWeb struct {
	*bigWeb
	doors [moveDoors]string // name servers

	mu   sync.Mutex // guards seen
	seen []moveRequest
}

// moveRequest is one request but for robots.txt.
type moveRequest struct {
	host, door int
	start, end time.Time
}

// doorKey is the door in a connection's context.
type doorKey struct{}

func startMoveWeb(t *testing.T, hosts, port int) *moveWeb {
	t.Helper()
	w := &moveWeb{bigWeb: &bigWeb{
		hosts:    hosts,
		port:     port,
		byHost:   newHostCounts(hosts),
		requests: make(chan struct{}, 1),
		filler:   bigFiller(),
	}}
	server := &http.Server{
		Handler: w,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, doorKey{}, int(c.LocalAddr().(*net.TCPAddr).IP.To4()[2]))
		},
	}
	stops := []func() error{server.Close}
	var wg sync.WaitGroup
	for door := range w.doors {
		for i := range bigAddrs {
			l, err := net.Listen("tcp", fmt.Sprintf("127.1.%d.%d:%d", door, i+1, port))
			if err != nil {
				t.Fatal(err)
			}
			wg.Go(func() { _ = server.Serve(l) }) // ends with Close
		}
		udp, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		w.doors[door] = udp.LocalAddr().String()
		names := &dns.Server{
			PacketConn: udp,
			Handler:    dns.HandlerFunc(func(rw dns.ResponseWriter, q *dns.Msg) { resolveBig(rw, q, door) }),
		}
		ready := make(chan struct{})
		names.NotifyStartedFunc = func() { close(ready) }
		wg.Go(func() { _ = names.ActivateAndServe() }) // ends with Shutdown
		<-ready
		stops = append(stops, names.Shutdown)
	}
	t.Cleanup(func() {
		for _, stop := range stops {
			_ = stop() // nothing of it is needed any more
		}
		wg.Wait()
	})
	return w
}

// delay is the least gap that a host asks for, from a request's end to the next.
func (w *moveWeb) delay(host int) time.Duration {
	if host < hotHosts {
		return hotDelay
	}
	_, share := math.Modf(float64(host) * math.Phi) // spread evenly
	seconds := float64(w.hosts) / coldRate * (2 + 2*share) / 3
	return time.Duration(max(seconds, hotDelay.Seconds()) * float64(time.Second))
}

// longestDelay is above that of every host.
func (w *moveWeb) longestDelay() time.Duration {
	return time.Duration(float64(w.hosts) / coldRate * 4 / 3 * float64(time.Second))
}

func (w *moveWeb) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	start := time.Now()
	label, _, _ := strings.Cut(r.Host, ".")
	host, err := strconv.Atoi(strings.TrimPrefix(label, "h"))
	if err != nil {
		http.NotFound(rw, r)
		return
	}
	if r.URL.Path == "/robots.txt" {
		// whoever asked asks again
		_, _ = fmt.Fprintf(rw, "User-agent: *\nCrawl-delay: %.3f\n", w.delay(host).Seconds())
		return
	}
	w.bigWeb.ServeHTTP(rw, r)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = append(w.seen, moveRequest{host, r.Context().Value(doorKey{}).(int), start, time.Now()})
}

// between returns the requests that began in a span, in the order of their ends.
func (w *moveWeb) between(from, to time.Time) (found []moveRequest) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.seen {
		if !r.start.Before(from) && r.start.Before(to) {
			found = append(found, r)
		}
	}
	return found
}
