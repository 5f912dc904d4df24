package texts

import (
	"fmt"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
)

// MaxBytes bounds a document: it is one part of the transaction that completes a page, and less
// than the links of one may have.
const MaxBytes = 384 << 10

// Note stores the document of a page that leaves the queue, or takes out the one that the URL had.
// The writer calls it in the group that completes the page. known says that the URL may have a
// result already, stays what Stays says.
func Note(
	pg *commit.Part,
	fp layout.Fingerprint,
	rec *crawl.Record,
	known, stays bool,
	document []byte,
) {
	put := len(document) > 0 && rec.State == crawl.Done
	c := &pg.State.Counters
	if !put && (!known || c.Texts == 0 || stays) {
		return
	}
	placeKey := layout.AppendTextPlaceKey(nil, fp)
	old, had := place(pg, placeKey, known && c.TextChanges > 0)
	if !put && old.Size == 0 {
		return
	}
	if had {
		pg.Del(layout.AppendTextKey(nil, old.Seq, fp))
		if old.Document != 0 {
			pg.Del(layout.AppendTextKey(nil, old.Document, fp))
		}
		if old.Size > 0 {
			c.Texts--
			c.TextBytes -= int64(old.Size)
		}
	}
	next := layout.TextPlace{Seq: pg.State.Seq + 1} // the number of this group's mutation
	if put {
		next.Size = uint32(len(document))
		c.Texts++
		c.TextBytes += int64(len(document))
	} else {
		document = nil
	}
	c.TextChanges++
	pg.Set(layout.AppendTextKey(nil, next.Seq, fp), layout.EncodeText(rec.URL.String(), document))
	pg.Set(placeKey, layout.EncodeTextPlace(next))
}

// place reads where the entry of a URL is.
func place(pg *commit.Part, key []byte, look bool) (p layout.TextPlace, ok bool) {
	if !look {
		return p, false
	}
	v, ok := pg.Get(key)
	if !ok {
		return p, false
	}
	p, err := layout.DecodeTextPlace(v)
	if err != nil {
		pg.Group.Fail(fmt.Errorf("%w in partition %d", err, pg.State.Partition))
		return p, false
	}
	return p, true
}

// Stays reports whether a visit leaves the text of a page as it was: it brought no content (a page
// that is unchanged, that fails, or whose server has an error), and does not end what there is. It
// is judged by the answer: the record of a page that is visited again may be that of its last good
// answer.
func Stays(state crawl.RecordState, o *crawl.Outcome) bool {
	switch {
	case state == crawl.RefusedForever:
		return false
	case o.Kind != crawl.Fetched:
		return true
	case o.Unchanged || o.Status == 304:
		if o.SearchRefused() {
			return false
		}
		return !o.NoIndex || o.Unchanged && o.Basis.NoIndex() // else its header asks for it now
	}
	return o.Status >= 500
}
