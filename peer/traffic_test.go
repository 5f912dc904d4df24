package peer

import "testing"

// TestTrafficHasEveryMethod asks a new pool: each method of the service is there, and none has
// carried anything.
func TestTrafficHasEveryMethod(t *testing.T) {
	t.Parallel()
	p := NewPool(PoolOptions{Self: "a", Cluster: func() string { return "c" }})
	defer p.Close()
	got := p.Traffic()
	if want := len(Peer_ServiceDesc.Methods) + len(Peer_ServiceDesc.Streams); len(got) != want {
		t.Errorf("%d methods, want %d", len(got), want)
	}
	for name, sent := range got {
		if sent != (Traffic{}) {
			t.Errorf("%s has carried %+v", name, sent)
		}
	}
}

// TestTrafficCountsCallsAndLinks makes two calls and forwards two links.
func TestTrafficCountsCallsAndLinks(t *testing.T) {
	t.Parallel()
	to, _ := startServer(t, &fakeNode{}, "c")
	p := newPool(t, "c")
	for range 2 {
		if _, err := Call(t.Context(), p, to, &RenewRequest{View: 7}, PeerClient.Renew); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.Forward(t.Context(), to, links("http://a.test/", "http://b.test/")); err != nil {
		t.Fatal(err)
	}
	got := p.Traffic()
	if r := got["Renew"]; r.Calls != 2 || r.Bytes < 8 {
		t.Errorf("Renew has %+v", r)
	}
	if l := got["Links"]; l.Calls != 1 || l.Bytes < 30 {
		t.Errorf("Links has %+v", l)
	}
	if c := got["Clock"]; c != (Traffic{}) {
		t.Errorf("Clock has %+v", c)
	}
}
