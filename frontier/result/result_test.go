package result

import (
	"strings"
	"testing"

	"crawlnode/crawl"
	"crawlnode/frontier/layout"
	"crawlnode/recrawl/visits"
)

// TestKeep: what stays of an earlier fetch.
func TestKeep(t *testing.T) {
	t.Parallel()
	good, other := [20]byte{1}, [20]byte{2}
	file := func(name string) crawl.ArchiveRef {
		return crawl.ArchiveRef{Node: "n", File: name, Length: 1}
	}
	old := crawl.Record{
		State:     crawl.Done,
		Status:    200,
		Digest:    good,
		Archive:   file("old"),
		NearOf:    "near",
		Referrer:  "r",
		Rendering: crawl.Rendering{Reason: "old"},
	}
	old.Basis = 40
	nothing := crawl.Digest{}
	for name, c := range map[string]struct {
		state   crawl.RecordState
		status  int
		digest  [20]byte
		archive crawl.ArchiveRef
		o       crawl.Outcome
		stays   bool
		want    [20]byte
		file    string
		near    string
		basis   crawl.Basis
	}{
		"other content": {crawl.Done, 200, other, file("new"), crawl.Outcome{Basis: 80}, false,
			other, "new", "", 80},
		"content of no basis": {crawl.Done, 200, other, file("new"), crawl.Outcome{}, false, other,
			"new", "", 0},
		"the same, stored anew": {crawl.Done, 200, good, file("new"), crawl.Outcome{Basis: 80}, false,
			good, "new", "", 80},
		"the same, by reference": {crawl.Done, 200, good, file("new"),
			crawl.Outcome{Basis: 80, Refers: true}, false, good, "old", "", 80},
		"unchanged": {crawl.Done, 200, good, file("new"),
			crawl.Outcome{Basis: 40, Refers: true, Unchanged: true}, true, good, "old", "near", 40},
		"unchanged, stored anew": {crawl.Done, 200, good, file("new"),
			crawl.Outcome{Basis: 40, Unchanged: true}, true, good, "new", "near", 40},
		"unchanged, not archived": {crawl.Done, 200, good, crawl.ArchiveRef{},
			crawl.Outcome{Basis: 40, Unchanged: true}, true, good, "old", "near", 40},
		"not modified": {crawl.Done, NotModified, nothing, file("new"), crawl.Outcome{}, true,
			good, "old", "near", 40},
		"not modified, noindex": {crawl.Done, NotModified, nothing, file("new"), crawl.Outcome{}, false,
			good, "old", "near", 0},
		"a final error": {crawl.Done, 500, other, file("new"), crawl.Outcome{}, true, good,
			"new", "near", 40},
		"forbidden": {crawl.Done, 403, other, file("new"), crawl.Outcome{}, false, good,
			"new", "near", 0},
		"gone": {crawl.Done, 410, other, file("new"), crawl.Outcome{}, false, other,
			"new", "", 0},
		"no answer, not archived": {crawl.Failed, 0, nothing, crawl.ArchiveRef{}, crawl.Outcome{}, true,
			good, "old", "near", 40},
	} {
		rec := crawl.Record{
			State:   c.state,
			Status:  c.status,
			Digest:  c.digest,
			Archive: c.archive,
			Basis:   c.o.Basis,
		}
		Keep(&old, &rec, &c.o, c.stays)
		if rec.Digest != c.want || rec.Archive.File != c.file || rec.NearOf != c.near ||
			rec.Basis != c.basis || rec.Referrer != "r" ||
			(rec.Rendering.Reason == "old") != (c.near != "") {
			t.Errorf("%s: %+v", name, rec)
		}
	}
	// Without an earlier result everything is that of the visit.
	q := layout.QueueEntry{Referrer: layout.ReferrerOf("http://b.test/", "a.test")}
	rec := Record(&q, &crawl.Outcome{
		Status:    500,
		Digest:    other,
		Rendering: &crawl.Rendering{Rendered: true, Reason: strings.Repeat("ä", maxReason)},
	}, crawl.Done)
	Keep(&crawl.Record{}, &rec, &crawl.Outcome{}, false)
	if rec.Digest != other || rec.Referrer != string(q.Referrer) || !rec.Rendering.Rendered ||
		len(rec.Rendering.Reason) != maxReason {
		t.Errorf("first: %+v", rec)
	}
}

