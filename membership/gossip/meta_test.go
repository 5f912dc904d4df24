package gossip

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/memberlist"

	"crawlnode/membership/consensus"
	"crawlnode/ring"
)

// foundedCluster is a founded cluster, and strangeCluster what a node without data knows
// of it.
var (
	strangeCluster = consensus.Cluster{Name: "test", VirtualNodes: 64, Protocol: consensus.ProtocolVersion}
	foundedCluster = consensus.Cluster{
		ID: "00112233445566778899aabbccddeeff", Name: "test", Partitions: 64, Replication: 2,
		VirtualNodes: 64, Protocol: consensus.ProtocolVersion,
	}
)

func sampleMeta() Meta {
	return Meta{Boot: 12, Status: consensus.Draining, Name: "n1", Cluster: foundedCluster, RPC: "127.0.0.1:27297", HTTP: "[::1]:27295",
		Process: consensus.Process{Machine: "0123456789abcdef", PID: 4711, Started: 12345},
		Place:   consensus.Place{Weight: 4, Zone: "rack 7", Changes: 300}}
}

func TestMeta(t *testing.T) {
	t.Parallel()
	for _, cluster := range []consensus.Cluster{foundedCluster, strangeCluster} {
		want := sampleMeta()
		want.Cluster = cluster
		raw, err := want.encode()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := decodeMeta(raw); err != nil || got != want {
			t.Errorf("decoded %+v, %v, want %+v", got, err, want)
		}
		if got, err := decodeMeta(append(raw, "of a later release"...)); err != nil || got != want {
			t.Errorf("with more behind it: %+v, %v", got, err)
		}
		for n := range raw {
			if _, err := decodeMeta(raw[:n]); !errors.Is(err, errMeta) {
				t.Errorf("%d of %d bytes: %v", n, len(raw), err)
			}
		}
	}
	older := sampleMeta()
	older.Cluster.Protocol = consensus.ProtocolVersion - 1
	raw, err := older.encode()
	if err != nil {
		t.Fatal(err)
	}
	// What another release has behind the protocol may look otherwise.
	if _, err := decodeMeta(raw[:len(raw)-16]); !errors.Is(err, errMeta) || !strings.Contains(err.Error(), fmt.Sprintf("protocol version %d, we speak %d", consensus.ProtocolVersion-1, consensus.ProtocolVersion)) {
		t.Errorf("metadata of another release: %v, want both versions", err)
	}
	full := sampleMeta()
	full.Name, full.Cluster.Name = strings.Repeat("n", consensus.MaxNameBytes), strings.Repeat("c", consensus.MaxNameBytes)
	full.RPC, full.HTTP = strings.Repeat("r", consensus.MaxAddressBytes), strings.Repeat("h", consensus.MaxAddressBytes)
	full.Boot, full.PID, full.Started = consensus.MaxNumber, consensus.MaxPID, consensus.MaxNumber
	full.Place = consensus.Place{Weight: ring.MaxWeight, Zone: strings.Repeat("z", consensus.MaxZoneBytes), Changes: math.MaxUint32}
	if raw, err := full.encode(); err != nil || len(raw) > memberlist.MetaMaxSize {
		t.Errorf("the longest names take %d bytes: %v", len(raw), err)
	}
}

// TestMetaPlace: a weight, a zone or a number of changes that no node has made makes the whole metadata
// unreadable.
func TestMetaPlace(t *testing.T) {
	t.Parallel()
	none := sampleMeta()
	none.Place = consensus.Place{}
	raw, err := none.encode()
	if err != nil {
		t.Fatal(err)
	}
	head := raw[:len(raw)-3]
	for name, tail := range map[string][]byte{
		"a weight of 17":   {17, 0, 0},
		"a zone too long":  append([]byte{1, 0, consensus.MaxZoneBytes + 1}, strings.Repeat("z", consensus.MaxZoneBytes+1)...),
		"a zone of bytes":  {1, 0, 1, 0xff},
		"a control code":   {1, 0, 1, 7},
		"2^32 changes":     {1, 0x80, 0x80, 0x80, 0x80, 0x10, 0},
		"no place, as 0.3": nil,
	} {
		if m, err := decodeMeta(append(slices.Clone(head), tail...)); !errors.Is(err, errMeta) {
			t.Errorf("%s: %+v, %v", name, m.Place, err)
		}
	}
	if m, err := decodeMeta(append(slices.Clone(head), 16, 0xff, 0xff, 0xff, 0xff, 0x0f, 1, 'a')); err != nil || m.Place != (consensus.Place{Weight: 16, Zone: "a", Changes: math.MaxUint32}) {
		t.Errorf("the largest place: %+v, %v", m.Place, err)
	}
}

func FuzzMeta(f *testing.F) {
	m := sampleMeta()
	raw, _ := m.encode()
	f.Add(raw)
	f.Add([]byte{metaVersion, 0, 0, 1})
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := decodeMeta(raw)
		if err != nil {
			return
		}
		again, err := m.encode()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := decodeMeta(again); err != nil || got != m {
			t.Fatalf("%+v becomes %+v, %v", m, got, err)
		}
	})
}
