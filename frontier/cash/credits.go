package cash

import (
	"bytes"
	"context"
	"fmt"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
	"crawlnode/importance/opic"
)

// CreditEntry is credits of pages of one partition for another, which wait in the sender's outbox.
type CreditEntry struct {
	From  crawl.Partition
	Key   layout.OutboxKey // the target, and the number
	Bytes []byte
}

// MaxMark is far above the number of any entry, and leaves far more numbers above it than will ever
// be used: a partition goes on behind the marks that its targets answer with.
const MaxMark = 1 << 48

// Credits lists credits that wait in partition p, behind the key after, up to n entries and about
// so many bytes; the zero key is the start. For one target they are in the order of their numbers.
func (k *Accounts) Credits(
	p crawl.Partition,
	after layout.OutboxKey,
	n, size int,
) ([]CreditEntry, error) {
	v, err := k.w.Read(p)
	if err != nil {
		return nil, err
	}
	defer v.Close()
	it := v.Iterate([]byte{layout.TableCredits})
	defer it.Close()
	var out []CreditEntry
	after.Seq++
	for it.Seek(v.Abs(layout.AppendCreditsKey(nil, after))); it.Valid() && len(out) < n &&
		size > 0; it.Next() {
		key, ok := layout.ParseCreditsKey(it.Key()[layout.PrefixLen:])
		if !ok {
			return nil, fmt.Errorf("%w: outbox of credits of partition %d", layout.ErrCorrupt, p)
		}
		value, err := it.Value()
		if err != nil {
			return nil, err
		}
		out = append(out, CreditEntry{From: p, Key: key, Bytes: bytes.Clone(value)})
		size -= len(value)
	}
	return out, nil
}

// ApplyCredits appends credits of other partitions to the logs of their targets, each once, however
// often it comes. It returns for each entry the number up to which the target has credits of the
// entry's partition; 0: the target is not served here. The entries of one pair of partitions are in
// the order of their numbers, and the caller passes no entry while an earlier one of its pair was
// not acknowledged. An entry that cannot be read brings nothing and is taken all the same: it was
// damaged where it waited, so it will never be better, and all credits of its pair wait behind it.
// Its cash is lost, which the log says.
func (k *Accounts) ApplyCredits(ctx context.Context, entries []CreditEntry) ([]uint64, error) {
	good := make([]taken, 0, len(entries))
	size := 0
	for i := range entries {
		e := &entries[i]
		credits, err := layout.DecodeCashCredits(e.Bytes)
		if err != nil {
			k.w.O.Logger.Warn("credits of importance that another partition sends cannot be read, "+
				"and are lost; the disk of the node that stored them may be damaged",
				"from", e.From, "to", e.Key.Target, "number", e.Key.Seq, "bytes", len(e.Bytes), "error", err)
			credits = nil
		}
		good = append(good, taken{i, e, credits})
		size += len(e.Bytes) + 64
	}
	marks := make([]uint64, len(entries))
	if len(good) == 0 {
		return marks, nil
	}
	err := k.w.Do(ctx, &commit.Request{
		Patient: true,
		Entries: 4*len(good) + size/pieceCredits,
		Bytes:   size,
		Apply: func(g *commit.Group) error {
			k.applyCredits(g, good, marks)
			return nil
		},
	})
	if err != nil {
		return nil, fmt.Errorf("frontier: taking %d entries of credits: %w", len(entries), err)
	}
	return marks, nil
}

// taken is an entry that can be read, with its place.
type taken struct {
	at int
	*CreditEntry
	credits []opic.Entry
}

func (k *Accounts) applyCredits(g *commit.Group, entries []taken, marks []uint64) {
	var fresh received
	for i := range entries {
		e := &entries[i]
		pg := g.Part(e.Key.Target)
		if !pg.State.Serves() {
			continue
		}
		mark, ok := inbox(pg, e.From)
		if !ok {
			return
		}
		if marks[e.at] = max(mark, e.Key.Seq); mark >= e.Key.Seq {
			continue
		}
		pg.Set(layout.AppendInboxKey(nil, e.From), layout.EncodeMark(e.Key.Seq))
		fresh.add(e.Key.Target, e.credits)
	}
	k.receive(g, &fresh, 1)
}

// inbox is the number up to which credits of a partition were taken.
func inbox(pg *commit.Part, from crawl.Partition) (uint64, bool) {
	b, ok := pg.Get(layout.AppendInboxKey(nil, from))
	if !ok {
		return 0, true
	}
	mark, err := layout.DecodeMark(b)
	if err != nil {
		pg.Group.Fail(fmt.Errorf("%w: partition %d", err, pg.State.Partition))
	}
	return mark, err == nil
}

// AckCredits removes credits that their targets have; marks are what these have answered. Those of
// partitions that are not held here any more are left alone: the present holder sends them again. A
// mark above MaxMark is no answer.
func (k *Accounts) AckCredits(ctx context.Context, entries []CreditEntry, marks []uint64) error {
	err := k.w.Change(ctx, func(g *commit.Group) error {
		for i := range entries {
			ackCredits(g, &entries[i], marks[i])
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("frontier: acknowledging credits: %w", err)
	}
	return nil
}

func ackCredits(g *commit.Group, e *CreditEntry, mark uint64) {
	pg := g.Part(e.From)
	if !pg.State.Serves() || mark < e.Key.Seq || mark > MaxMark {
		return
	}
	key := layout.AppendCreditsKey(nil, e.Key)
	if _, ok := pg.Get(key); ok {
		pg.Del(key)
	}
	// The target knows of higher numbers than this partition: it has lost its end, as it may when all
	// its copies lose power. Its next credits must not have numbers that were used.
	pg.State.OutboxNext = max(pg.State.OutboxNext, mark)
}
