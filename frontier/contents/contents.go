package contents

import (
	"cmp"
	"context"
	"fmt"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/reader"
)

// usual is enough for 33 million payloads in a cluster of 1,024 partitions,
// at some 130 bytes each.
const usual = 1 << 15

// Content is a payload with its first capture, for the partition of its digest.
type Content struct {
	Partition crawl.Partition
	Digest    crawl.Digest
	Original  crawl.Original
	// Replace takes the place of what is known; else only the same URL's capture does,
	// which is lost if that is stored again.
	Replace bool
}

// Captures remembers first captures in the partitions of one writer. Its methods may be called from
// many goroutines, but for Note.
type Captures struct {
	w    *commit.Writer
	most int64 // payloads that a partition remembers
}

// New makes what remembers so many payloads for each partition; 0: as many as usual.
func New(w *commit.Writer, most int64) *Captures { return &Captures{w, cmp.Or(most, usual)} }

// Content returns the first capture of a payload, and false when none is known. It
// fails with ErrNotHolder when the partition is not held here.
func (k *Captures) Content(p crawl.Partition, d crawl.Digest) (crawl.Original, bool, error) {
	o, ok, err := k.content(p, d)
	if err != nil {
		return o, false, fmt.Errorf("frontier: payload %x in partition %d: %w", d, p, err)
	}
	return o, ok, nil
}

func (k *Captures) content(p crawl.Partition, d crawl.Digest) (o crawl.Original, ok bool, err error) {
	gen, fl, held := k.w.WhereContents(p)
	switch {
	case !held:
		return o, false, commit.ErrNotHolder
	case fl != nil && !fl.Maybe(d):
		return o, false, nil
	}
	snap, err := k.w.KV.Snapshot()
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
func (k *Captures) NoteContents(ctx context.Context, cs []Content) error {
	for len(cs) > 0 {
		piece := cs[:min(len(cs), contentsPiece)]
		cs = cs[len(piece):]
		err := k.w.Change(ctx, func(g *commit.Group) error {
			for i := range piece {
				k.Note(g, &piece[i])
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("frontier: remembering %d payloads: %w", len(piece), err)
		}
	}
	return nil
}

// Note remembers a first capture in a group of the writer's, who calls it.
func (k *Captures) Note(g *commit.Group, c *Content) {
	pg := g.Part(c.Partition)
	if !pg.State.Serves() {
		return
	}
	key := layout.AppendContentKey(nil, c.Digest)
	if pg.Live.Payloads.IsNew(c.Digest) {
		k.first(pg, key, c)
		return
	}
	if b, known := pg.Get(key); known {
		old, err := layout.DecodeContent(b)
		if c.Replace || err != nil || old.URL == c.Original.URL {
			pg.Set(key, layout.EncodeContent(&c.Original))
		}
		return
	}
	k.first(pg, key, c)
}

// first adds a payload that is not known.
func (k *Captures) first(pg *commit.Part, key []byte, c *Content) {
	if pg.State.Counters.Contents >= k.most {
		forget(pg, key)
	}
	pg.Set(key, layout.EncodeContent(&c.Original))
	pg.State.Counters.Contents++
	pg.Live.Payloads.Learn(c.Digest)
}

// forget deletes the payload behind key, or the first of all. One that the
// group itself has written or deleted is passed over: the bound may be exceeded by
// as many as one group adds, until later ones find them.
func forget(pg *commit.Part, key []byte) {
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
