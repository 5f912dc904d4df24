// Package simnet is a network in memory for simulations: hosts with addresses,
// TCP-like streams, packets (a memberlist.Transport), DNS, and links that fail as
// the test's seed says. It uses no socket, so everything on it can live in one
// testing/synctest bubble, with its clock. Beside it stands Clock, what a machine's own
// clocks make of that one.
//
//	net := simnet.New(seed)
//	a, b := net.AddHost("a", netip.MustParseAddr("10.0.0.1")), net.AddHost("b", ...)
//	l, _ := a.Listen(80)                       // a net.Listener
//	conn, _ := b.Dial(ctx, "tcp", "10.0.0.1:80")
//	net.SetLink("a", "b", simnet.Link{Delay: 20 * time.Millisecond, Drop: 0.2})
//	net.Partition([]string{"a"}, []string{"b"})
//	net.Heal()
//	net.Watch(func(from, to string) { ... })   // a piece of a stream is on its way
//	net.SetName("a.test", addr)                // who knows an older answer goes on with it for a while
//	net.Crash("a"); net.Restart("a", other)    // its next life, at another address
//
// # What a fault does
//
//	          packets                    streams
//	Delay     come later                 bytes come later, in order
//	Drop      are lost                   come a retransmission later (200 ms, doubling)
//	Dup       come twice                 nothing: TCP hides it
//	Reset     nothing                    both ends get "connection reset" at a write
//	cut       are lost                   stand still until healed; new dials hang until their time-out
//	Stall     pass                       stand still in one direction; dials succeed
//	Tear      nothing                    both ends get "connection reset"; what was read stays read
//	Pause     to it wait (1,024)         see below
//	Crash     go nowhere                 reset (heard across a cut once it heals), in half of the cases behind
//	                                     what was on its way; later dials are refused
//	PowerOff  are lost                   stand still, dials hang; Restart resets what was open
//
// Pause stops a process at its system calls, since the goroutines of one node in
// a bubble cannot be stopped. A write, a dial or a close of the paused process
// waits for Resume; it reads nothing and gets no packet, and packets that it
// sends are lost. What it had written before still comes, and its kernel goes on
// accepting connections. Two things differ from SIGSTOP: its timers run, so it
// sees its time-outs during the stop and not all at once after it; and it is
// stopped between a check and the write behind it far more often. A write
// deadline that passed meanwhile ends the write, as it does after SIGCONT.
// SIGSTOP itself belongs into tests with real processes.
//
// A host's name is known to the others by what SetName says, each of which
// remembers an answer for a while: a host that Restart gave another address is
// looked for at its old one until then, and whoever has that address now answers.
// An address that nobody has is unreachable after three seconds.
//
// A Host is one life of a process: after a Crash it can do nothing any more, and
// Restart gives a new one.
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
