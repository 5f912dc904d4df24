package integration

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"crawlnode/crawl"
	table "crawlnode/ring"
)

// strike is a fault that waits for the most harmful moment, while something else is going on. A
// strike that loses a machine starts with a rest: all other faults end, and everything gets all its
// copies. So the loss of one machine must be survived by design, whichever other node is killed at
// the same moment.
type strike struct {
	harm     faultKind     // what happens to nodes[0]: lose, power off, kill, stop or cut off
	lasts    time.Duration // of the harm, but for lose
	on       moment
	count    int           // the how-many-th such moment; of fewLeft, how many pages are left
	patience time.Duration // then it happens anyway
	at       string        // of acknowledged: where the seed is given
	beside   faultKind     // join or leave, beginning with the wait; "": nothing
	who      string        // joins or leaves
	killed   int           // how many others die in the same moment
	slow     time.Duration // what a write takes at most on the others' disks meanwhile; 0: as ever
}

// moment is an event in a node or at the web.
type moment string

const (
	// nodes[0], the next bytes of a stream are on their way
	sends        moment = "sends to a peer"
	stores       moment = "begins to store"      // nodes[1]
	acknowledged moment = "seed is acknowledged" // of a host that nodes[0] holds, if there is one
	// without the spare ones; it happens to who holds one of them
	fewLeft moment = "pages are left"
)

func (k *strike) String() string {
	text := fmt.Sprintf(", when %d %s or after %.1fs: %s", k.count, k.on, k.patience.Seconds(), k.harm)
	if k.lasts > 0 {
		text += fmt.Sprintf(" for %.1fs", k.lasts.Seconds())
	}
	if k.killed > 0 {
		text += fmt.Sprintf(", kill %d others", k.killed)
	}
	if k.beside != "" {
		text += fmt.Sprintf(", beside %s %s", k.beside, k.who)
	}
	if k.slow > 0 {
		text += fmt.Sprintf(", with disks of %v", k.slow)
	}
	return text
}

// ambush waits for one moment. Nodes report from their own goroutines; the
// simulation's waits on sprung and does what is to be done.
type ambush struct {
	sprung chan struct{} // capacity 1
	then   func()        // of the simulation's goroutine

	mu   sync.Mutex // guards the rest
	set  int        // counts the settings; an old one's patience is ignored
	left int        // of the moments to be seen; 0: nothing is waited for
	on   moment
	node string
}

func newAmbush() *ambush { return &ambush{sprung: make(chan struct{}, 1)} }

// lay waits for the count-th moment of a node, and returns the number of this wait.
func (a *ambush) lay(on moment, node string, count int, then func()) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	select {
	case <-a.sprung: // the one before has sprung in this very moment
	default:
	}
	a.set++
	a.on, a.node, a.left, a.then = on, node, count, then
	return a.set
}

// saw reports that a moment has come.
func (a *ambush) saw(on moment, node string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.left == 0 || a.on != on || a.node != node {
		return
	}
	if a.left--; a.left == 0 {
		a.sprung <- struct{}{}
	}
}

// tire ends the waiting, if it is still that one, as if the moment had come.
func (a *ambush) tire(set int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.left > 0 && a.set == set {
		a.left = 0
		a.sprung <- struct{}{}
	}
}

// pages says how many pages are left.
func (a *ambush) pages(left int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.on == fewLeft && a.left > 0 && left <= a.left {
		a.left = 0
		a.sprung <- struct{}{}
	}
}

// react lets a strike happen whose moment has come.
func (s *simulation) react() bool {
	select {
	case <-s.ambush.sprung:
		s.ambush.then()
		return true
	default:
		return false
	}
}

// restTime bounds the rest before a strike that loses a machine.
const restTime = 25 * time.Second

// prepare rests before a strike whose loss must be survivable.
func (s *simulation) prepare(f fault, after func(time.Duration, func())) {
	if f.strike.harm != loseNode && f.strike.harm != powerNode {
		s.lay(f, after)
		return
	}
	if s.survivable(f.strike.harm, f.nodes[:1]) {
		s.lay(f, after)
		return
	}
	s.rest()
	end := time.Now().Add(restTime)
	var look func()
	look = func() {
		if time.Now().Before(end) && !s.survivable(f.strike.harm, f.nodes[:1]) {
			after(500*time.Millisecond, look)
			return
		}
		s.lay(f, after)
	}
	look()
}

