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
	processEvery = 200 * time.Millisecond // one small read for each member on this machine whose end is not signalled
	restEvery    = 10 * time.Second       // the same for those whose end is: nothing is known to need it
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
	follow  func(consensus.Member) ending // nil: the system does not signal its end, or it runs elsewhere
	local   func(consensus.Member) bool   // it may run on this machine
	targets atomic.Pointer[[]Target]      // set by the loop
	wake    chan struct{}                 // cap 1: targets or ended have changed
	Proofs  chan consensus.Dead           // unbuffered: emptied by the loop

	mu    sync.Mutex // guards ended
	ended map[crawl.NodeID]lastStream
}

// lastStream is a stream that was ended by its other side.
type lastStream struct {
	boot crawl.Boot
	at   string // IP:port
}

// ending is a process of this machine whose end the system signals. The signal proves nothing: it says when to look.
type ending interface {
	await() // until the process has ended, or close is called, or the system refuses to wait
	close() // may be called more than once
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
		follow: func(consensus.Member) ending { return nil },
		local:  func(consensus.Member) bool { return true },
		wake:   make(chan struct{}, 1), Proofs: make(chan consensus.Dead), ended: map[crawl.NodeID]lastStream{},
	}
	p.targets.Store(new([]Target))
	if p.dial == nil {
		p.dial = dialOnce
	}
	if p.gone == nil {
		p.lookIntoProc(self)
	}
	return p
}

// lookIntoProc lets the system tell of the processes of this machine.
func (p *Prober) lookIntoProc(self consensus.Process) {
	p.local = func(m consensus.Member) bool { return self.Machine != "" && m.Machine == self.Machine && m.PID != 0 }
	p.gone = func(m consensus.Member) (gone, known bool) {
		if !p.local(m) {
			return false, false
		}
		return processGone(m.Process)
	}
	p.follow = func(m consensus.Member) ending {
		if !p.local(m) {
			return nil
		}
		return follow(m.PID)
	}
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

	process  ending      // its end signals when to look; nil: it is looked at each processEvery
	followed atomic.Bool // process has not ended yet
}

// begin starts to follow the process of a target; parts is told of the goroutine. What may have ended before is looked at
// by the caller, after this.
func (p *Prober) begin(t Target, parts *sync.WaitGroup) *search {
	s := &search{boot: t.Boot, process: p.follow(t.Member)}
	if s.process == nil {
		return s
	}
	s.followed.Store(true)
	parts.Go(func() {
		s.process.await()
		s.followed.Store(false)
		p.look()
	})
	return s
}

// end stops to follow the process.
func (s *search) end() {
	if s.process != nil {
		s.process.close()
	}
}

// Run looks until ctx ends, and waits for what it started. At most one series
// of connects to each member is under way.
func (p *Prober) Run(ctx context.Context) {
	var parts sync.WaitGroup
	defer parts.Wait()
	tick := ticks.New(processEvery)
	defer tick.Stop()
	done := make(chan crawl.NodeID) // filled by the dials, emptied here
	searches := map[crawl.NodeID]*search{}
	defer func() {
		for _, s := range searches {
			s.end()
		}
	}()
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
		every := restEvery
		for _, t := range p.renew(searches, &parts) {
			s := searches[t.ID]
			if gone, known := p.gone(t.Member); known && gone && !s.proved {
				s.proved = true
				p.report(ctx, t.Member)
			}
			if !s.proved && s.due(t.Suspect, time.Now()) {
				at := s.ended
				parts.Go(func() {
					p.connect(ctx, t.Member, at)
					select {
					case done <- t.ID:
					case <-ctx.Done():
					}
				})
			}
			if !s.proved && (s.dialing || s.ended != "" && t.Suspect || p.local(t.Member) && !s.followed.Load()) {
				every = processEvery
			}
		}
		tick.Reset(every)
	}
}

// renew updates the searches to the targets, and takes in the streams that ended.
func (p *Prober) renew(searches map[crawl.NodeID]*search, parts *sync.WaitGroup) []Target {
	p.mu.Lock()
	ended := p.ended
	p.ended = map[crawl.NodeID]lastStream{}
	p.mu.Unlock()
	targets := *p.targets.Load()
	for id, s := range searches {
		if !slices.ContainsFunc(targets, func(t Target) bool { return t.ID == id && t.Boot == s.boot }) {
			s.end()
			delete(searches, id)
		}
	}
	for _, t := range targets {
		s := searches[t.ID]
		if s == nil {
			s = p.begin(t, parts)
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
