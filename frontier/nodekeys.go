package frontier

import (
	"crawlnode/crawl"
	"encoding/binary"
	"fmt"
)

// loadStates reads from the node's own range all partitions that it knows, and
// the generations that are to be deleted.
func loadStates(snap Snapshot) (parts map[crawl.Partition]*partState, dead []generation, err error) {
	parts = map[crawl.Partition]*partState{}
	err = eachNodeKey(snap, nodeStates, 2, func(key, value []byte) error {
		s, err := decodeState(crawl.Partition(binary.BigEndian.Uint16(key)), value)
		parts[s.Partition] = &s
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	err = eachNodeKey(snap, nodeDead, prefixLen, func(key, _ []byte) error {
		dead = append(dead, generation{crawl.Partition(binary.BigEndian.Uint16(key)), binary.BigEndian.Uint32(key[2:])})
		return nil
	})
	return parts, dead, err
}

// eachNodeKey walks one table of the node's own range, whose keys have n bytes
// behind the table's letter.
func eachNodeKey(snap Snapshot, table byte, n int, fn func(key, value []byte) error) error {
	prefix := nodeKey(table)
	it := snap.Iterate(prefix)
	defer it.Close()
	for it.Seek(prefix); it.Valid(); it.Next() {
		key := it.Key()[len(prefix):]
		if len(key) != n {
			return fmt.Errorf("%w: key %x of table %c", ErrCorrupt, it.Key(), table)
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

// loadSets reads all records.
func loadSets(snap Snapshot) (map[crawl.Partition]SetRecord, error) {
	sets := map[crawl.Partition]SetRecord{}
	err := eachNodeKey(snap, nodeSets, 2, func(key, value []byte) error {
		p := crawl.Partition(binary.BigEndian.Uint16(key))
		s, err := decodeSet(p, value)
		sets[p] = s
		return err
	})
	return sets, err
}
