package integration

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"crawlnode/peer"
)

// deafProxy is in front of a node's RPC port. From time to time it drops the answers on a
// connection while requests still pass, and then closes the connection, so the caller cannot know
// what was carried out.
type deafProxy struct {
	listener net.Listener
	to       string
	trouble  func() bool // drawn for each connection every deafFor

	mu    sync.Mutex // guards conns
	conns map[net.Conn]bool
	wg    sync.WaitGroup
}

// deafFor is how long requests go through unanswered.
const deafFor = 150 * time.Millisecond

func newDeafProxy(f *trial, at, to string, trouble func() bool) *deafProxy {
	f.Helper()
	l, err := net.Listen("tcp", at)
	if err != nil {
		f.Fatal(err)
	}
	p := &deafProxy{listener: l, to: to, trouble: trouble, conns: map[net.Conn]bool{}}
	p.wg.Go(p.accept)
	f.Cleanup(p.close)
	return p
}

func (p *deafProxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.wg.Go(func() { p.serve(client) })
	}
}

func (p *deafProxy) close() {
	_ = p.listener.Close() // ends accept
	p.mu.Lock()
	for c := range p.conns {
		_ = c.Close() // ends its copying
	}
	p.conns = nil
	p.mu.Unlock()
	p.wg.Wait()
}

// keep notes a connection for close; false: the proxy has been closed.
func (p *deafProxy) keep(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conns == nil {
		return false
	}
	p.conns[c] = true
	return true
}

// end ends a connection with RST, so that nothing buffered is still delivered.
func (p *deafProxy) end(c net.Conn) {
	p.mu.Lock()
	delete(p.conns, c)
	p.mu.Unlock()
	_ = c.(*net.TCPConn).SetLinger(0) // a connection that is gone already needs none
	_ = c.Close()
}

// serve forwards one connection, and ends it with unanswered requests.
func (p *deafProxy) serve(client net.Conn) {
	defer p.end(client)
	server, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	defer p.end(server)
	if !p.keep(client) || !p.keep(server) {
		return
	}
	over := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		_, _ = io.Copy(client, server) // ends when deafen says so, or with either side
	})
	wg.Go(func() { p.deafen(client, server, over) })
	_, _ = io.Copy(server, client) // as above
	close(over)
	p.end(server)
	wg.Wait()
}

// deafen waits for trouble and makes a connection deaf before it ends it.
func (p *deafProxy) deafen(client, server net.Conn, over <-chan struct{}) {
	tick := time.NewTicker(deafFor)
	defer tick.Stop()
	for deaf := false; ; {
		select {
		case <-over:
			return
		case <-tick.C:
		}
		if deaf {
			p.end(client)
			p.end(server)
			return
		}
		if deaf = p.trouble(); deaf {
			_ = server.SetReadDeadline(time.Now()) // answers end, requests do not
		}
	}
}

// lostAnswers runs a crawl in which calls between nodes are carried out and not
// answered, again and again: nothing is fetched twice, nothing is lost.
func lostAnswers(f *trial) {
	f.crawlTo(0.1, 0.2)
	f.troubled.Store(true)
	time.Sleep(12 * time.Second)
	f.troubled.Store(false)
	f.Logf("connections between nodes were made deaf %d times", f.deafened.Load())
	if f.deafened.Load() < 5 {
		f.Errorf("only %d connections were made deaf: nothing was tested", f.deafened.Load())
	}
}

// trouble is what the proxies of a trial ask for each connection, which lasts a second on average.
func (f *trial) trouble() bool {
	if !f.troubled.Load() || rand.IntN(int(time.Second/deafFor)) > 0 {
		return false
	}
	f.deafened.Add(1)
	return true
}

// hostileBytes sends what a stranger could send to every port that nodes use
// among themselves, while they crawl: twice, because the first time fills what
// is kept and used again. Each packet of gossip costs 64 KiB of garbage, so the
// memory target binds; nothing may stay.
func hostileBytes(f *trial) {
	f.crawlTo(0.1, 0.2)
	var before []int64
	for wave := range 2 {
		f.attackAll()
		for i, n := range f.c.nodes {
			used := anonymousMemory(f, n)
			f.Logf("wave %d: %s has %d MiB of anonymous memory", wave+1, n.name, used>>20)
			if wave == 0 {
				before = append(before, used)
				continue
			}
			// The crawl itself moves the figure by some tens of MiB.
			limit := int64(64 << 20)
			if raceDetector {
				limit *= 3
			}
			if used-before[i] > limit {
				f.Errorf("%s has grown by %d MiB in the second wave, more than %d", n.name,
					(used-before[i])>>20, limit>>20)
			}
			if !raceDetector && used > hostileMemory*5/4 {
				f.Errorf("%s has %d MiB of anonymous memory, its target is %d", n.name, used>>20,
					hostileMemory>>20)
			}
		}
	}
}

