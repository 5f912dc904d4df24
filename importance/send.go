package importance

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/frontier/cash"
	"crawlnode/frontier/commit"
	"crawlnode/peer"
)

// A round reads so many entries and bytes of all outboxes, at most sendEach of one; a call carries
// so many. sendWait bounds a round, so that a stopped peer delays the others no longer.
const (
	sendEntries = 4_000
	sendBytes   = 4 << 20
	sendEach    = 1_000
	callEntries = 1_000
	callBytes   = 512 << 10
	sendTurns   = 8 // of a round, while there is more
	sendWait    = 3 * time.Second
)

// send carries what waits in the outboxes, in some turns.
func (k *Keeper) send(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, sendWait)
	defer cancel()
	k.behind = false
	for range sendTurns {
		read, done, err := k.turn(ctx, bounded)
		if err != nil || done < read || read < sendEntries/2 || bounded.Err() != nil {
			return err
		}
	}
	k.behind = true
	return nil
}

// turn carries one piece of each outbox. Calls end with bounded.
func (k *Keeper) turn(ctx, bounded context.Context) (read, done int, err error) {
	var ps []crawl.Partition
	for p, h := range k.held {
		if h.posted {
			ps = append(ps, p)
		}
	}
	if len(ps) == 0 {
		return 0, 0, nil
	}
	slices.Sort(ps)
	k.turns++ // another one is first in each turn
	ps = slices.Concat(ps[k.turns%len(ps):], ps[:k.turns%len(ps)])
	tenures := k.tenures(ps)
	pieces := make([][]cash.CreditEntry, len(ps))
	left, size := sendEntries, sendBytes
	for i, p := range ps {
		if left <= 0 || size <= 0 {
			tenures, pieces, ps = tenures[:i], pieces[:i], ps[:i]
			break
		}
		if pieces[i], err = k.read(p, min(left, sendEach), size); err != nil {
			return 0, 0, err
		}
		left -= len(pieces[i])
		for _, e := range pieces[i] {
			size -= len(e.Bytes)
		}
	}
	// Only what the in-sync replicas have may be sent.
	for i, err := range k.await(bounded, tenures) {
		if err != nil {
			k.held[ps[i]].after = frontier.OutboxKey{}
			pieces[i] = nil
		}
	}
	done, err = k.carry(ctx, bounded, slices.Concat(pieces...))
	return sendEntries - left, done, err
}

// read reads the next piece of an outbox.
func (k *Keeper) read(p crawl.Partition, n, size int) ([]cash.CreditEntry, error) {
	h := k.held[p]
	entries, err := k.opts.Store.Credits(p, h.after, n, size)
	switch {
	case errors.Is(err, commit.ErrNotHolder):
		return nil, nil
	case err != nil:
		return nil, err
	case len(entries) > 0:
		h.after = entries[len(entries)-1].Key
	case h.after == (frontier.OutboxKey{}):
		h.posted = false
	default: // the end: from the start again, where entries may be left
		h.after = frontier.OutboxKey{}
	}
	return entries, nil
}

// carry hands the entries to the nodes that hold their targets, all nodes at once, and removes what
// these have.
func (k *Keeper) carry(ctx, bounded context.Context, entries []cash.CreditEntry) (int, error) {
	byNode := map[crawl.NodeID][]cash.CreditEntry{}
	for _, e := range entries {
		to := k.holder(e.Key.Target)
		byNode[to] = append(byNode[to], e)
	}
	var mu sync.Mutex // guards sent, marks and failed
	var sent []cash.CreditEntry
	var marks []uint64
	var failed error
	var calls sync.WaitGroup
	for to, all := range byNode {
		calls.Go(func() {
			got, err := k.sendTo(bounded, to, all)
			mu.Lock()
			defer mu.Unlock()
			sent, marks = append(sent, all...), append(marks, got...)
			failed = errors.Join(failed, err)
		})
	}
	calls.Wait()
	if failed != nil {
		return 0, failed
	}
	var done []cash.CreditEntry
	var had []uint64
	for i := range sent {
		if e := &sent[i]; marks[i] >= e.Key.Seq {
			done, had = append(done, *e), append(had, marks[i])
		} else {
			k.skip(e)
		}
	}
	if len(done) == 0 {
		return 0, nil
	}
	return len(done), k.opts.Store.AckCredits(ctx, done, had)
}

// skip passes over the target of an entry that was not acknowledged, in this pass: later entries of
// the pair must not come before it.
func (k *Keeper) skip(e *cash.CreditEntry) {
	if h := k.held[e.From]; h != nil && h.after.Target == e.Key.Target {
		h.after.Seq = math.MaxUint64 - 1
	}
}

// holder is the node that holds p, as far as this node knows; "": none is known.
func (k *Keeper) holder(p crawl.Partition) crawl.NodeID {
	if k.opts.Holdings.Holds(p) {
		return k.opts.Self
	}
	to := k.opts.Peers.Holder(p)
	if to == "" || to == k.opts.Self {
		to = k.opts.Peers.Owner(p)
	}
	if to == k.opts.Self {
		return ""
	}
	return to
}

// sendTo hands entries to a node, and returns what it has answered. An error is one of this node's
// own store.
func (k *Keeper) sendTo(
	ctx context.Context,
	to crawl.NodeID,
	entries []cash.CreditEntry,
) ([]uint64, error) {
	marks := make([]uint64, len(entries))
	open := map[[2]crawl.Partition]bool{} // pairs with an entry that was not acknowledged
	for from := 0; to != "" && from < len(entries); {
		n := cut(entries[from:])
		piece := entries[from : from+n]
		if n = goesOn(piece, open); n == 0 {
			from++ // a later entry must not come before an earlier one of its pair
			continue
		}
		piece = piece[:n]
		var got []uint64
		if to == k.opts.Self {
			var err error
			if got, err = k.take(ctx, piece); err != nil && ctx.Err() == nil {
				return nil, err
			}
		} else if r, err := k.opts.Peers.Credit(ctx, to, toWire(piece)); err == nil && len(r.Taken) == n {
			got = r.Taken
		}
		if got == nil {
			break // the node does not answer
		}
		for i := range piece {
			// A mark that no partition reaches is no answer: behind it there would be no numbers.
			if got[i] <= cash.MaxMark {
				marks[from+i] = got[i]
			}
			if marks[from+i] < piece[i].Key.Seq {
				open[pairOf(&piece[i])] = true
			}
		}
		from += n
	}
	return marks, nil
}

func pairOf(e *cash.CreditEntry) [2]crawl.Partition {
	return [2]crawl.Partition{e.From, e.Key.Target}
}

// goesOn is the number of entries in front whose pairs are not open.
func goesOn(entries []cash.CreditEntry, open map[[2]crawl.Partition]bool) int {
	for i := range entries {
		if open[pairOf(&entries[i])] {
			return i
		}
	}
	return len(entries)
}

// cut is how many of the entries, one at least, go into one call.
func cut(entries []cash.CreditEntry) int {
	size := 0
	for i := range entries {
		size += len(entries[i].Bytes)
		if i > 0 && (i >= callEntries || size > callBytes) {
			return i
		}
	}
	return len(entries)
}

func toWire(entries []cash.CreditEntry) *peer.CreditBatch {
	b := &peer.CreditBatch{Entries: make([]*peer.CreditEntry, len(entries))}
	for i := range entries {
		e := &entries[i]
		b.Entries[i] = &peer.CreditEntry{
			From:    uint32(e.From),
			To:      uint32(e.Key.Target),
			Seq:     e.Key.Seq,
			Credits: e.Bytes,
		}
	}
	return b
}
