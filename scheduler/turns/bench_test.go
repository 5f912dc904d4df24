package turns

import (
	"encoding/binary"
	"net/netip"
	"testing"
)

// BenchmarkVisit is what a page costs at an address that this node keeps, among 10,000 in use.
func BenchmarkVisit(b *testing.B) {
	n := newGroup(1).nodes[0]
	go func() {
		for range n.came { // what a dispatcher would take
		}
	}()
	defer close(n.came)
	var ips []netip.Addr
	for i := range 10_000 {
		var raw [4]byte
		binary.BigEndian.PutUint32(raw[:], uint32(10<<24+i))
		ips = append(ips, netip.AddrFrom4(raw))
	}
	i := 0
	for b.Loop() {
		ip := ips[i%len(ips)]
		i++
		n.Turn(ip)
		n.Turn(ip) // when it is handed out
		n.Begin(ip)
		n.MayWrite(ip)
		n.End(ip, true)
		n.Idle(ip)
	}
}
