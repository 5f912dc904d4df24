package index

import (
	"context"
	"fmt"
	"slices"
	"time"

	"crawlnode/search/analyse"
	"crawlnode/search/segment"
)

// renewed is a part that was made anew of documents of an earlier format: of[doc] is what the
// document was in the earlier part.
type renewed struct {
	*part
	of []uint32
}

// renewOne makes one segment of an earlier format anew from its stored documents. It reports
// whether there was one. Until it is done, what is quoted is looked for in it by the stems of its
// words, and the answer is not exact. After each batch of documents it rests for as long as that
// took.
func (x *Index) renewOne(ctx context.Context) (bool, error) {
	s := x.snapshot()
	defer s.release()
	i := slices.IndexFunc(s.parts, func(p *part) bool { return !p.seg.Exact() })
	if i < 0 {
		return false, nil
	}
	earlier := s.parts[i]
	x.log.Info("the index makes a segment of an earlier version anew; "+
		"until then quoted searches are not exact",
		"segment", earlier.number, "documents", earlier.live)
	made, err := x.renew(ctx, earlier)
	if err != nil {
		discard(made)
		return false, fmt.Errorf("make segment %d of an earlier version anew: %w", earlier.number, err)
	}
	if err := x.take(ctx); err != nil {
		discard(made)
		return false, err
	}
	defer x.give()
	return true, x.publish(replaced(x.now.parts, earlier, made))
}

// discard closes parts that are not part of the index. Open removes their files.
func discard(made []renewed) {
	for _, m := range made {
		_ = m.seg.Close() // nothing was written through it
	}
}

func (x *Index) renew(ctx context.Context, p *part) (made []renewed, err error) {
	stem := analyse.NewStemmer()
	builder, of, began := segment.NewBuilder(stem), []uint32(nil), time.Now()
	flush := func() error {
		if builder.Len() == 0 {
			return nil
		}
		if err := x.take(ctx); err != nil {
			return err
		}
		part, err := x.write(builder)
		x.give()
		if err != nil {
			return err
		}
		made = append(made, renewed{part, of})
		builder, of = segment.NewBuilder(stem), nil
		return rest(ctx, time.Since(began))
	}
	size := 0
	var failed error
	damage := p.seg.Records(func(doc uint32, record []byte) bool {
		if p.deleted.Has(doc) {
			return true
		}
		d, _, err := ParseDocument(record)
		if err != nil {
			failed = err
			return false
		}
		e := entryOf(&d)
		builder.Add(&e)
		of = append(of, doc)
		if size += len(record); builder.Len() >= rebuildAt || size >= renewBytes {
			failed = flush()
			size, began = 0, time.Now()
		}
		return failed == nil
	})
	if failed == nil {
		failed = damage
	}
	if failed == nil {
		failed = flush()
	}
	return made, failed
}

// renewBytes bounds the records of a batch, whose memory is about ten times that.
const renewBytes = 8 << 20

// rest waits.
func rest(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// replaced are the parts with others in the place of an earlier one. What was deleted of that since
// is deleted of them.
func replaced(now []*part, earlier *part, made []renewed) []*part {
	var out []*part
	var left *part
	for _, p := range now {
		if p.number == earlier.number {
			left = p
		} else {
			out = append(out, p)
		}
	}
	for _, m := range made {
		var docs []uint32
		for doc, was := range m.of {
			if left == nil || left.deleted.Has(was) {
				docs = append(docs, uint32(doc))
			}
		}
		if p := m.without(docs); p.live > 0 {
			out = append(out, p)
		} else {
			_ = m.seg.Close() // nothing was written through it
		}
	}
	return out
}
