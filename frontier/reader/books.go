package reader

import (
	"fmt"

	"crawlnode/crawl"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/storage"
)

// Books are the meta entries of partitions that stand in slots, the newest of each generation.
type Books map[layout.Generation]SlotBooks

// SlotBooks is a meta entry in a slot.
type SlotBooks struct {
	Slot  int
	Seq   crawl.Seq // that the entry has
	Entry []byte
}

// ReadBooks reads all slots. Some of what they have is older than what stands under the partition's
// own key, or of generations that are no more.
func ReadBooks(snap storage.Snapshot) (Books, error) {
	books := Books{}
	var m layout.MetaEntry
	var bad error
	err := eachNodeKey(snap, layout.NodeBooks, 1, func(key, value []byte) error {
		slot := int(key[0])
		if slot >= layout.BooksSlots {
			return fmt.Errorf("%w: slot %d of books", layout.ErrCorrupt, slot)
		}
		err := layout.EachBooks(value, func(g layout.Generation, entry []byte) {
			if err := m.Decode(entry); err != nil {
				bad = fmt.Errorf("%w, partition %d, in slot %d", err, g.Partition, slot)
				return
			}
			if old, ok := books[g]; !ok || m.Seq > old.Seq {
				books[g] = SlotBooks{slot, m.Seq, append([]byte(nil), entry...)}
			}
		})
		if err == nil {
			err = bad
		}
		return err
	})
	return books, err
}

// Of returns the meta entry of the partition that v reads, nil when there is none, and whether it
// stands in a slot. It is good until the next call of v.Get.
func (b Books) Of(v *Partition) (entry []byte, inSlot bool, err error) {
	own, ok, err := v.Get([]byte(layout.MetaKey))
	if err != nil {
		return nil, false, err
	}
	if !ok {
		own = nil
	}
	s, found := b[v.Generation]
	if !found {
		return own, false, nil
	}
	if m, err := layout.DecodeMeta(own); err == nil && m.Seq >= s.Seq {
		return own, false, nil
	}
	return s.Entry, true, nil
}
