package prober

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"crawlnode/crawl"
	"crawlnode/membership/consensus"
	"crawlnode/ticks"
)

// Timing of the search for proof.
const (
	processEvery = 200 * time.Millisecond // one small read for each member on this machine
	dialEvery    = time.Second            // while a suspicion lasts
	dialTimeout  = time.Second
	dialPause    = 50 * time.Millisecond // between two connects
	dialAttempts = 5
)

// Prober looks for proof that a boot of another member is dead. There are two
// kinds that it finds itself; the third, a higher boot, is the core's:
//
//   - the member ran on this machine and its process is gone;
//   - a stream to exactly that boot was ended by the other side, and two connections to
//     the stream's address are then refused. The address belonged to that boot, and a
//     node closes its listener last. The member's name may lead elsewhere meanwhile,
//     where a refusal proves nothing.
//
// A time-out or an unreachable network is never proof.
type Prober struct {
	dial    func(ctx context.Context, addr string) error
	gone    func(consensus.Member) (gone, known bool)
	targets atomic.Pointer[[]Target] // set by the loop
	wake    chan struct{}            // cap 1: targets or ended have changed
	Proofs  chan consensus.Dead      // unbuffered: emptied by the loop

	mu    sync.Mutex // guards ended
	ended map[crawl.NodeID]lastStream
}

// lastStream is a stream that was ended by its other side.
type lastStream struct {
	boot crawl.Boot
	at   string // IP:port
}

// Target is a member that is watched.
type Target struct {
	consensus.Member
	Suspect bool
}

// New returns a prober for a node with the process self. dial connects and closes the
// connection, gone reports whether the process of a member is gone, if that can be known;
// nil: over TCP, and from /proc.
func New(self consensus.Process, dial func(ctx context.Context, addr string) error, gone func(consensus.Member) (gone, known bool)) *Prober {
	p := &Prober{
		dial: dial, gone: gone,
		wake: make(chan struct{}, 1), Proofs: make(chan consensus.Dead), ended: map[crawl.NodeID]lastStream{},
	}
	p.targets.Store(new([]Target))
	if p.dial == nil {
		p.dial = dialOnce
	}
	if p.gone == nil {
		p.gone = func(m consensus.Member) (bool, bool) {
			if self.Machine == "" || m.Machine != self.Machine || m.PID == 0 {
				return false, false
			}
			return processGone(m.Process)
		}
	}
	return p
}

func dialOnce(ctx context.Context, addr string) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	return conn.Close()
}

// look wakes the prober.
func (p *Prober) look() {
	crawl.Signal(p.wake)
}

// Watch sets the members to look at.
func (p *Prober) Watch(targets []Target) {
	if old := p.targets.Load(); !slices.Equal(*old, targets) {
		p.targets.Store(&targets)
		p.look()
	}
}

// StreamEnded reports that an authenticated connection to exactly that boot of
// another node, at that IP:port, was closed by its side, by FIN or RST.
func (p *Prober) StreamEnded(id crawl.NodeID, boot crawl.Boot, at string) {
	p.mu.Lock()
	if old, known := p.ended[id]; boot >= old.boot && (known || len(p.ended) < consensus.MaxHeard) {
		p.ended[id] = lastStream{boot, at}
	}
	p.mu.Unlock()
	p.look()
}

// search is the prober's own memory of one target.
type search struct {
	boot    crawl.Boot
	proved  bool
	ended   string    // address of a stream to this boot that its side ended; "": none
	urgent  bool      // ended is new
	dialing bool      // connects are under way
	dialed  time.Time // when they last began
}

// Run looks until ctx ends, and waits for what it started. At most one series
// of connects to each member is under way.
func (p *Prober) Run(ctx context.Context) {
	var dials sync.WaitGroup
	defer dials.Wait()
	tick := ticks.New(processEvery)
	defer tick.Stop()
	done := make(chan crawl.NodeID) // filled by the dials, emptied here
	searches := map[crawl.NodeID]*search{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-p.wake:
		case id := <-done:
			if s := searches[id]; s != nil {
				s.dialing = false
			}
			continue
		}
		for _, t := range p.renew(searches) {
			s := searches[t.ID]
			if gone, known := p.gone(t.Member); known && gone && !s.proved {
				s.proved = true
				p.report(ctx, t.Member)
			}
			if !s.proved && s.due(t.Suspect, time.Now()) {
				at := s.ended
				dials.Go(func() {
					p.connect(ctx, t.Member, at)
					select {
					case done <- t.ID:
					case <-ctx.Done():
					}
				})
			}
		}
	}
}

// renew updates the searches to the targets, and takes in the streams that ended.
func (p *Prober) renew(searches map[crawl.NodeID]*search) []Target {
	p.mu.Lock()
	ended := p.ended
	p.ended = map[crawl.NodeID]lastStream{}
	p.mu.Unlock()
	targets := *p.targets.Load()
	for id := range searches {
		if !slices.ContainsFunc(targets, func(t Target) bool { return t.ID == id }) {
			delete(searches, id)
		}
	}
	for _, t := range targets {
		s := searches[t.ID]
		if s == nil || s.boot != t.Boot {
			s = &search{boot: t.Boot}
			searches[t.ID] = s
		}
		if last := ended[t.ID]; last.boot == t.Boot {
			s.ended, s.urgent = last.at, true
		}
	}
	return targets
}

// due reports whether connects should begin now, and notes that they do.
func (s *search) due(suspect bool, now time.Time) bool {
	if s.dialing || !s.urgent && !(s.ended != "" && suspect && now.Sub(s.dialed) >= dialEvery) {
		return false
	}
	s.urgent, s.dialing, s.dialed = false, true, now
	return true
}

// connect reports the member dead when two connects in a row to at are refused. A killed
// process may still accept for a moment, so there are some more attempts; the first one
// that fails in another way is the last.
func (p *Prober) connect(ctx context.Context, m consensus.Member, at string) {
	refused := 0
	for range dialAttempts {
		limited, cancel := context.WithTimeout(ctx, dialTimeout)
		err := p.dial(limited, at)
		cancel()
		switch {
		case errors.Is(err, syscall.ECONNREFUSED):
			refused++
		case err != nil:
			return
		default:
			refused = 0
		}
		if refused == 2 {
			p.report(ctx, m)
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(dialPause):
		}
	}
}

func (p *Prober) report(ctx context.Context, m consensus.Member) {
	select {
	case p.Proofs <- consensus.Dead{ID: m.ID, Boot: m.Boot}:
	case <-ctx.Done():
	}
}
