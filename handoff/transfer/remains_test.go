package transfer

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/frontier/frontiertest"
	"crawlnode/frontier/storage"
	"crawlnode/local/datadir"
	"crawlnode/membership"
)

// cutStore is a store whose log was damaged when it was opened.
type cutStore struct{ storage.KV }

func (cutStore) Cuts() []string { return []string{"d/frontier/00001.mem at byte 77"} }

// A lone node with a damaged frontier ends with the name of the file and the remedy, until a
// person accepts the loss. Where other nodes may have copies, it goes on.
func TestRemains(t *testing.T) {
	t.Parallel()
	const self = "a"
	set := func(p crawl.Partition, ids ...crawl.NodeID) frontier.SetRecord {
		return frontier.SetRecord{Partition: p, Epoch: 1, Version: 1, Members: ids}
	}
	whole := []frontier.SetRecord{set(0, self), set(1, self)}
	one := membership.View{Members: []membership.Member{{ID: self, Since: 1}}}
	one.Cluster.Partitions = 2
	two, forgotten := one, one
	two.Members = append([]membership.Member{{ID: "b"}}, two.Members...)
	forgotten.Barred = []crawl.NodeID{"b"}
	for name, c := range map[string]struct {
		view    membership.View
		sets    []frontier.SetRecord
		suspect bool
		founder bool
		ends    bool
	}{
		"nothing is lost":                   {one, whole, false, true, false},
		"mutations are lost":                {one, whole, true, true, true},
		"the record of the copies too":      {one, nil, true, true, true},
		"another member":                    {two, nil, true, true, false},
		"a node that may come back":         {one, []frontier.SetRecord{set(0, self, "b"), set(1, self)}, true, true, false},
		"a node that was forgotten":         {forgotten, []frontier.SetRecord{set(0, self, "b"), set(1, self)}, true, true, true},
		"what another founded is not known": {one, whole, true, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, err := datadir.Open(filepath.Join(t.TempDir(), "d"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(dir.Close)
			front := frontiertest.Holding(t, 1, 0, 1)
			f := Founder{Dir: dir, Frontier: front, Store: cutStore{}, Logger: slog.New(slog.DiscardHandler)}
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			must(front.PutSets(t.Context(), c.sets))
			if c.founder {
				must(f.mark())
			}
			if c.suspect {
				must(NewStore(front).StoreCopy(t.Context(), 1, true))
			}
			judge := func() error { return f.Remains(t.Context(), &c.view, self) }
			if !c.ends {
				must(judge())
				return
			}
			for range 2 { // also the start that sees no damage any more
				err := judge()
				if !errors.Is(err, datadir.ErrStorage) || !strings.Contains(err.Error(), "00001.mem at byte 77") || !strings.Contains(err.Error(), "mv "+dir.Join("LOSS")) {
					t.Fatalf("the start ends with %v", err)
				}
				f.Store = nil
			}
			must(os.Rename(dir.Join("LOSS"), dir.Join("LOSS-ACCEPTED")))
			must(judge())
			if r, _ := front.Set(1); len(r.Members) == 0 || r.Members[0] != self {
				t.Errorf("the record of the copies is %v", r)
			}
			must(NewStore(front).Promote(t.Context(), 1, 2))
			must(judge())
			if dir.Has("LOSS-ACCEPTED") {
				t.Error("the acceptance outlives the loss")
			}
		})
	}
}

// The error of a damaged store says what to do.
func TestCannotOpen(t *testing.T) {
	t.Parallel()
	dir, err := datadir.Open(filepath.Join(t.TempDir(), "d"))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	for _, err := range []error{CannotOpen(dir, storage.ErrDamaged), CannotOpen(dir, errors.New("x"))} {
		if says := strings.Contains(err.Error(), "mv "+dir.Join("frontier")); !errors.Is(err, datadir.ErrStorage) || says != errors.Is(err, storage.ErrDamaged) {
			t.Errorf("%v", err)
		}
	}
}
