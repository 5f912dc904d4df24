package orders

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"crawlnode/crawl"
)

// member is a node as this package sees it.
type member struct {
	*Orders
	self   crawl.NodeID
	all    map[crawl.NodeID]*member // nil: it is silent
	heir   bool
	early  bool          // it has not joined yet
	visits time.Duration // how long its visits are open
	mu     sync.Mutex    // guards did
	did    []string
	free   chan struct{} // closed when no visit is open
}

var errEarly = errors.New("not joined yet")

func newMembers(names ...crawl.NodeID) map[crawl.NodeID]*member {
	all := map[crawl.NodeID]*member{}
	for _, name := range names {
		m := &member{self: name, all: all, heir: true, free: make(chan struct{})}
		m.Orders = New(Options{
			Self:  name,
			Name:  string(name),
			Node:  m,
			Ender: m,
			Log:   slog.New(slog.DiscardHandler),
		})
		all[name] = m
	}
	return all
}

func (m *member) Others() (refs []crawl.NodeRef, err error) {
	if m.early {
		return nil, errEarly
	}
	for id := range m.all {
		if id != m.self {
			refs = append(refs, crawl.NodeRef{ID: id, Name: string(id)})
		}
	}
	return refs, nil
}

func (m *member) Knows(id crawl.NodeID) bool { return id == "gone" }

func (m *member) Send(ctx context.Context, to crawl.NodeID, payload []byte) error {
	if o := m.all[to]; o != nil {
		return o.Serve(ctx, payload)
	}
	<-ctx.Done()
	return status.FromContextError(ctx.Err()).Err()
}

func (m *member) note(what string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.did = append(m.did, what)
}

func (m *member) acts() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.did)
}

func (m *member) SetPlace(_ context.Context, c crawl.PlaceChange) error {
	if c.Zone != nil && *c.Zone == "full" {
		return errors.New("the disk is full")
	}
	m.note(c.String())
	return nil
}

func (m *member) HasHeir() bool { return m.heir }
func (m *member) Together()     { m.note("together") }
func (m *member) NoVisits() <-chan struct{} {
	return m.free
}
func (m *member) End()        { m.note("end") }
func (m *member) Begun() bool { return slices.Contains(m.acts(), "begin") }
func (m *member) Begin() {
	m.note("begin")
	time.AfterFunc(m.visits, func() {
		m.note("no visits")
		close(m.free)
	})
}

// TestPlace: a weight or a zone reaches the member that it is for, and is checked on both sides.
func TestPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := newMembers("a", "b")
		all["silent"] = nil
		a, ctx := all["a"], t.Context()
		weight, zone, none := 4, "east", ""
		for id, want := range map[crawl.NodeID]string{
			"a": "weight 4, zone east",
			"b": "weight 4, zone east",
		} {
			if err := a.Place(ctx, id, crawl.PlaceChange{Weight: &weight, Zone: &zone}); err != nil ||
				strings.Join(all[id].acts(), ", ") != want {
				t.Errorf("%s: %v, %v", id, all[id].acts(), err)
			}
		}
		if err := a.Place(ctx, "b", crawl.PlaceChange{Zone: &none}); err != nil ||
			all["b"].acts()[1] != "no zone" {
			t.Errorf("out of the zone: %v, %v", all["b"].acts(), err)
		}
		heavy, full := 17, "full"
		if err := a.Place(ctx, "b", crawl.PlaceChange{Weight: &heavy}); !errors.Is(err, crawl.ErrPlace) {
			t.Errorf("too heavy: %v", err)
		}
		if err := a.Serve(ctx, []byte(`{"place":{"weight":17}}`)); status.Code(err) !=
			codes.InvalidArgument {
			t.Errorf("too heavy, from another release: %v", err)
		}
		if err := a.Place(ctx, "b", crawl.PlaceChange{Zone: &full}); err == nil ||
			errors.Is(err, crawl.ErrRefused) {
			t.Errorf("a member that cannot store it: %v", err)
		}
		if err := a.Place(ctx, "nobody", crawl.PlaceChange{Weight: &weight}); !errors.Is(err,
			crawl.ErrUnknownNode) {
			t.Errorf("an unknown node: %v", err)
		}
		if err := a.Place(ctx, "gone", crawl.PlaceChange{
			Weight: &weight,
		}); !errors.Is(err, crawl.ErrRefused) || !strings.Contains(err.Error(), "no member now") {
			t.Errorf("a node that is no member: %v", err)
		}
		limited, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if err := a.Place(limited, "silent", crawl.PlaceChange{Weight: &weight}); err == nil ||
			!strings.Contains(err.Error(), "silent does not answer; nodes list shows its weight and zone") {
			t.Errorf("a silent node: %v", err)
		}
	})
}

