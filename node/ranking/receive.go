package ranking

import (
	"context"
	"errors"
	"fmt"
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

// Credit takes credits that another member sends. It takes them whether or not importance counts here:
// the members learn of a new setting one after the other. Any goroutine may call it.
func (k *Keeper) Credit(ctx context.Context, b *peer.CreditBatch) (*peer.CreditReply, error) {
	partitions := k.opts.Holdings.Partitions()
	if partitions == 0 {
		return nil, errNotJoined
	}
	entries, err := fromWire(b, partitions)
	if err != nil {
		return nil, err
	}
	marks, err := k.take(ctx, entries)
	if err != nil {
		return nil, err
	}
	return &peer.CreditReply{Taken: marks}, nil
}

// fromWire checks a batch. It refuses only what no correct node sends.
func fromWire(b *peer.CreditBatch, partitions int) ([]cash.CreditEntry, error) {
	if len(b.Entries) > maxEntries {
		return nil, fmt.Errorf("%d entries of credits in one call, at most %d", len(b.Entries), maxEntries)
	}
	size := 0
	entries := make([]cash.CreditEntry, len(b.Entries))
	last := map[[2]uint32]uint64{}
	for i, e := range b.Entries {
		if e.GetFrom() >= uint32(partitions) || e.GetTo() >= uint32(partitions) || e.GetFrom() == e.GetTo() {
			return nil, fmt.Errorf("credits of partition %d for partition %d, of %d partitions", e.GetFrom(), e.GetTo(), partitions)
		}
		pair := [2]uint32{e.From, e.To}
		if e.Seq <= last[pair] || e.Seq > maxNumber {
			return nil, fmt.Errorf("credits of partition %d for partition %d have number %d behind %d", e.From, e.To, e.Seq, last[pair])
		}
		last[pair] = e.Seq
		if size += len(e.Credits); size > maxBytes {
			return nil, fmt.Errorf("more than %d bytes of credits in one call", maxBytes)
		}
		entries[i] = cash.CreditEntry{From: crawl.Partition(e.From), Key: frontier.OutboxKey{Target: crawl.Partition(e.To), Seq: e.Seq}, Bytes: e.Credits}
	}
	return entries, nil
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
	tenures := k.opts.Holdings.Tenures(ps)
	got, err := k.opts.Store.ApplyCredits(ctx, here)
	if err != nil {
		return nil, err
	}
	bounded, cancel := context.WithTimeout(ctx, takeWait)
	defer cancel()
	errs := k.opts.Holdings.Wait(bounded, tenures, false)
	for i := range here {
		if errs[place[here[i].Key.Target]] == nil {
			marks[at[i]] = got[i]
		}
	}
	return marks, nil
}
