package reader

import (
	"bytes"
	"context"

	"crawlnode/crawl"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/storage"
)

// Partition reads one generation of a partition by relative keys.
type Partition struct {
	Snapshot   storage.Snapshot
	Generation layout.Generation
	Line       layout.Timeline // of times that are read
	key        []byte          // scratch
	buf        []byte          // scratch; what Get returned last
}

// Close closes the snapshot.
func (v *Partition) Close() { v.Snapshot.Close() }

// Abs is the absolute form of a relative key, good until the next call.
func (v *Partition) Abs(rel []byte) []byte {
	v.key = append(layout.AppendPrefix(v.key[:0], v.Generation.Partition, v.Generation.Number), rel...)
	return v.key
}

// Get returns a value that is good until the next call.
func (v *Partition) Get(rel []byte) ([]byte, bool, error) {
	b, ok, err := v.Snapshot.Get(v.Abs(rel), v.buf)
	if ok {
		v.buf = b
	}
	return b, ok, err
}

// Iterate walks the keys that begin with rel.
func (v *Partition) Iterate(rel []byte) storage.Iterator {
	return v.Snapshot.Iterate(bytes.Clone(v.Abs(rel)))
}

// Host reads a host's entry; nil when it is not known.
func (v *Partition) Host(h crawl.Host) (*layout.HostEntry, error) {
	b, ok, err := v.Get(layout.AppendHost(nil, layout.TableHosts, h))
	if err != nil || !ok {
		return nil, err
	}
	return layout.DecodeHost(b)
}

// Each walks one table until ctx ends.
func (v *Partition) Each(ctx context.Context, table byte, do func(storage.Iterator) error) error {
	it := v.Iterate([]byte{table})
	defer it.Close()
	n := 0
	for it.Seek(v.Abs([]byte{table})); it.Valid(); it.Next() {
		if err := do(it); err != nil {
			return err
		}
		if n++; n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// EachBehind walks the entries whose keys begin with prefix and lie behind the key after, or all of
// them for nil, until do says that it has enough. Keys are relative, and good until do returns.
func (v *Partition) EachBehind(
	prefix, after []byte,
	do func(key []byte, it storage.Iterator) (more bool, err error),
) error {
	it := v.Iterate(prefix)
	defer it.Close()
	from := prefix
	if len(after) > 0 {
		from = append(bytes.Clone(after), 0)
	}
	for it.Seek(v.Abs(from)); it.Valid(); it.Next() {
		if more, err := do(it.Key()[layout.PrefixLen:], it); err != nil || !more {
			return err
		}
	}
	return nil
}
