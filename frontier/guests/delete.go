package guests

import (
	"bytes"
	"context"
	"fmt"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/storage"
)

// Choice says which guests are deleted.
type Choice struct {
	Crawl string
	Host  crawl.Host // ""; of all hosts
	// Before: only those that were stored before then, in seconds since 1970; 0: all.
	Before int64
}

// DeleteGuests deletes guests of a held partition, and returns how many. After an error some may be
// deleted.
func (t *Table) DeleteGuests(
	ctx context.Context,
	p crawl.Partition,
	c Choice,
) (deleted int, err error) {
	m, _, err := t.w.Held(p)
	if err != nil || m.Counters.Guests <= 0 {
		return 0, err
	}
	prefix := layout.AppendGuestsPrefix(nil, c.Crawl, c.Host)
	for after := []byte(nil); ; {
		keys, next, err := t.chosen(p, prefix, after, &c)
		if err != nil {
			return deleted, fmt.Errorf(
				"frontier: deleting URLs of %q in partition %d: %w",
				c.Crawl,
				p,
				err,
			)
		}
		n := 0
		err = t.change(ctx, entries*len(keys), 900*len(keys), func(g *commit.Group) error {
			n = 0 // it may be called again after a wait for space on the disk
			pg := g.Part(p)
			if !pg.State.Serves() {
				return notHolder(p)
			}
			for _, key := range keys {
				if remove(pg, c.Crawl, key, &c) {
					n++
				}
			}
			return nil
		})
		if err != nil {
			return deleted, fmt.Errorf("frontier: deleting URLs of %q: %w", c.Crawl, err)
		}
		if deleted += n; next == nil {
			return deleted, nil
		}
		after = next
	}
}

// chosen reads the relative keys of the next guests of a choice; next is nil behind the last ones.
func (t *Table) chosen(
	p crawl.Partition,
	prefix, after []byte,
	c *Choice,
) (keys [][]byte, next []byte, err error) {
	v, err := t.w.Read(p)
	if err != nil {
		return nil, nil, err
	}
	defer v.Close()
	err = v.EachBehind(prefix, after, func(key []byte, it storage.Iterator) (more bool, err error) {
		if c.Before != 0 {
			value, err := it.Value()
			if err != nil {
				return false, err
			}
			if e, err := layout.DecodeGuest(value); err != nil || e.Created >= c.Before {
				return true, nil
			}
		}
		if keys = append(keys, bytes.Clone(key)); len(keys) == piece {
			next = keys[piece-1]
		}
		return next == nil, nil
	})
	return keys, next, err
}

// remove deletes a guest within a group.
func remove(pg *commit.Part, id string, key []byte, c *Choice) bool {
	e, size, ok := guest(pg, key)
	if !ok || c.Before != 0 && e.Created >= c.Before {
		return false
	}
	host, fp, ok := layout.ParseGuestKey(key, id)
	if !ok {
		pg.Group.Fail(fmt.Errorf("%w: key of a URL of %q", layout.ErrCorrupt, id))
		return false
	}
	q := open(pg, id, host)
	q.leave(fp, &e)
	q.entry.URLs--
	pg.State.Counters.Guests--
	pg.State.Counters.NoteBytes -= int64(size)
	pg.Del(key)
	q.close()
	return true
}
