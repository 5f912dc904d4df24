package frontier

import (
	"context"
	"fmt"

	"crawlnode/crawl"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/reader"
)

// This file remembers where payloads were stored first. The partition of a payload's digest
// remembers its first capture, whichever host it came from. So any node can find out whether a
// payload is stored already, and this knowledge is moved and copied with the partition.
//
// A partition remembers at most Options.ContentsPerPartition payloads. After that each new payload
// replaces the one with the next higher digest, which is as good as a random one. A forgotten
// payload is stored once more if it is fetched again.

// usualContents is enough for 33 million payloads in a cluster of 1,024 partitions,
// at some 130 bytes each.
const usualContents = 1 << 15

// Content is a payload with its first capture, for the partition of its digest.
type Content struct {
	Partition crawl.Partition
	Digest    crawl.Digest
	Original  crawl.Original
	// Replace takes the place of what is known; else only the same URL's capture does,
	// which is lost if that is stored again.
	Replace bool
}

// Content returns the first capture of a payload, and false when none is known. It
// fails with ErrNotHolder when the partition is not held here.
func (f *Frontier) Content(p crawl.Partition, d crawl.Digest) (crawl.Original, bool, error) {
	o, ok, err := f.content(p, d)
	if err != nil {
		return o, false, fmt.Errorf("frontier: payload %x in partition %d: %w", d, p, err)
	}
	return o, ok, nil
}

func (f *Frontier) content(
	p crawl.Partition,
	d crawl.Digest,
) (o crawl.Original, ok bool, err error) {
	gen, fl, held := f.w.WhereContents(p)
	switch {
	case !held:
		return o, false, ErrNotHolder
	case fl != nil && !fl.Maybe(d):
		return o, false, nil
	}
	snap, err := f.w.KV.Snapshot()
	if err != nil {
		return o, false, err
	}
	defer snap.Close()
	v := reader.Partition{Snapshot: snap, Generation: gen}
	b, ok, err := v.Get(layout.AppendContentKey(nil, d))
	if err != nil || !ok {
		return o, false, err
	}
	o, err = layout.DecodeContent(b)
	return o, err == nil, err
}

// contentsPiece is the number of payloads in one request.
const contentsPiece = 500

// NoteContents remembers first captures. Payloads that are known already stay as they
// are (see Content.Replace), and those of partitions that are not held here are left out.
func (f *Frontier) NoteContents(ctx context.Context, cs []Content) error {
	for len(cs) > 0 {
		piece := cs[:min(len(cs), contentsPiece)]
		cs = cs[len(piece):]
		err := f.w.Change(ctx, f.in(func(g group) error {
			for i := range piece {
				g.noteContent(&piece[i])
			}
			return nil
		}))
		if err != nil {
			return fmt.Errorf("frontier: remembering %d payloads: %w", len(piece), err)
		}
	}
	return nil
}

// noteContent remembers a first capture.
func (g group) noteContent(c *Content) {
	pg := g.part(c.Partition)
	if !pg.State.Serves() {
		return
	}
	key := layout.AppendContentKey(nil, c.Digest)
	if pg.Live.Payloads.IsNew(c.Digest) {
		pg.firstContent(key, c)
		return
	}
	if b, known := pg.Get(key); known {
		old, err := layout.DecodeContent(b)
		if c.Replace || err != nil || old.URL == c.Original.URL {
			pg.Set(key, layout.EncodeContent(&c.Original))
		}
		return
	}
	pg.firstContent(key, c)
}

// firstContent adds a payload that is not known.
func (pg part) firstContent(key []byte, c *Content) {
	if pg.State.Counters.Contents >= pg.f.o.ContentsPerPartition {
		pg.forgetContent(key)
	}
	pg.Set(key, layout.EncodeContent(&c.Original))
	pg.State.Counters.Contents++
	pg.Live.Payloads.Learn(c.Digest)
}

// forgetContent deletes the payload behind key, or the first of all. One that the
// group itself has written or deleted is passed over: the bound may be exceeded by
// as many as one group adds, until later ones find them.
func (pg part) forgetContent(key []byte) {
	snap, ok := pg.Group.Snapshot()
	if !ok {
		return
	}
	v := reader.Partition{Snapshot: snap, Generation: pg.Gen()}
	it := v.Iterate([]byte{layout.TableContents})
	defer it.Close()
	for _, from := range [...][]byte{key, {layout.TableContents}} {
		for it.Seek(v.Abs(from)); it.Valid(); it.Next() {
			rel := it.Key()[layout.PrefixLen:]
			if !pg.Written(rel) {
				pg.Del(append([]byte(nil), rel...))
				pg.State.Counters.Contents--
				return
			}
		}
	}
}
