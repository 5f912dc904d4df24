package transfer

import (
	"testing"

	"crawlnode/crawl"
	"crawlnode/frontier/frontiertest"
	"crawlnode/handoff"
)

// Each change of authority is in the frontier when it returns, and handoff finds it there at
// the next start.
func TestStoreKeepsStates(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := NewStore(frontiertest.Holding(t, 3, 0, 1, 2, 3, 4, 5))
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	const held, released, resumed, copied, suspect, promoted = 0, 1, 2, 3, 4, 5
	must(s.StoreReleased(ctx, released, "b", 4))
	must(s.StoreReleased(ctx, resumed, "b", 4))
	must(s.StoreHolder(ctx, resumed))
	must(s.StoreCopy(ctx, copied, false))
	must(s.StoreCopy(ctx, suspect, true))
	must(s.StoreCopy(ctx, suspect, false)) // does not make it complete
	must(s.StoreCopy(ctx, promoted, false))
	must(s.Promote(ctx, promoted, 5))
	must(s.StoreCopy(ctx, 9, true)) // there is no partition, and none appears
	if err := s.Promote(ctx, held, 5); err == nil {
		t.Error("what is held was promoted")
	}
	if err := s.StoreHolder(ctx, held); err == nil {
		t.Error("a release was taken back that there was not")
	}
	want := map[crawl.Partition]handoff.Kept{
		held:     {State: handoff.Holding, Epoch: 3},
		released: {State: handoff.Released, Epoch: 3},
		resumed:  {State: handoff.Holding, Epoch: 3},
		copied:   {Copy: true, Epoch: 3},
		suspect:  {Copy: true, Epoch: 3, Suspect: true},
		promoted: {State: handoff.Holding, Epoch: 5},
		9:        {},
	}
	for p, k := range want {
		got := s.Kept(p)
		if got.State != k.State || got.Copy != k.Copy || got.Epoch != k.Epoch || got.Suspect != k.Suspect {
			t.Errorf("partition %d: %+v, want %+v", p, got, k)
		}
	}
	loaded, damaged, err := s.Loaded(ctx)
	if err != nil || damaged != 0 || len(loaded) < 6 {
		t.Fatalf("loaded %+v, %d damaged, %v", loaded, damaged, err)
	}
	for _, l := range loaded {
		if l.State != want[l.P].State || l.Epoch != want[l.P].Epoch || (l.To == "b") != (l.P == released) {
			t.Errorf("loaded: %+v", l)
		}
	}
}

func TestFigures(t *testing.T) {
	t.Parallel()
	front := frontiertest.Holding(t, 3, 0, 1, 2)
	if err := NewStore(front).StoreCopy(t.Context(), 1, false); err != nil {
		t.Fatal(err)
	}
	moves := handoff.NewDriver(handoff.Options{Self: "a", Boot: 1, Partitions: 3, Factor: 2, Store: NewStore(front)}, nil)
	// What was held before this start is of no view yet.
	if f := FiguresOf(moves, front); f.Replicas != 1 || f.Copied != 0 || f.Lost != 0 || f.View != 0 {
		t.Errorf("%+v", f)
	}
}
