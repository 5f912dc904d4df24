// Package simnet is a network in memory for simulations: hosts with addresses, TCP-like streams,
// packets (a memberlist.Transport), DNS, and links that fail as the test's seed says. It uses no
// socket, so everything on it can run in one testing/synctest bubble, with its clock. A Clock
// simulates the clocks of one machine, which differ from the bubble's.
//
//	net := simnet.New(seed)
//	a, b := net.AddHost("a", netip.MustParseAddr("10.0.0.1")), net.AddHost("b", ...)
//	l, _ := a.Listen(80)                       // a net.Listener
//	conn, _ := b.Dial(ctx, "tcp", "10.0.0.1:80")
//	net.SetLink("a", "b", simnet.Link{Delay: 20 * time.Millisecond, Drop: 0.2})
//	net.Partition([]string{"a"}, []string{"b"})
//	net.Heal()
//	net.Watch(func(from, to string) { ... })   // a piece of a stream is on its way
//	net.SetName("a.test", addr)                // older answers stay cached for a while
//	net.Crash("a"); net.Restart("a", other)    // its next life, at another address
//
// # What a fault does
//
//	          packets                    streams
//	Delay     come later                 bytes come later, in order
//	Drop      are lost                   come a retransmission later (200 ms, doubling)
//	Dup       come twice                 nothing: TCP hides it
//	Reset     nothing                    both ends get "connection reset" at a write
//	cut       are lost                   stand still until healed; dials hang until they time out
//	Stall     pass                       stand still in one direction; dials succeed
//	Tear      nothing                    both ends get "connection reset"; what was read stays
//	Pause     to it wait (1,024)         see below
//	Crash     are lost                   reset (after a cut, once it heals), in half of the cases
//	                                     after the bytes in flight; later dials are refused
//	PowerOff  are lost                   stand still, dials hang; Restart resets what was open
//
// Pause stops a process at its system calls, since the goroutines of one node in
// a bubble cannot be stopped. A write, a dial or a close of the paused process
// waits for Resume; it reads nothing and gets no packet, and packets that it
// sends are lost. Bytes that it wrote before still arrive, and its kernel still
// accepts connections. Two things differ from SIGSTOP: its timers run, so it
// sees its time-outs during the stop and not all at once after it; and it is
// stopped between a check and the following write far more often. A write
// deadline that passed meanwhile ends the write, as it does after SIGCONT.
// SIGSTOP itself is for tests with real processes.
//
// SetName sets the address of a name. Each host caches an answer for a while: a host that Restart
// gave another address is still called at its old one meanwhile, and whoever has that address now
// answers. Dialling an address that nobody has fails after three seconds.
//
// A Host is one run of a process: after a Crash it can do nothing any more, and
// Restart returns a new one.
//
// Each directed link draws its faults from the seed, the two names and the
// number of the message on that link, so that the order in which goroutines run
// does not move the faults of other links. All bytes are copied: two hosts share
// no memory.
//
// # Queues
//
//	queue            filled by      emptied by     bound          when full
//	half.segments    Conn.Write     peer's Read    256 KiB        Write waits
//	Listener.backlog Dial           Accept         128            Dial is refused
//	packets          WriteTo        memberlist     1,024          the packet is lost
package simnet
