package door

import (
	"encoding/binary"
	"net/netip"
	"testing"
	"time"
)

// TestFailures lets an address fail a hundred times at once and then once a second,
// whatever others do, in bounded memory.
func TestFailures(t *testing.T) {
	t.Parallel()
	f, now := NewFailures(), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	bad, other := netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("192.0.2.1")
	refused := 0
	for range 1000 {
		if f.Note(bad, now) > 0 {
			refused++
		}
	}
	if refused != 1000-failuresAtOnce {
		t.Errorf("%d of 1000 had to wait", refused)
	}
	if wait := f.Note(netip.MustParseAddr("2001:db8::ffff"), now); wait != failureEvery {
		t.Errorf("another address of the same /64 waits for %v", wait)
	}
	if wait := f.Note(other, now); wait != 0 {
		t.Errorf("another address waits for %v", wait)
	}
	if wait := f.Note(bad, now.Add(failureEvery)); wait != 0 {
		t.Errorf("after a while it waits for %v", wait)
	}
	for i := range uint32(3 * maxSources) {
		f.Note(netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, i))), now)
	}
	if n := len(f.sources); n > maxSources+1 {
		t.Errorf("%d addresses are remembered", n)
	}
	if wait := f.Note(netip.MustParseAddr("203.0.113.9"), now.Add(time.Hour)); wait != 0 ||
		len(f.sources) != 1 {
		t.Errorf("an hour later: %v, %d addresses", wait, len(f.sources))
	}
}
