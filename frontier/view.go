package frontier

import (
	"bytes"
	"context"
	"crawlnode/crawl"
)

// each walks one table until ctx ends.
func (v *view) each(ctx context.Context, table byte, do func(Iterator) error) error {
	it := v.iterate([]byte{table})
	defer it.Close()
	n := 0
	for it.Seek(v.abs([]byte{table})); it.Valid(); it.Next() {
		if err := do(it); err != nil {
			return err
		}
		if n++; n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// view reads one generation of a partition by relative keys.
type view struct {
	snap Snapshot
	gen  generation
	line timeline // for who reads times
	key  []byte   // scratch
	buf  []byte   // scratch; what get returned last
}

func (v *view) close() { v.snap.Close() }

// abs is the absolute form of a relative key, good until the next call.
func (v *view) abs(rel []byte) []byte {
	v.key = append(appendPrefix(v.key[:0], v.gen.partition, v.gen.number), rel...)
	return v.key
}

// get returns a value that is good until the next call.
func (v *view) get(rel []byte) ([]byte, bool, error) {
	b, ok, err := v.snap.Get(v.abs(rel), v.buf)
	if ok {
		v.buf = b
	}
	return b, ok, err
}

// iterate walks the keys that begin with rel.
func (v *view) iterate(rel []byte) Iterator { return v.snap.Iterate(bytes.Clone(v.abs(rel))) }

// host reads a host's entry; nil when it is not known.
func (v *view) host(h crawl.Host) (*hostEntry, error) {
	b, ok, err := v.get(appendHost(nil, tableHosts, h))
	if err != nil || !ok {
		return nil, err
	}
	return decodeHost(b)
}
