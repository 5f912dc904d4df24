package reader

import (
	"encoding/binary"
	"fmt"

	"crawlnode/crawl"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/storage"
)

// States reads the node's own range: the state of each partition, and the generations
// whose keys must be deleted.
func States(
	snap storage.Snapshot,
) (parts map[crawl.Partition]*layout.PartState, dead []layout.Generation, err error) {
	parts = map[crawl.Partition]*layout.PartState{}
	err = eachNodeKey(snap, layout.NodeStates, 2, func(key, value []byte) error {
		s, err := layout.DecodeState(crawl.Partition(binary.BigEndian.Uint16(key)), value)
		parts[s.Partition] = &s
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	err = eachNodeKey(snap, layout.NodeDead, layout.PrefixLen, func(key, _ []byte) error {
		dead = append(dead, layout.GenerationOf(key))
		return nil
	})
	return parts, dead, err
}

// eachNodeKey walks one table of the node's own range, whose keys have n bytes
// behind the table's letter.
func eachNodeKey(snap storage.Snapshot, table byte, n int, fn func(key, value []byte) error) error {
	prefix := layout.NodeKey(table)
	it := snap.Iterate(prefix)
	defer it.Close()
	for it.Seek(prefix); it.Valid(); it.Next() {
		key := it.Key()[len(prefix):]
		if len(key) != n {
			return fmt.Errorf("%w: key %x of table %c", layout.ErrCorrupt, it.Key(), table)
		}
		value, err := it.Value()
		if err == nil {
			err = fn(key, value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Sets reads all records.
func Sets(snap storage.Snapshot) (map[crawl.Partition]layout.SetRecord, error) {
	sets := map[crawl.Partition]layout.SetRecord{}
	err := eachNodeKey(snap, layout.NodeSets, 2, func(key, value []byte) error {
		p := crawl.Partition(binary.BigEndian.Uint16(key))
		s, err := layout.DecodeSet(p, value)
		sets[p] = s
		return err
	})
	return sets, err
}
