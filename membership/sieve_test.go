package membership

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"
)

// sieveKey is the gossip key of the tests.
var sieveKey = bytes.Repeat([]byte{7}, 32)

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

func newTestSieve(t testing.TB, key []byte) *sieve {
	t.Helper()
	var keys [][]byte
	if key != nil {
		keys = [][]byte{key}
	}
	s, err := newSieve("ours", keys)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSieve(t *testing.T) {
	t.Parallel()
	good := sealed(t, sieveKey, "ours", "hello")
	altered := bytes.Clone(good)
	altered[len(altered)-1] ^= 1
	for _, c := range []struct {
		name   string
		key    []byte
		packet []byte
		want   reason
	}{
		{"a member's", sieveKey, good, admitted},
		{"altered", sieveKey, altered, otherKey},
		{"cut", sieveKey, good[:len(good)-6], otherKey},
		{"nothing inside", sieveKey, sealed(t, sieveKey, "ours", ""), otherKey},
		{"with another key", sieveKey, sealed(t, bytes.Repeat([]byte{8}, 32), "ours", "hello"), otherKey},
		{"in the clear", sieveKey, []byte("\xf4\x04ours\x01hello"), otherKey},
		{"of another cluster with our key", sieveKey, sealed(t, sieveKey, "them", "hello"), otherLabel},
		{"our cluster's name on another's text", sieveKey, append([]byte("\xf4\x04ours"), sealed(t, sieveKey, "them", "hello")[6:]...), otherKey},
		{"nothing", sieveKey, nil, otherLabel},
		{"nothing, without a key", nil, nil, otherLabel},
		{"a member's, without a key", nil, []byte("\xf4\x04ours\x01hello"), admitted},
		{"of another cluster, without a key", nil, []byte("\xf4\x04them\x01hello"), otherLabel},
		{"without a label", nil, []byte("\x01hello"), otherLabel},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			before := bytes.Clone(c.packet)
			if got := newTestSieve(t, c.key).judge(c.packet, netip.MustParseAddrPort("192.0.2.1:1"), time.Now()); got != c.want {
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
func TestSieveCounts(t *testing.T) {
	t.Parallel()
	s := newTestSieve(t, nil)
	packet := []byte("\xf4\x04ours\x01")
	now := time.Unix(100, 0)
	flood := func(from string, packets int) (through int) {
		for range packets {
			if s.judge(packet, netip.MustParseAddrPort(from), now) == admitted {
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
func TestSieveAllocatesNothing(t *testing.T) {
	s := newTestSieve(t, sieveKey)
	packet := append([]byte("\xf4\x04ours\x01"), make([]byte, 1000)...)
	from, now := netip.MustParseAddrPort("192.0.2.1:1"), time.Now()
	if n := testing.AllocsPerRun(100, func() { s.judge(packet, from, now) }); n != 0 {
		t.Errorf("%v allocations for a refused packet", n)
	}
}

func FuzzSieve(f *testing.F) {
	f.Add([]byte(nil))
	f.Add([]byte("\xf4"))
	f.Add([]byte("\xf4\xff"))
	f.Add([]byte("\xf4\x04ours"))
	f.Add(sealed(f, sieveKey, "ours", "hello")[:30])
	f.Add(append([]byte("\xf4\x04ours\x00"), make([]byte, 64)...))
	keyed, open := newTestSieve(f, sieveKey), newTestSieve(f, nil)
	from := netip.MustParseAddrPort("192.0.2.1:1")
	f.Fuzz(func(t *testing.T, packet []byte) {
		if keyed.judge(packet, from, time.Unix(1, 0)) == admitted {
			t.Errorf("a packet that nobody sealed is admitted: %x", packet)
		}
		if got := open.judge(packet, from, time.Unix(1, 0)); got == admitted && !bytes.HasPrefix(packet, []byte("\xf4\x04ours")) {
			t.Errorf("a packet of no cluster is admitted: %x", packet)
		}
	})
}

// A stream that brings too much ends, and when all together do, the one that has
// brought most.
func TestStreamBudget(t *testing.T) {
	t.Parallel()
	var b budget
	open := func() (in io.WriteCloser, out *stream) {
		here, there := net.Pipe()
		t.Cleanup(func() { _ = here.Close() })
		s := b.open(there).(*stream)
		t.Cleanup(func() { _ = s.Close() })
		return here, s
	}
	feed := func(in io.Writer, out *stream, bytes int) error {
		go func() { _, _ = in.Write(make([]byte, bytes)) }() // ends with the pipe
		_, err := io.ReadFull(out, make([]byte, bytes))
		return err
	}
	in, out := open()
	if err := feed(in, out, maxStreamBytes); err != nil {
		t.Fatal(err)
	}
	small, smallOut := open()
	second, secondOut := open()
	if err := feed(second, secondOut, maxStreamBytes-1); err != nil {
		t.Fatal(err)
	}
	if err := feed(small, smallOut, 1000); err != nil { // and so the first goes
		t.Errorf("the small stream: %v", err)
	}
	if _, err := out.Read(make([]byte, 1)); err == nil {
		t.Error("the stream that has brought most goes on")
	}
	if err := feed(second, secondOut, 100); !errors.Is(err, errTooMuch) {
		t.Errorf("a stream over its own bound: %v", err)
	}
	_ = smallOut.Close()
	_ = smallOut.Close()
	if b.taken != 0 || len(b.streams) != 0 {
		t.Errorf("%d bytes of %d streams are left", b.taken, len(b.streams))
	}
}

func TestWhyNoAnswer(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"1 error occurred: * Failed to join 192.0.2.1:1: EOF":                                                  "it closed the connection unread: another --cluster, another cluster key, or no crawlnode",
		"read tcp 127.0.0.1:1->127.0.0.1:2: read: connection reset by peer":                                    "it closed the connection unread: another --cluster, another cluster key, or no crawlnode",
		"Failed to join 192.0.2.1:1: remote state is encrypted and encryption is not configured":               "it has a cluster key and this node has none: give this node the same --cluster-key-file",
		"Failed to join 192.0.2.1:1: encryption is configured but remote state is not encrypted":               "it has no cluster key and this node has one: give all nodes the same --cluster-key-file",
		"Failed to join 192.0.2.1:1: remote error: remote state is encrypted and encryption is not configured": "it has no cluster key and this node has one: give all nodes the same --cluster-key-file",
		"Failed to join 192.0.2.1:1: no installed keys could decrypt the message":                              "it has another cluster key: give all nodes the same --cluster-key-file",
		"dial tcp 192.0.2.1:1: connect: connection refused":                                                    "",
		"Failed to join 192.0.2.1:1: read tcp 127.0.0.1:1->127.0.0.1:2: i/o timeout":                           "",
	} {
		if got := whyNoAnswer(errors.New(text)); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
