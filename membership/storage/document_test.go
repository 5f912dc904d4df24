package storage

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"crawlnode/crawl"
	"crawlnode/membership/consensus"
)

var foundedCluster = consensus.Cluster{
	ID: "00112233445566778899aabbccddeeff", Name: "test", Partitions: 64, Replication: 2,
	VirtualNodes: 64, Protocol: consensus.ProtocolVersion,
}

var storedView = &consensus.View{
	Number: 7, Cluster: foundedCluster, Left: []consensus.Departure{{ID: "z", Boot: 2}},
	Removed: []consensus.Removal{{ID: "x", Boot: 3, Name: "n3"}, {ID: "z", Boot: 2, Name: "n4", Proved: true}},
	Barred:  []crawl.NodeID{"u", "w"},
	Members: []consensus.Member{
		{ID: "a", Name: "n<1>", Boot: 1, Since: 1, RPC: "127.0.0.1:3", HTTP: "127.0.0.1:1", Gossip: "127.0.0.1:2"},
		{ID: "b", Name: "n2", Boot: 9, Since: 4, Draining: true},
	},
}

func sampleDocument() *Document {
	accepted := *storedView
	accepted.Number++
	return &Document{
		ID: "a", Boot: 5, Cluster: foundedCluster, Peers: []string{"127.0.0.1:27296"}, Former: []Former{{"y", "n9", "127.0.0.1:5"}},
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
		if err := file.Save(Encode(want)); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := NewFile(dir, nil).Load()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(raw)
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
	raw := Encode(want)
	for i := range len(raw) - 1 { // the last byte is the newline
		for _, bit := range []int{i % 8, 5} { // 5 turns capitals into small letters
			raw[i] ^= 1 << bit
			if got, err := Decode(raw); err == nil && !reflect.DeepEqual(got, want) {
				t.Errorf("bit %d of byte %d: %+v", bit, i, got)
			} else if err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrForeign) {
				t.Errorf("bit %d of byte %d: %v", bit, i, err)
			}
			raw[i] ^= 1 << bit
		}
		if _, err := Decode(raw[:i]); !errors.Is(err, ErrCorrupt) {
			t.Errorf("cut at %d: %v", i, err)
		}
	}
	if _, err := Decode([]byte(`{"formau":1}`)); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a damaged name: %v", err)
	}
	if _, err := Decode([]byte(`{"format":2}`)); !errors.Is(err, ErrForeign) {
		t.Errorf("a newer format: %v", err)
	}
}

func FuzzDocument(f *testing.F) {
	f.Add(Encode(sampleDocument()))
	f.Add([]byte(`{"format":1,"crc":0,"body":{}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		d, err := Decode(raw)
		if err == nil {
			if _, err := Decode(Encode(d)); err != nil {
				t.Fatal(err)
			}
		}
	})
}
