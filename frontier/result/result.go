package result

import (
	"strings"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier/layout"
	"crawlnode/recrawl/visits"
	"crawlnode/web/wall"
)

// NotModified is the status of an answer that stands for the content that is known.
const NotModified = 304

// maxReason bounds why a page was shown to a browser or was not: errors of a browser may be long.
const maxReason = 200

// Record is the record of a URL that leaves the queue in a state, without what an earlier fetch has
// brought.
func Record(q *layout.QueueEntry, o *crawl.Outcome, state crawl.RecordState) crawl.Record {
	rec := crawl.Record{
		Item: q.Item, State: state, Status: o.Status, FetchedAt: o.FetchedAt, Reason: o.Reason,
		Digest: o.Digest, Basis: o.Basis, Archive: o.Archive, DuplicateOf: o.DuplicateOf,
		NearOf: o.NearOf, Referrer: string(q.Referrer),
		Preferences: o.Preferences,
	}
	rec.Archive.Record = [16]byte{} // stands in the file
	if o.Rendering != nil {
		rec.Rendering = *o.Rendering
		rec.Rendering.Reason = strings.ToValidUTF8(
			rec.Rendering.Reason[:min(len(rec.Rendering.Reason), maxReason)], "")
	}
	rec.NotBefore = time.Time{}
	if o.ETag != "" || o.LastMod != "" || state == crawl.Done && o.Status != NotModified {
		rec.ETag, rec.LastModified = o.ETag, o.LastMod
	}
	if o.DepthCut() || o.SearchRefused() || o.PreferencesUnread {
		// When the URL is requested again with a lower depth, its links are wanted, and its text when
		// its owner allows the index by then, and its own word when nobody has read it. An answer 304
		// would not bring them.
		rec.ETag, rec.LastModified = "", ""
	}
	return rec
}

// Keep leaves in the record what an earlier fetch has brought and the last one did not: the
// capture, when the last one brought no content, or the same once more (its capture then refers to
// an earlier one); what is known of the content, also when the last answer says nothing of the
// page, such as a 500. textStays says that the page's text and document are those that it had.
func Keep(old, rec *crawl.Record, o *crawl.Outcome, textStays bool) {
	if old.State == 0 {
		return
	}
	rec.Referrer, rec.ChangedAt = old.Referrer, old.ChangedAt
	same := rec.Status == NotModified || o.Refers && rec.Digest == old.Digest
	if rec.Archive == (crawl.ArchiveRef{}) ||
		(same || o.Wall != wall.None) && old.Archive != (crawl.ArchiveRef{}) {
		rec.Archive = old.Archive // where the content is
	}
	silent := visits.AnswerOf(rec.Status) == visits.Failed && old.Digest != [20]byte{}
	if rec.Status == NotModified || rec.State != crawl.Done || silent {
		rec.Digest, rec.DuplicateOf, rec.NearOf, rec.Rendering = old.Digest, old.DuplicateOf, old.NearOf,
			old.Rendering
	}
	if o.Kind != crawl.Fetched || silent { // there was no answer of the page to read them from
		rec.Preferences = old.Preferences
	}
	if o.Unchanged {
		rec.NearOf, rec.Rendering = old.NearOf, old.Rendering
	}
	if textStays && !o.Unchanged {
		rec.Basis = old.Basis
	}
	if rec.FetchedAt.IsZero() {
		rec.FetchedAt = old.FetchedAt
	}
}

// Changed reports whether a visit found other content than the one before it, as people see it: a
// page that is gone has changed once, and one that is there again has too. What an error says of a
// page is nothing. verdict is the judge's; without one (nil) every byte of the payload counts.
func Changed(old *crawl.Record, o *crawl.Outcome, verdict *visits.Verdict) bool {
	if old.State == 0 {
		return false
	}
	last := visits.AnswerOf(old.Status)
	gone := last == visits.Missing || last == visits.Removed
	known := !gone && old.Digest != [20]byte{} // of the last answer with content, also behind an error
	switch visits.AnswerOf(o.Status) {
	case visits.Missing, visits.Removed:
		return known
	case visits.Content:
		switch {
		case gone:
			return true
		case !known:
			return false
		case verdict != nil:
			return *verdict == visits.Changed
		}
		return o.Digest != [20]byte{} && o.Digest != old.Digest
	default:
		return false
	}
}