// TestStopAll: every member ends, none before the visits of all are over.
func TestStopAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := newMembers("a", "b", "c")
		all["b"].visits, all["a"].visits = 2*time.Second, time.Second
		begun := time.Now()
		report, err := all["a"].StopAll(t.Context())
		if err != nil || len(report.Stopping) != 3 || report.Stopping[0].ID != "a" ||
			len(report.Unanswered) != 0 {
			t.Fatalf("%+v, %v", report, err)
		}
		if took := time.Since(begun); took != 2*time.Second {
			t.Errorf("it took %v", took)
		}
		for id, m := range all {
			if got := strings.Join(m.acts(), ", "); got != "together, begin, no visits, end" {
				t.Errorf("%s: %s", id, got)
			}
		}
	})
}

// TestStopAllOfSome: a silent member is named, and does not keep the others from their end.
func TestStopAllOfSome(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := newMembers("a", "b")
		all["c"] = nil
		begun := time.Now()
		report, err := all["a"].StopAll(t.Context())
		if err != nil || len(report.Stopping) != 2 || !slices.Equal(report.Unanswered, []string{"c"}) {
			t.Fatalf("%+v, %v", report, err)
		}
		if took := time.Since(begun); took != visitsPatience {
			t.Errorf("it took %v", took)
		}
		if got := all["b"].acts(); got[len(got)-1] != "end" {
			t.Errorf("b did %v", got)
		}
	})
}

// TestOrders checks the orders for single members.
func TestOrders(t *testing.T) {
	t.Parallel()
	all := newMembers("a", "b")
	a, ctx := all["a"], t.Context()
	all["b"].heir = false
	if err := a.Drain(ctx, "b"); !errors.Is(err, crawl.ErrRefused) ||
		!strings.Contains(err.Error(), "no other active member") ||
		strings.Count(err.Error(), "refused") != 1 {
		t.Errorf("a drain without an heir: %v", err)
	}
	if err := a.Stop(ctx, "b"); err != nil || !slices.Equal(all["b"].acts()[:1], []string{"begin"}) {
		t.Errorf("a stop without an heir: %v, %v", err, all["b"].acts())
	}
	if err := a.Drain(ctx, "b"); err != nil {
		t.Errorf("a drain of a node that ends: %v", err)
	}
	if err := a.Stop(ctx, "nobody"); !errors.Is(err, crawl.ErrUnknownNode) {
		t.Errorf("an unknown node: %v", err)
	}
	if err := a.Stop(ctx, "gone"); !errors.Is(err, crawl.ErrRefused) {
		t.Errorf("a node that is no member: %v", err)
	}
	a.early = true
	if err := a.Stop(ctx, "b"); !errors.Is(err, errEarly) {
		t.Errorf("an order before this node has joined: %v", err)
	}
	if err := a.Stop(ctx, "a"); err != nil || len(a.acts()) == 0 {
		t.Errorf("itself: %v", err)
	}
	for _, payload := range []string{"{", "{}", `{"stop":"now"}`, `{"rotation":{}}`} {
		if err := a.Serve(ctx, []byte(payload)); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: %v", payload, err)
		}
	}
}
