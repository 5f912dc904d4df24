package texts

import (
	"fmt"
	"slices"

	"github.com/zeebo/xxh3"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
)

// NoteAnchor keeps the text of a link to a URL, unless a page of the same host has given one
// already, or there are layout.MaxAnchors (decision 0238). A document that the URL has is then a
// change, as the index has it without this text. The writer calls it in the group that admits the
// link.
func NoteAnchor(pg *commit.Part, fp layout.Fingerprint, t *crawl.Target) {
	key := layout.AppendAnchorsKey(nil, fp)
	source := sourceOf(t)
	var all []layout.Anchor
	if v, ok := pg.Get(key); ok {
		var err error
		if all, err = layout.DecodeAnchors(v); err != nil {
			pg.Group.Fail(fmt.Errorf("%w in partition %d", err, pg.State.Partition))
			return
		}
	}
	if len(all) >= layout.MaxAnchors ||
		slices.ContainsFunc(all, func(a layout.Anchor) bool { return a.Source == source }) {
		return
	}
	pg.Set(key,
		layout.EncodeAnchors(append(all, layout.Anchor{Source: source, Text: crawl.CutAnchor(t.Anchor)})))
	touch(pg, fp, t.URL.String())
}

// touch puts the document of a URL, if it has one, at the end of the changes. The document itself
// stays where it is: it may be a thousand times as long as a text.
func touch(pg *commit.Part, fp layout.Fingerprint, url string) {
	placeKey := layout.AppendTextPlaceKey(nil, fp)
	old, had := place(pg, placeKey, pg.State.Counters.Texts > 0)
	next := layout.TextPlace{Seq: pg.State.Seq + 1, Size: old.Size, Document: old.Document}
	if !had || old.Size == 0 || old.Seq == next.Seq {
		return // nothing to find, or it is a change of this very mutation
	}
	if old.Document == 0 {
		next.Document = old.Seq
	} else {
		pg.Del(layout.AppendTextKey(nil, old.Seq, fp))
	}
	pg.State.Counters.TextChanges++
	pg.Set(layout.AppendTextKey(nil, next.Seq, fp), layout.EncodeTextElsewhere(url, next.Document))
	pg.Set(placeKey, layout.EncodeTextPlace(next))
}

// sourceOf is the hash of the host on which a link was found.
func sourceOf(t *crawl.Target) uint64 { return xxh3.HashString(t.Source()) }

// Vote is what a cache remembers of a link whose text was noted, made of what it remembers of the
// URL.
func Vote(url xxh3.Uint128, t *crawl.Target) xxh3.Uint128 {
	source := sourceOf(t)
	return xxh3.Uint128{Hi: url.Hi ^ source, Lo: url.Lo + (source|1)*0x9e3779b97f4a7c15}
}
