package membership

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"crawlnode/membership/consensus"
	"crawlnode/membership/storage"
)

// TestOlderProtocolGoesOn: the data of a cluster that ran an older release are
// taken over by this one, all of it that names the version.
func TestOlderProtocolGoesOn(t *testing.T) {
	t.Parallel()
	at := func(protocol int) *storage.Document {
		c := foundedCluster
		c.Protocol = protocol
		v := &View{Number: 4, Cluster: c, Members: []Member{{ID: "a", Name: "a", Boot: 1, Since: 1, RPC: "rpc-a:1", HTTP: "http-a:1", Gossip: "127.0.0.1:1"}}}
		next := *v
		next.Number++
		return &storage.Document{ID: "a", Boot: 1, Cluster: c, State: consensus.State{View: v, AcceptedView: &next}}
	}
	open := func(d *storage.Document) (*Membership, error) {
		o := new(exchange).options("a")
		o.RequirePartitions = 0
		disk := new(Memory)
		if err := disk.Save(storage.Encode(d)); err != nil {
			t.Fatal(err)
		}
		o.Storage = disk
		return Open(o)
	}
	m, err := open(at(ProtocolVersion - 1))
	if err != nil {
		t.Fatalf("an older release's data: %v", err)
	}
	defer m.Close()
	for name, c := range map[string]consensus.Cluster{"document": m.doc.Cluster, "view": m.doc.State.View.Cluster, "accepted view": m.doc.State.AcceptedView.Cluster} {
		if c.Protocol != ProtocolVersion {
			t.Errorf("the %s still says protocol version %d", name, c.Protocol)
		}
	}
	raw, err := m.o.Storage.Load()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := storage.Decode(raw); err != nil {
		t.Errorf("what was saved is not read again: %v", err)
	}

	_, err = open(at(ProtocolVersion + 1))
	if !errors.Is(err, ErrMismatch) || !strings.Contains(err.Error(), fmt.Sprintf("protocol version %d, we speak %d", ProtocolVersion+1, ProtocolVersion)) {
		t.Errorf("a newer release's data: %v, want a refusal that names both versions", err)
	}
}