// TestChanged: what a visit after another one means for people, with a judge of visits and without.
func TestChanged(t *testing.T) {
	t.Parallel()
	good, other, none := [20]byte{1}, [20]byte{2}, [20]byte{}
	verdict := func(v visits.Verdict) *visits.Verdict { return &v }
	for name, c := range map[string]struct {
		old     crawl.Record
		status  int
		digest  [20]byte
		verdict *visits.Verdict
		want    bool
	}{
		"the first visit":   {crawl.Record{}, 200, good, nil, false},
		"the first, judged": {crawl.Record{}, 200, good, verdict(visits.Changed), false},
		"the same": {crawl.Record{State: crawl.Queued, Status: 200, Digest: good}, 200,
			good, nil, false},
		"other content": {crawl.Record{State: crawl.Queued, Status: 200, Digest: good}, 200,
			other, nil, true},
		"other digits of a text": {crawl.Record{State: crawl.Queued, Status: 200, Digest: good}, 200,
			other, verdict(visits.Unchanged), false},
		"judged to be changed": {crawl.Record{State: crawl.Queued, Status: 200, Digest: good}, 200,
			other, verdict(visits.Changed), true},
		"a payload nobody has told": {crawl.Record{State: crawl.Queued, Status: 200, Digest: good}, 200,
			none, nil, false},
		"not modified": {crawl.Record{State: crawl.Queued, Status: 200, Digest: good}, 304,
			none, nil, false},
		"modified after a 304": {crawl.Record{State: crawl.Queued, Status: 304, Digest: good}, 200,
			other, nil, true},
		"an error of the server": {crawl.Record{State: crawl.Queued, Status: 200, Digest: good}, 500,
			other, nil, false},
		"the same behind an error": {crawl.Record{State: crawl.Queued, Status: 500, Digest: good}, 200,
			good, nil, false},
		"another behind an error": {crawl.Record{State: crawl.Queued, Status: 500, Digest: good}, 200,
			other, nil, true},
		"the first behind no answer": {crawl.Record{State: crawl.Queued, Reason: "timeout: no answer"},
			200, good, nil, false},
		"no answer": {crawl.Record{State: crawl.Queued, Status: 200, Digest: good}, 0, none,
			nil, false},
		"gone": {crawl.Record{State: crawl.Queued, Status: 200, Digest: good}, 404, other,
			nil, true},
		"gone for good": {crawl.Record{State: crawl.Queued, Status: 200, Digest: good}, 410, none,
			verdict(visits.Gone), true},
		"still gone": {crawl.Record{State: crawl.Queued, Status: 404, Digest: good}, 410, other,
			nil, false},
		"there again": {crawl.Record{State: crawl.Queued, Status: 404, Digest: good}, 200, other,
			verdict(visits.Unchanged), true},
		"a redirect elsewhere": {crawl.Record{State: crawl.Queued, Status: 301, Digest: good}, 301, other,
			nil, true},
	} {
		o := crawl.Outcome{Kind: crawl.Fetched, Status: c.status, Digest: c.digest}
		if got := Changed(&c.old, &o, c.verdict); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestPreferencesStay: what an owner said stays when there was no answer of the page to read it
// from, and a page whose text or own word is wanted is asked for whole.
func TestPreferencesStay(t *testing.T) {
	t.Parallel()
	old := crawl.Record{State: crawl.Done, Status: 200, Digest: [20]byte{1}, Preferences: "old"}
	for name, c := range map[string]struct {
		o    crawl.Outcome
		want string
	}{
		"a page":       {crawl.Outcome{Status: 200, Digest: [20]byte{2}, Preferences: "new"}, "new"},
		"a 304":        {crawl.Outcome{Status: 304, Preferences: "new"}, "new"},
		"gone":         {crawl.Outcome{Status: 404, Preferences: "new"}, "new"},
		"a last error": {crawl.Outcome{Status: 500, Preferences: "new"}, "old"},
		"no answer":    {crawl.Outcome{Kind: crawl.URLFailed}, "old"},
	} {
		c.o.ETag = `"1"`
		rec := Record(&layout.QueueEntry{}, &c.o, crawl.Done)
		Keep(&old, &rec, &c.o, false)
		if rec.Preferences != c.want || rec.ETag == "" {
			t.Errorf("%s: %q, %q; want %q", name, rec.Preferences, rec.ETag, c.want)
		}
	}
	for _, o := range []crawl.Outcome{
		{Status: 304, ETag: `"1"`, PreferencesUnread: true},
		{Status: 200, ETag: `"1"`, LeftOut: 1}, // search
	} {
		if rec := Record(&layout.QueueEntry{}, &o, crawl.Done); rec.ETag != "" {
			t.Errorf("%+v: the next answer may be a 304", o)
		}
	}
}
