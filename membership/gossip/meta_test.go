package gossip

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/memberlist"

	"crawlnode/membership/consensus"
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
		Process: consensus.Process{Machine: "0123456789abcdef", PID: 4711, Started: 12345}}
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
	if _, err := decodeMeta(raw[:len(raw)-4]); !errors.Is(err, errMeta) || !strings.Contains(err.Error(), fmt.Sprintf("protocol version %d, we speak %d", consensus.ProtocolVersion-1, consensus.ProtocolVersion)) {
		t.Errorf("metadata of another release: %v, want both versions", err)
	}
	full := sampleMeta()
	full.Name, full.Cluster.Name = strings.Repeat("n", consensus.MaxNameBytes), strings.Repeat("c", consensus.MaxNameBytes)
	full.RPC, full.HTTP = strings.Repeat("r", consensus.MaxAddressBytes), strings.Repeat("h", consensus.MaxAddressBytes)
	full.Boot, full.PID, full.Started = consensus.MaxNumber, consensus.MaxPID, consensus.MaxNumber
	if raw, err := full.encode(); err != nil || len(raw) > memberlist.MetaMaxSize {
		t.Errorf("the longest names take %d bytes: %v", len(raw), err)
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
