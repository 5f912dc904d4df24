package integration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/config"
	"crawlnode/crawl"
	"crawlnode/frontier/storage"
	"crawlnode/integration/simnet"
	"crawlnode/membership"
	crawlnode "crawlnode/node"
)

const (
	simFetchers   = 8
	simDelay      = time.Second
	simAddrs      = 4
	simDrain      = time.Minute
	simPartitions = 512 // the fewest that a cluster can have
)

// simulation is a cluster of whole nodes and a web, in one bubble. Only the
// bubble's main goroutine calls its methods.
type simulation struct {
	t       *testing.T
	dir     string
	seed    uint64
	sync    bool // --sync
	net     *simnet.Network
	web     *treeWeb
	stopWeb func()
	members map[string]*simMember
	names   []string // of members, in the order of their first start

	began    time.Time         // when the seeds were given
	shaken   time.Time         // when the last fault began or ended
	cut      map[[2]string]int // cuts that are in force, by direction
	sound    simnet.Link       // the way between two nodes when nothing is wrong
	pace     time.Duration     // of disks when nothing is wrong
	era      int               // counts the rests: what ends a fault of an older era does nothing
	ambush   *ambush
	slow     []simnet.Link // descriptions of the links that are in force, the last one counts
	troubles []trouble
	seeds    *seedBook
	rights   rightsJudge
	plan     schedule
	force    map[int]func()  // ends what is in force for a time, by the number of its beginning
	begun    int             // beginnings so far
	stalls   int             // in force
	happened map[string]int  // what has happened, for the table of shares
	heirs    map[string]heir // machines that have the names of lost nodes
	promised []*promise      // to be kept by their time

	misjudged bool // somebody has called the crawl ended too soon
}

// simMember is a node's machine: its disk outlives its processes.
type simMember struct {
	name  string
	path  string          // data directory of the present or last life
	store *storage.Memory // of the present or last life
	disk  *machineDisk
	clock *simnet.Clock
	addr  netip.Addr        // of the present or last life
	as    string            // the node\'s name, when it is not the machine\'s
	moved int               // how often it got an address that nobody had before
	place func() netip.Addr // where its next life begins, once; nil: where it was
	flags int               // which of otherFlags its next life gets; 0: none
	// what it asks for until then may be too early: its clocks stood still, and nobody has told it
	early     time.Time
	life      *life   // the present or last one
	lives     []*life // all; the goroutines of crashed ones may still run
	gone      bool    // told to leave
	lost      bool    // the machine is no more
	forgotten bool    // an operator has said so
	stopped   bool
}

// heir is what a new machine inherits from a lost one: its name, and perhaps its address.
type heir struct {
	old   *simMember
	place bool
}

// runs reports whether a member's process exists, stopped or not.
func (m *simMember) runs() bool { return !m.life.crashed && !m.ended() }

// life is one process.
type life struct {
	*crawlnode.Node
	done    chan struct{} // closed when Run has returned
	err     error         // of Run; valid after done
	endedAt time.Time     // valid after done
	log     *simLog
	disk    *simDisk
	dead    chan struct{} // closed by a crash
	crashed bool
	spoiled bool // its disk has failed, so it may end by itself
}

// simLog keeps the log of one process.
type simLog struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (l *simLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *simLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func newSimulation(t *testing.T, dir string, seed uint64, plan schedule) *simulation {
	t.Helper()
	web := newTreeWeb(seed)
	s := &simulation{t: t, dir: dir, seed: seed, sync: plan.sync, sound: plan.sound, pace: plan.pace,
		ambush: newAmbush(), net: simnet.New(seed), web: web, members: map[string]*simMember{},
		cut: map[[2]string]int{}, seeds: newSeedBook(web.spares()), rights: newRightsJudge(web),
		plan: plan, force: map[int]func(){}, happened: map[string]int{}, heirs: map[string]heir{}}
	s.net.SetNameTTL(plan.ttl)
	web.judge.spaced, web.again, web.judge.least = plan.spaced, plan.again, plan.again.soonest()
	web.owner = s.net.NameAt
	s.net.Watch(func(from, _ string) { s.ambush.saw(sends, from) })
	var addrs []netip.Addr
	for i := range simAddrs {
		addrs = append(addrs, netip.AddrFrom4([4]byte{127, 0, 0, byte(i + 1)}))
	}
	h := s.net.AddHost("web", addrs...)
	h.ServeDNS(web)
	l, err := h.Listen(80)
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: web}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	s.stopWeb = func() {
		_ = srv.Close() // of a listener in memory
		<-done
	}
	return s
}

// webLink is every node's way to the web.
var webLink = simnet.Link{Delay: 2 * time.Millisecond, Jitter: 10 * time.Millisecond}

