// Package simnet is a network in memory for simulations: hosts with addresses,
// TCP-like streams, packets (a memberlist.Transport), DNS, and links that fail as
// the test's seed says. It uses no socket, so everything on it can live in one
// testing/synctest bubble, with its clock.
//
//	net := simnet.New(seed)
//	a, b := net.AddHost("a", netip.MustParseAddr("10.0.0.1")), net.AddHost("b", ...)
//	l, _ := a.Listen(80)                       // a net.Listener
//	conn, _ := b.Dial(ctx, "tcp", "10.0.0.1:80")
//	net.SetLink("a", "b", simnet.Link{Delay: 20 * time.Millisecond, Drop: 0.2})
//	net.Partition([]string{"a"}, []string{"b"})
//	net.Heal()
//
// # What a fault does
//
//	          packets                    streams
//	Delay     come later                 bytes come later, in order
//	Drop      are lost                   come a retransmission later (200 ms, doubling)
//	Dup       come twice                 nothing: TCP hides it
//	Reset     nothing                    both ends get "connection reset" at a write
//	cut       are lost                   stand still until healed; new dials hang until their time-out
//	Pause     wait at the host (1,024)   stand still, both ways
//	Crash     go nowhere                 reset (heard across a cut once it heals); later dials are refused
//
// Pause stops a host's traffic and not its goroutines: what its peers see is a
// stopped process, but its own timers go on. A Host is one life of a process:
// after a Crash it can do nothing any more, and Restart gives a new one.
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
