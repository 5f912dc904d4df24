package membership

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/hashicorp/memberlist"

	"crawlnode/crawl"
	"crawlnode/membership/consensus"
)

var storedView = &View{
	Number: 7, Cluster: foundedCluster, Left: []Departure{{ID: "z", Boot: 2}},
	Removed: []Removal{{ID: "x", Boot: 3, Name: "n3"}, {ID: "z", Boot: 2, Name: "n4", Proved: true}},
	Barred:  []crawl.NodeID{"u", "w"},
	Members: []Member{
		{ID: "a", Name: "n<1>", Boot: 1, Since: 1, RPC: "127.0.0.1:3", HTTP: "127.0.0.1:1", Gossip: "127.0.0.1:2"},
		{ID: "b", Name: "n2", Boot: 9, Since: 4, Draining: true},
	},
}

func sampleMeta() meta {
	return meta{Boot: 12, Status: consensus.Draining, Name: "n1", Cluster: foundedCluster, RPC: "127.0.0.1:27297", HTTP: "[::1]:27295",
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
	older.Cluster.Protocol = ProtocolVersion - 1
	raw, err := older.encode()
	if err != nil {
		t.Fatal(err)
	}
	// What another release has behind the protocol may look otherwise.
	if _, err := decodeMeta(raw[:len(raw)-4]); !errors.Is(err, errMeta) || !strings.Contains(err.Error(), fmt.Sprintf("protocol version %d, we speak %d", ProtocolVersion-1, ProtocolVersion)) {
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

func sampleDocument() *document {
	accepted := *storedView
	accepted.Number++
	return &document{
		ID: "a", Boot: 5, Cluster: foundedCluster, Peers: []string{"127.0.0.1:27296"}, Former: []former{{"y", "n9", "127.0.0.1:5"}},
		State: consensus.State{View: storedView, Promised: consensus.Ballot{Round: 4, Node: "b"}, Accepted: consensus.Ballot{Round: 4, Node: "b"}, AcceptedView: &accepted, Forgotten: []crawl.NodeID{"q"}},
	}
}

// overwrite leaves blanks behind the content, as a file does that keeps its size.
func overwrite(path string, content []byte) error {
	return os.WriteFile(path, append(content, "\n \n"...), 0o600)
}

func TestFileKeepsDocument(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := NewFile(dir, overwrite)
	if raw, err := file.Load(); raw != nil || err != nil {
		t.Fatalf("an empty directory holds %q, %v", raw, err)
	}
	want := sampleDocument()
	for range 2 {
		if err := file.Save(encodeDocument(want)); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := NewFile(dir, nil).Load()
	if err != nil {
		t.Fatal(err)
	}
	got, err := decodeDocument(raw)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("read back %+v, %v", got, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 1 {
		t.Errorf("files left: %v", left)
	}
	if err := NewFile(filepath.Join(dir, "missing"), overwrite).Save(raw); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("saving into a missing directory: %v", err)
	}
}

// TestDocumentDamage flips each bit and cuts at each byte: nothing may go
// unnoticed, or the node would forget a promise.
func TestDocumentDamage(t *testing.T) {
	t.Parallel()
	want := sampleDocument()
	raw := encodeDocument(want)
	for i := range len(raw) - 1 { // the last byte is the newline
		for _, bit := range []int{i % 8, 5} { // 5 turns capitals into small letters
			raw[i] ^= 1 << bit
			if got, err := decodeDocument(raw); err == nil && !reflect.DeepEqual(got, want) {
				t.Errorf("bit %d of byte %d: %+v", bit, i, got)
			} else if err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrForeign) {
				t.Errorf("bit %d of byte %d: %v", bit, i, err)
			}
			raw[i] ^= 1 << bit
		}
		if _, err := decodeDocument(raw[:i]); !errors.Is(err, ErrCorrupt) {
			t.Errorf("cut at %d: %v", i, err)
		}
	}
	if _, err := decodeDocument([]byte(`{"format":2}`)); !errors.Is(err, ErrForeign) {
		t.Errorf("a newer format: %v", err)
	}
}

func FuzzDocument(f *testing.F) {
	f.Add(encodeDocument(sampleDocument()))
	f.Add([]byte(`{"format":1,"crc":0,"body":{}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		d, err := decodeDocument(raw)
		if err == nil {
			if _, err := decodeDocument(encodeDocument(d)); err != nil {
				t.Fatal(err)
			}
		}
	})
}
