package integration

import (
	"fmt"
	"time"

	"crawlnode/frontier/cash"
	"crawlnode/frontier/layout"
	storereader "crawlnode/frontier/reader"
	"crawlnode/frontier/storage"
	"crawlnode/importance/opic"
)

// This file judges importance: its cash is conserved, whatever happens to nodes and partitions.

// ranked reports whether importance counts in this simulation: in every second one.
func (s *simulation) ranked() bool { return s.seed%2 == 0 }

// losesCash reports whether a fault may take acknowledged changes from all copies of a partition.
func (s *simulation) losesCash() bool {
	for _, f := range s.plan.faults {
		if f.kind == powerNode && !s.plan.sync || f.kind == loseNode {
			return true
		}
	}
	return false
}

// cashRests waits until everything that was sent from one partition to another was received, and
// checks that each page was given its unit once.
func (s *simulation) cashRests(within time.Duration) {
	s.t.Helper()
	if !s.ranked() || s.losesCash() {
		return
	}
	var sum opic.Ledger
	rests := s.until(within, func() string {
		sum = opic.Ledger{}
		held, waiting := 0, 0
		for _, name := range s.up() {
			if err := cashOf(s.members[name].store, &sum, &held, &waiting); err != nil {
				return fmt.Sprintf("importance: %s: %v", name, err)
			}
		}
		if held != simPartitions || waiting > 0 || sum.Sent != sum.Received || sum.Sent == 0 ||
			sum.Minted%opic.Unit != 0 || sum.Minted > opic.Unit*opic.Cash(s.web.size()) {
			return fmt.Sprintf("importance: %d partitions, %d entries wait, %+v", held, waiting, sum)
		}
		return ""
	})
	if rests {
		s.note("importance: %d units were given", sum.Minted/opic.Unit)
	}
}

// cashOf adds what the held partitions of a store say of their cash.
func cashOf(store *storage.Memory, sum *opic.Ledger, held, waiting *int) error {
	snap, err := store.Snapshot()
	if err != nil {
		return err
	}
	defer snap.Close()
	states, _, err := storereader.States(snap)
	if err != nil {
		return err
	}
	for p, st := range states {
		if st.State != layout.Holder {
			continue
		}
		*held++
		v := storereader.Partition{
			Snapshot:   snap,
			Generation: layout.Generation{Partition: p, Number: st.Generation},
		}
		t, err := cash.Totals(&v)
		if err != nil {
			return err
		}
		sum.Plus(t.Ledger)
		it := v.Iterate([]byte{layout.TableCredits})
		for it.Seek(v.Abs([]byte{layout.TableCredits})); it.Valid(); it.Next() {
			*waiting++
		}
		it.Close()
	}
	return nil
}
