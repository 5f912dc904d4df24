package texts

import (
	"errors"
	"fmt"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/reader"
)

// Position is a place in the order of the changes of one copy of a partition. The zero Key is the
// start.
type Position struct {
	Generation uint32
	Key        [layout.TextKeyLen]byte
}

// Seq is the number of the mutation up to which the changes were read.
func (p *Position) Seq() (seq uint64) {
	for _, b := range p.Key[:8] {
		seq = seq<<8 | uint64(b)
	}
	return seq
}

// Change is the newest document of a URL, or that it has none any more.
type Change struct {
	URL      string
	Document []byte // empty: it has none; good until the callback returns
	// Anchors are the texts of links to it, each from another host.
	Anchors []string
}

// ErrOtherCopy says that a position is of a copy of the partition that is not the present one.
var ErrOtherCopy = errors.New("the position is of another copy")

// Reader reads the documents of one writer's partitions. Its methods may be called from many
// goroutines.
type Reader struct{ w *commit.Writer }

// NewReader makes a Reader.
func NewReader(w *commit.Writer) *Reader { return &Reader{w: w} }

// TextChanges calls visit with the changes of a partition behind a position, in their order, until
// it returns false, and returns the position behind the last one. whole says that there was no
// other. It reads what this node has of the partition, held or copied, and fails with ErrOtherCopy
// when that is not the position's copy, and with ErrNotHolder when there is nothing.
func (r *Reader) TextChanges(
	p crawl.Partition,
	after Position,
	visit func(Change) bool,
) (to Position, whole bool, err error) {
	v, err := r.w.Read(p)
	if err != nil {
		return after, false, err
	}
	defer v.Close()
	if v.Generation.Number != after.Generation {
		return after, false, fmt.Errorf("%w of partition %d", ErrOtherCopy, p)
	}
	it := v.Iterate([]byte{layout.TableTexts})
	defer it.Close()
	from := append(append([]byte{layout.TableTexts}, after.Key[:]...), 0) // the next key behind
	for it.Seek(v.Abs(from)); it.Valid(); it.Next() {
		at, ok := layout.ParseTextKey(it.Key()[layout.PrefixLen:])
		if !ok {
			return after, false, fmt.Errorf("%w: key of a document of partition %d", layout.ErrCorrupt, p)
		}
		value, err := it.Value()
		if err != nil {
			return after, false, err
		}
		var c Change
		if c.URL, c.Document, err = layout.DecodeText(value); err != nil {
			return after, false, fmt.Errorf("%w in partition %d", err, p)
		}
		if err := fill(v, at, &c); err != nil {
			return after, false, fmt.Errorf("%w in partition %d", err, p)
		}
		after.Key = at
		if !visit(c) {
			return after, false, nil
		}
	}
	return after, true, nil
}

// fill adds what stands elsewhere in the partition: the document, when the entry only says that
// links have changed, and the texts of links.
func fill(v *reader.Partition, at [layout.TextKeyLen]byte, c *Change) error {
	if len(c.Document) == 0 {
		return nil
	}
	fp := layout.Fingerprint(at[8:])
	value, ok, err := v.Get(layout.AppendAnchorsKey(nil, fp))
	if err != nil {
		return err
	}
	if ok {
		all, err := layout.DecodeAnchors(value)
		if err != nil {
			return err
		}
		for i := range all {
			c.Anchors = append(c.Anchors, all[i].Text)
		}
	}
	seq, elsewhere := layout.ElsewhereOf(c.Document)
	if !elsewhere {
		return nil
	}
	if value, ok, err = v.Get(layout.AppendTextKey(nil, seq, fp)); err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("%w: the document of %s is not where it should be", layout.ErrCorrupt, c.URL)
	}
	_, c.Document, err = layout.DecodeText(value)
	return err
}
