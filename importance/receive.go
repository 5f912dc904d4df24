package importance

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/frontier/cash"
	"crawlnode/peer"
)

// A call has at most so many entries and bytes: twice what this program sends.
const (
	maxEntries = 2 * callEntries
	maxBytes   = 2 * callBytes
)

// takeWait bounds how long credits wait for the replicas; it is below the time limit of a call.
const takeWait = 3 * time.Second

// errNotJoined says that this node holds nothing yet.
var errNotJoined = errors.New("this node has not joined the cluster yet")

// Credit takes credits that another member sends. It takes them whether or not importance counts
// here: the members learn of a new setting one after the other. Any goroutine may call it.
func (k *Keeper) Credit(ctx context.Context, b *peer.CreditBatch) (*peer.CreditReply, error) {
	partitions := k.opts.Holdings.Partitions()
	if partitions == 0 {
		return nil, errNotJoined
	}
	entries, at, err := fromWire(b, partitions)
	if err != nil {
		return nil, err
	}
	marks, err := k.take(ctx, entries)
	if err != nil {
		return nil, err
	}
	r := &peer.CreditReply{Taken: make([]uint64, len(b.Entries))}
	for i := range entries {
		r.Taken[at[i]] = marks[i]
	}
	return r, nil
}

// fromWire returns the entries of a batch that a correct node may send, and their places. Behind
// one that it may not send none of its pair is taken: its number would say that the other was taken
// too.
func fromWire(
	b *peer.CreditBatch,
	partitions int,
) (entries []cash.CreditEntry, at []int, err error) {
	if len(b.Entries) > maxEntries {
		return nil, nil, fmt.Errorf("%d entries of credits in one call, at most %d", len(b.Entries),
			maxEntries)
	}
	size := 0
	last := map[[2]uint32]uint64{}
	for i, e := range b.Entries {
		if size += len(e.GetCredits()); size > maxBytes {
			return nil, nil, fmt.Errorf("more than %d bytes of credits in one call", maxBytes)
		}
		if e.GetFrom() >= uint32(partitions) || e.GetTo() >= uint32(partitions) ||
			e.GetFrom() == e.GetTo() {
			continue
		}
		pair := [2]uint32{e.GetFrom(), e.GetTo()}
		if e.GetSeq() <= last[pair] || e.GetSeq() > maxNumber {
			last[pair] = math.MaxUint64
			continue
		}
		last[pair] = e.Seq
		entries = append(entries, cash.CreditEntry{
			From:  crawl.Partition(e.From),
			Key:   frontier.OutboxKey{Target: crawl.Partition(e.To), Seq: e.Seq},
			Bytes: e.Credits,
		})
		at = append(at, i)
	}
	return entries, at, nil
}

// maxNumber is far above any number of an entry.
const maxNumber = 1 << 62

// take stores credits in the partitions held here, and waits for their replicas. A mark is 0 where
// these have not answered: what is stored is found again when the entry comes again.
func (k *Keeper) take(ctx context.Context, entries []cash.CreditEntry) ([]uint64, error) {
	var ps []crawl.Partition
	place := map[crawl.Partition]int{}
	here := make([]cash.CreditEntry, 0, len(entries))
	at := make([]int, 0, len(entries))
	for i := range entries {
		p := entries[i].Key.Target
		if !k.opts.Holdings.Holds(p) {
			continue
		}
		if _, known := place[p]; !known {
			place[p] = len(ps)
			ps = append(ps, p)
		}
		here, at = append(here, entries[i]), append(at, i)
	}
	marks := make([]uint64, len(entries))
	if len(here) == 0 {
		return marks, nil
	}
	tenures := k.tenures(ps)
	got, err := k.opts.Store.ApplyCredits(ctx, here)
	if err != nil {
		return nil, err
	}
	bounded, cancel := context.WithTimeout(ctx, takeWait)
	defer cancel()
	errs := k.await(bounded, tenures)
	for i := range here {
		if errs[place[here[i].Key.Target]] == nil {
			marks[at[i]] = got[i]
		}
	}
	return marks, nil
}
