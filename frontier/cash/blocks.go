package cash

import (
	"bytes"
	"fmt"
	"math"

	"crawlnode/frontier/layout"
	"crawlnode/frontier/reader"
	"crawlnode/frontier/storage"
	"crawlnode/importance/opic"
)

// group is a block of the store, and what it was divided into.
type group struct {
	bound uint64
	parts []part // in order; the last one has the bound of the group
}

// part is a block with its bound.
type part struct {
	opic.Block
	bound uint64
	dirty bool
}

// accountsPrefix is what the keys of all blocks begin with.
var accountsPrefix = []byte{layout.TableCash, layout.CashAccounts}

// group finds the block to which a URL belongs, and reads it.
func (f *fold) group(u opic.URL) (*group, error) {
	bound, value, err := blockOf(f.v, f.it, u)
	if err != nil {
		return nil, err
	}
	if g := f.blocks[bound]; g != nil {
		return g, nil
	}
	g := &group{
		bound: bound,
		parts: []part{{Block: opic.Block{Bytes: bytes.Clone(value)}, bound: bound}},
	}
	f.blocks[bound] = g
	return g, nil
}

// blockOf reads the block to which a URL belongs: the first whose bound is not below it. The last
// block of a partition has the highest bound; value is nil where there is none yet, and good until
// the iterator moves.
func blockOf(
	v *reader.Partition,
	it storage.Iterator,
	u opic.URL,
) (bound uint64, value []byte, err error) {
	it.Seek(v.Abs(layout.AppendCashKey(nil, layout.CashAccounts, uint64(u))))
	if !it.Valid() {
		return math.MaxUint64, nil, nil
	}
	bound, ok := layout.ParseCashKey(it.Key()[layout.PrefixLen:], layout.CashAccounts)
	if !ok {
		return 0, nil, fmt.Errorf("%w: key of a block of accounts", layout.ErrCorrupt)
	}
	value, err = it.Value()
	return bound, value, err
}

// change adds deltas, which belong to the group, to its accounts.
func (f *fold) change(
	g *group,
	deltas []opic.Delta,
	changed func(opic.URL, opic.Account, *opic.Account),
) error {
	var parts []part
	for i := range g.parts {
		p := g.parts[i]
		n := 0
		for n < len(deltas) && uint64(deltas[n].URL) <= p.bound {
			n++
		}
		if n == 0 {
			parts = append(parts, p)
			continue
		}
		blocks, err := p.Fold(deltas[:n], changed)
		if err != nil {
			return fmt.Errorf("%w: %w", layout.ErrCorrupt, err)
		}
		deltas = deltas[n:]
		if !p.dirty {
			f.dirty += len(p.Bytes)
		}
		for k := range blocks {
			bound := p.bound
			if k+1 < len(blocks) {
				bound = uint64(blocks[k+1].First) - 1
			}
			parts = append(parts, part{blocks[k], bound, true})
		}
		f.dirty += max(len(blocks)-1, 0) * len(blocks[0].Bytes)
	}
	g.parts = parts
	return nil
}

// Account reads the account of a URL; ok is false when nothing is known of it.
func Account(v *reader.Partition, u opic.URL) (a opic.Account, ok bool, err error) {
	it := v.Iterate(accountsPrefix)
	defer it.Close()
	_, value, err := blockOf(v, it, u)
	if err != nil || value == nil {
		return a, false, err
	}
	block := opic.Block{Bytes: value}
	if a, ok, err = block.Find(u); err != nil {
		return a, false, fmt.Errorf("%w: %w", layout.ErrCorrupt, err)
	}
	return a, ok, nil
}