// lay begins what is beside the strike, and waits for the moment.
func (s *simulation) lay(f fault, after func(time.Duration, func())) {
	k := f.strike
	loss := s.survivable(k.harm, f.nodes[:1])
	laid, slowed := time.Now(), []string{}
	for _, name := range f.nodes[1:] {
		if m := s.members[name]; m != nil && k.slow > 0 {
			m.disk.pace.Store(int64(k.slow))
			slowed = append(slowed, name)
		}
	}
	if k.beside != "" {
		s.begin(fault{at: f.at, kind: k.beside, nodes: []string{k.who}}, after)
	}
	calm := s.shaken
	node := f.nodes[0]
	switch k.on {
	case stores:
		node = f.nodes[1]
	case fewLeft, acknowledged:
		node = ""
	}
	number := s.ambush.lay(k.on, node, k.count, func() {
		// a completion may wait for seconds behind other writes, as with slowDisk
		for _, name := range slowed {
			s.troubles = append(s.troubles, trouble{name, laid, time.Now()})
		}
		s.strike(f, loss && s.shaken.Equal(calm), after)
		s.shaken = time.Now()
	})
	after(k.patience, func() { s.ambush.tire(number) })
	if k.on == acknowledged {
		s.giveSeed(k.at, func(url string) bool {
			return s.holds(f.nodes[0], strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/"))
		})
	}
}

// strike lets it happen. loss says that nothing else has shaken the cluster since
// everything had all its copies.
func (s *simulation) strike(f fault, loss bool, after func(time.Duration, func())) {
	k := f.strike
	victim, lasts := f.nodes[0], max(k.lasts, f.lasts[0])
	if k.on == fewLeft {
		victim = s.holderOfRest(victim)
	}
	s.note("strike at %s", victim)
	switch k.harm {
	case stopNode:
		s.stop(victim, k.lasts, after)
	case cutLinks:
		s.cutAll(s.apart(victim, k.lasts), after)
	case loseNode, powerNode:
		harm := k.harm
		if !loss && !(harm == powerNode && s.sync) {
			harm = killNode
		}
		s.down(victim, harm, lasts, after)
	default:
		s.down(victim, k.harm, lasts, after)
	}
	killed := 0
	for i, name := range append(slices.Clone(f.nodes[1:]), s.up()...) {
		if m := s.members[name]; killed < k.killed && name != victim && m != nil && m.runs() {
			s.down(name, killNode, f.lasts[i%len(f.lasts)], after)
			killed++
		}
	}
	for _, m := range s.members {
		m.disk.pace.Store(int64(s.pace))
	}
}

// apart cuts a node off from all others.
func (s *simulation) apart(node string, lasts time.Duration) []cut {
	var cuts []cut
	for _, name := range s.names {
		if name != node {
			cuts = append(cuts, cut{node, name, lasts}, cut{name, node, lasts})
		}
	}
	return cuts
}

// rest ends all current faults, and starts the members that are down.
func (s *simulation) rest() {
	s.note("rest")
	s.mendAll()
	for _, name := range s.names {
		switch m := s.members[name]; {
		case m.lost:
		case m.life.crashed, m.ended() && m.life.endedOfDisk() && !m.gone:
			s.start(name)
		case m.stopped:
			m.stopped = false
			s.net.Resume(name)
		}
	}
	s.shaken = time.Now()
}

// mendAll gives all links back what they were, and ends all that lasts.
func (s *simulation) mendAll() {
	for _, number := range slices.Sorted(maps.Keys(s.force)) {
		end := s.force[number]
		delete(s.force, number)
		end()
	}
	s.net.Heal()
	clear(s.cut)
	s.era++
	s.slow = nil
	s.net.SetDefault(s.sound)
}

// holds reports whether a member may fetch from a host now.
func (s *simulation) holds(name, host string) bool {
	m := s.members[name]
	return m != nil && m.runs() && m.life.MayFetch(table.PartitionOf(crawl.Host(host), simPartitions))
}

// holderOfRest is the holder of a host with remaining pages; otherwise is returned when there is
// none.
func (s *simulation) holderOfRest(or string) string {
	for _, host := range s.web.judge.incomplete() {
		for _, name := range s.up() {
			if s.holds(name, host) {
				return name
			}
		}
	}
	return or
}
