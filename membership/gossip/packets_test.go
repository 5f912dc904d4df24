package gossip

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"fmt"
	"net/netip"
	"testing"
	"time"
)

// testKey is the gossip key of the tests.
var testKey = bytes.Repeat([]byte{7}, 32)

// sealed is a packet as a member with the key sends it.
func sealed(t testing.TB, key []byte, cluster, text string) []byte {
	t.Helper()
	block, err := aes.NewCipher(key)
	if err != nil {
		t.Fatal(err)
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	nonce := make([]byte, gcm.NonceSize())
	out := append([]byte{244, byte(len(cluster))}, cluster...)
	out = append(append(out, 1), nonce...)
	return gcm.Seal(out, nonce, []byte(text), []byte(cluster))
}

func newTestFilter(t testing.TB, key []byte) *packetFilter {
	t.Helper()
	var keys [][]byte
	if key != nil {
		keys = [][]byte{key}
	}
	s, err := newPacketFilter("ours", keys)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestPacketFilter(t *testing.T) {
	t.Parallel()
	good := sealed(t, testKey, "ours", "hello")
	altered := bytes.Clone(good)
	altered[len(altered)-1] ^= 1
	for _, c := range []struct {
		name   string
		key    []byte
		packet []byte
		want   reason
	}{
		{"a member's", testKey, good, admitted},
		{"altered", testKey, altered, otherKey},
		{"cut", testKey, good[:len(good)-6], otherKey},
		{"nothing inside", testKey, sealed(t, testKey, "ours", ""), otherKey},
		{"with another key", testKey, sealed(t, bytes.Repeat([]byte{8}, 32), "ours", "hello"), otherKey},
		{"in the clear", testKey, []byte("\xf4\x04ours\x01hello"), otherKey},
		{"of another cluster with our key", testKey, sealed(t, testKey, "them", "hello"), otherLabel},
		{"our cluster's name on another's text", testKey, append([]byte("\xf4\x04ours"), sealed(t, testKey, "them", "hello")[6:]...), otherKey},
		{"nothing", testKey, nil, otherLabel},
		{"nothing, without a key", nil, nil, otherLabel},
		{"a member's, without a key", nil, []byte("\xf4\x04ours\x01hello"), admitted},
		{"of another cluster, without a key", nil, []byte("\xf4\x04them\x01hello"), otherLabel},
		{"without a label", nil, []byte("\x01hello"), otherLabel},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			before := bytes.Clone(c.packet)
			if got := newTestFilter(t, c.key).check(c.packet, netip.MustParseAddrPort("192.0.2.1:1"), time.Now()); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			if !bytes.Equal(c.packet, before) {
				t.Error("the packet was changed")
			}
		})
	}
}

// One sender cannot take the packets of the others away, and all together no more
// than memberlist can bear; each second begins anew.
func TestPacketFilterCounts(t *testing.T) {
	t.Parallel()
	s := newTestFilter(t, nil)
	packet := []byte("\xf4\x04ours\x01")
	now := time.Unix(100, 0)
	flood := func(from string, packets int) (through int) {
		for range packets {
			if s.check(packet, netip.MustParseAddrPort(from), now) == admitted {
				through++
			}
		}
		return through
	}
	if got := flood("192.0.2.1:1", 10_000); got != packetsPerSender {
		t.Errorf("%d packets of one sender, want %d", got, packetsPerSender)
	}
	if got := flood("192.0.2.2:1", 30); got != 30 {
		t.Errorf("%d of 30 packets of a second sender", got)
	}
	total := packetsPerSender + 30
	for port := range 20_000 {
		total += flood(fmt.Sprint("192.0.2.3:", port), 2)
	}
	if total > packetsInAll || total < packetsInAll*9/10 {
		t.Errorf("%d packets of all, want %d", total, packetsInAll)
	}
	now = now.Add(time.Second)
	if got := flood("192.0.2.1:1", 10); got != 10 {
		t.Errorf("%d of 10 packets in the next second", got)
	}
}

// What is refused must cost no memory.
func TestPacketFilterAllocatesNothing(t *testing.T) {
	s := newTestFilter(t, testKey)
	packet := append([]byte("\xf4\x04ours\x01"), make([]byte, 1000)...)
	from, now := netip.MustParseAddrPort("192.0.2.1:1"), time.Now()
	if n := testing.AllocsPerRun(100, func() { s.check(packet, from, now) }); n != 0 {
		t.Errorf("%v allocations for a refused packet", n)
	}
}

func FuzzPacketFilter(f *testing.F) {
	f.Add([]byte(nil))
	f.Add([]byte("\xf4"))
	f.Add([]byte("\xf4\xff"))
	f.Add([]byte("\xf4\x04ours"))
	f.Add(sealed(f, testKey, "ours", "hello")[:30])
	f.Add(append([]byte("\xf4\x04ours\x00"), make([]byte, 64)...))
	keyed, open := newTestFilter(f, testKey), newTestFilter(f, nil)
	from := netip.MustParseAddrPort("192.0.2.1:1")
	f.Fuzz(func(t *testing.T, packet []byte) {
		if keyed.check(packet, from, time.Unix(1, 0)) == admitted {
			t.Errorf("a packet that nobody sealed is admitted: %x", packet)
		}
		if got := open.check(packet, from, time.Unix(1, 0)); got == admitted && !bytes.HasPrefix(packet, []byte("\xf4\x04ours")) {
			t.Errorf("a packet of no cluster is admitted: %x", packet)
		}
	})
}