// hostileMemory is --memory of the nodes that strangers send bytes to.
const hostileMemory = 256 << 20

// attackAll attacks all nodes at once; none may end.
func (f *trial) attackAll() {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), slack(20*time.Second))
	defer cancel()
	var wg sync.WaitGroup
	for _, n := range f.c.nodes {
		wg.Go(func() { attack(ctx, f.seed, n) })
	}
	wg.Wait()
	for _, n := range f.c.nodes {
		select {
		case <-n.done:
			f.Fatalf("%s ended:\n%s", n.name, lastWords(n.log))
		default:
		}
	}
}

// anonymousMemory reads a node's RssAnon.
func anonymousMemory(f *trial, n *node) int64 {
	f.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.cmd.Process.Pid))
	if err != nil {
		f.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "RssAnon:")
	var kib int64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		f.Fatalf("RssAnon of %s: %v", n.name, err)
	}
	return kib << 10
}

// attack sends hostile bytes to one node. An error is the right answer: the node refuses.
func attack(ctx context.Context, seed uint64, n *node) {
	random := rand.New(rand.NewPCG(seed, uint64(n.cmd.Process.Pid)))
	for range 50 {
		junk := make([]byte, 1+random.IntN(64<<10))
		for i := range junk {
			junk[i] = byte(random.Uint32())
		}
		throw(ctx, n.gossip, junk)
		throw(ctx, n.rpc, junk)
		throw(ctx, n.http, junk)
	}
	for kind := range 16 { // memberlist's message types: encrypted, compressed, push-pull and so on
		throw(ctx, n.gossip, slicesJoin([]byte{byte(kind)}, gibibyte, make([]byte, 1<<16)))
	}
	throw(ctx, n.rpc, hugeCalls())
	tiny(ctx, random, n)
}

// gibibyte is a length of 1 GiB, as both protocols write it: big endian, 32 bits.
var gibibyte = []byte{1 << 6, 0, 0, 0}

// slicesJoin joins pieces of bytes.
func slicesJoin(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// throw sends bytes over a new connection and reads for a moment what comes back.
func throw(ctx context.Context, addr string, b []byte) {
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Second)) // a node may never answer
	_, _ = conn.Write(b)                              // the node may end it half-way
	_ = conn.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	_, _ = io.Copy(io.Discard, io.LimitReader(conn, 1<<16))
}

// hugeCalls is an HTTP/2 connection on which every call of the protocol begins
// with a message whose length is announced as 1 GiB.
func hugeCalls() []byte {
	var out, head bytes.Buffer
	out.WriteString(http2.ClientPreface)
	framer := http2.NewFramer(&out, nil)
	_ = framer.WriteSettings() // a buffer does not fail
	fields := hpack.NewEncoder(&head)
	message := slicesJoin([]byte{0}, gibibyte, make([]byte, 8192))
	stream := uint32(1)
	call := func(name string) {
		head.Reset()
		for _, field := range [][2]string{
			{":method", "POST"}, {":scheme", "http"}, {":path", "/" + peer.Peer_ServiceDesc.ServiceName + "/" + name}, {":authority", "x"},
			{"content-type", "application/grpc"}, {"te", "trailers"},
		} {
			_ = fields.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]}) // as above
		}
		_ = framer.WriteHeaders(
			http2.HeadersFrameParam{StreamID: stream, BlockFragment: head.Bytes(), EndHeaders: true})
		_ = framer.WriteData(stream, false, message)
		stream += 2
	}
	for _, m := range peer.Peer_ServiceDesc.Methods {
		call(m.MethodName)
	}
	for _, s := range peer.Peer_ServiceDesc.Streams {
		call(s.StreamName)
	}
	return out.Bytes()
}

// tiny sends a hundred thousand messages of a few bytes.
func tiny(ctx context.Context, random *rand.Rand, n *node) {
	conn, err := net.Dial("udp", n.gossip)
	if err != nil {
		return
	}
	defer conn.Close()
	for i := range 100_000 {
		if i%1000 == 0 && ctx.Err() != nil {
			return
		}
		// what is lost is lost
		_, _ = conn.Write([]byte{byte(random.IntN(16)), byte(random.Uint32()), byte(random.Uint32())})
	}
}