// start begins a process on a member's machine, the first or the next.
func (s *simulation) start(name string) {
	s.t.Helper()
	m := s.members[name]
	var host *simnet.Host
	if m == nil {
		m = s.machine(name)
		host = s.net.AddHost(name, m.addr)
	} else {
		if !m.life.crashed { // has ended by itself
			s.troubles = append(s.troubles, trouble{name, m.life.endedAt, m.life.endedAt})
			m.store = m.store.Crash()
			s.net.Crash(name)
		}
		m.addr = s.nextAddress(m)
		host = s.net.Restart(name, m.addr)
	}
	s.enterName(m)
	// The web's links are fast and lose nothing, so it sees exactly what the nodes did.
	s.net.SetLink(name, "web", webLink)
	s.net.SetLink("web", name, webLink)
	transport, err := host.Transport(simGossip)
	if err != nil {
		s.t.Fatal(err)
	}
	l := &life{done: make(chan struct{}), dead: make(chan struct{}), log: &simLog{}}
	l.disk = s.disk(m, l)
	l.Node, err = crawlnode.Open(s.options(m, l, host, transport))
	if err != nil {
		_ = transport.Shutdown() // in memory
		s.t.Fatalf("%s: %v\n%s", name, err, l.log)
	}
	m.life, m.gone, m.stopped, m.lives = l, false, false, append(m.lives, l)
	go func() {
		l.err = l.Run(context.Background())
		l.endedAt = time.Now()
		_ = l.HTTPListener().Close() // nobody serves the API here
		close(l.done)
	}()
}

func simListen(host *simnet.Host, addr string) (net.Listener, error) {
	ap, err := netip.ParseAddrPort(addr)
	if err != nil {
		return nil, err
	}
	return host.Listen(int(ap.Port()))
}

// options are those of one process of a member.
func (s *simulation) options(
	m *simMember,
	l *life,
	host *simnet.Host,
	transport *simnet.Transport,
) crawlnode.Options {
	o := crawlnode.Options{
		Config: s.config(m), Version: "sim", Store: l.disk, FreeBytes: m.disk.free,
		OpenFile: m.disk.openFile,
		State:    func(file membership.Storage) membership.Storage { return simState{file, l.disk} },
		Logger:   slog.New(slog.NewTextHandler(l.log, nil)),
		Network: &crawlnode.Network{
			Listen: func(addr string) (net.Listener, error) { return simListen(host, addr) },
			Dial: func(ctx context.Context, addr string) (net.Conn, error) {
				return host.Dial(ctx, "tcp", addr)
			},
			Gossip: transport, Fetch: host.Dial, Exchange: host.Exchange, Lookup: host.LookupHost,
			Clock: m.clock, Machine: m.clock.Machine(m.name),
		},
	}
	return o
}

func (s *simulation) config(m *simMember) config.Config {
	c := config.Default()
	c.Name, c.DataDir, c.Insecure = m.label(), m.path, true
	c.Gossip, c.RPC, c.HTTP = simPort(m.addr.String(), 0), simPort(m.addr.String(), 1),
		simPort(m.addr.String(), 2)
	if s.plan.named && !s.unnamed(m.name) {
		c.Advertise = simName(m.label())
	}
	c.Partitions, c.Replication, c.Fetchers, c.Store = simPartitions, simReplication, simFetchers,
		"none"
	c.Mode, c.Delay, c.DrainTimeout = "domain", simDelay, simDrain
	c.Sync = s.sync
	if s.plan.warc {
		c.Store = "warc"
	}
	if s.ranked() {
		c.Priority = "importance=1"
	}
	c.DNS, c.AllowNet = []string{"127.0.0.1:53"}, []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	if s.plan.spaced > 0 {
		c.IPDelay = &s.plan.spaced
	}
	s.plan.again.set(&c)
	c.Join = s.joinList(m)
	if s.plan.placed {
		c.Weight, c.Zone = simPlace(m.name)
	}
	if s.plan.few {
		c.Fetchers = 1
	}
	otherFlags[m.flags].set(&c)
	m.flags = 0
	if err := c.Validate(); err != nil {
		s.t.Fatal(err)
	}
	return c
}

// crash ends a process like kill -9, or like a power cut. Its network goes first, so that no other
// process gets messages about changes that its disk does not have; then its store. Then the next
// process gets a copy of the files, which the abandoned goroutines do not reach.
func (s *simulation) crash(name string, power bool) {
	s.t.Helper()
	m := s.members[name]
	if power {
		s.net.PowerOff(name)
		m.store = m.store.PowerLoss()
		m.clock.Reboot()
	} else {
		s.net.Crash(name)
		m.store = m.store.Crash()
	}
	path := filepath.Join(s.dir, fmt.Sprintf("%s-%d", name, len(m.lives)+1))
	if err := copyFiles(m.path, path); err != nil {
		s.t.Fatal(err)
	}
	m.path, m.life.crashed, m.stopped = path, true, false
	m.clock.Resume() // a machine whose process was killed is none that is paused
	close(m.life.dead)
	m.life.Stop() // else its timers would go on for the whole simulation
	now := time.Now()
	s.troubles = append(s.troubles, trouble{name, now, now.Add(time.Second)})
}

// disk is a member's store for one process.
func (s *simulation) disk(m *simMember, l *life) *simDisk {
	return &simDisk{
		Memory:  m.store,
		machine: m.disk,
		sync:    s.sync,
		dead:    l.dead,
		hurried: make(chan struct{}),
		onWrite: func() { s.ambush.saw(stores, m.name) },
		random:  rand.New(rand.NewPCG(s.seed, uint64(numberOf(m.name)<<16+len(m.lives)))),
	}
}

// copyTries is how often a copy begins again; an abandoned process renames a few files at most.
const copyTries = 100

// copyFiles copies a directory whose owner still writes to it. The abandoned process may close its
// archive meanwhile, and then a file that was listed by its old name would be in the copy by
// neither: the copy begins again.
func copyFiles(from, to string) error {
	for range copyTries {
		err := copyOnce(from, to)
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := os.RemoveAll(to); err != nil {
			return err
		}
	}
	return fmt.Errorf("copy %s: its files are renamed without end", from)
}

// copyOnce fails with fs.ErrNotExist when a file was renamed or removed before it was read.
func copyOnce(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), b, 0o644)
	})
}

// drain asks a node to leave; Run returns some time later.
func (s *simulation) drain(name string) {
	m := s.members[name]
	m.gone = true
	m.life.Drain()
}

// ended reports whether a member's process has ended by itself.
func (m *simMember) ended() bool {
	select {
	case <-m.life.done:
		return true
	default:
		return false
	}
}

// up returns the names of the members that run and were not asked to leave.
func (s *simulation) up() []string {
	return s.those(func(m *simMember) bool { return m.runs() && !m.gone })
}

func (s *simulation) those(are func(*simMember) bool) []string {
	var names []string
	for _, name := range s.names {
		if are(s.members[name]) {
			names = append(names, name)
		}
	}
	return names
}

// sleep lets time pass, checks which nodes may fetch, and that no node declares the end of the
// crawl too early.
func (s *simulation) sleep(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		s.doze(time.Until(end))
	}
}

// doze sleeps for a moment, d at most, or until a strike comes.
func (s *simulation) doze(d time.Duration) {
	select {
	case <-time.After(min(100*time.Millisecond, d)):
	case <-s.ambush.sprung:
		s.ambush.then()
	}
	s.watchRights()
	s.watchEnd()
	s.watchPromises()
	s.ambush.pages(s.web.judge.unfetched())
}

// watchEnd reports, once, a node that declares the end of the crawl while pages are missing.
func (s *simulation) watchEnd() {
	if s.misjudged {
		return
	}
	for _, name := range s.up() {
		if reason, ok := s.members[name].life.Finished(); ok {
			if n := s.web.judge.unfetched(); n > 0 {
				s.misjudged = true
				s.t.Errorf("I7: at %v %s says that the crawl has ended (%s), with %d pages to come", s.clock(),
					name, reason, n)
				return
			}
		}
	}
}

// until waits, in virtual time, until why returns "".
func (s *simulation) until(within time.Duration, why func() string) bool {
	s.t.Helper()
	for end := time.Now().Add(within); ; s.sleep(500 * time.Millisecond) {
		missing := why()
		if missing == "" {
			return true
		}
		if time.Now().After(end) {
			s.t.Errorf("after %v: %s", within, missing)
			return false
		}
	}
}

func (s *simulation) status(name string) *crawl.Status {
	s.t.Helper()
	st, err := s.members[name].life.Status(context.Background(), false)
	if err != nil {
		s.t.Errorf("%s: %v", name, err)
		return &crawl.Status{}
	}
	return st
}

// shutdown ends everything; the bubble has no goroutine left afterwards.
func (s *simulation) shutdown() {
	s.mendAll()
	for _, name := range s.names {
		s.net.Resume(name)
		for _, l := range s.members[name].lives {
			l.Stop()
		}
	}
	for _, name := range s.names {
		for _, l := range s.members[name].lives {
			if <-l.done; l.err != nil && !l.crashed && !l.endedOfDisk() {
				s.t.Errorf("%s ended with %v", name, l.err)
			}
		}
	}
	s.stopWeb()
	// memberlist's Shutdown does not wait for its goroutines: they notice within
	// their longest time-out.
	time.Sleep(5 * time.Minute)
	synctest.Wait()
}
