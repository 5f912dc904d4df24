package result

import (
	"strings"
	"testing"

	"crawlnode/crawl"
	"crawlnode/frontier/layout"
)

// TestKeep: what stays of an earlier fetch.
func TestKeep(t *testing.T) {
	t.Parallel()
	good, other := [20]byte{1}, [20]byte{2}
	file := func(name string) crawl.ArchiveRef { return crawl.ArchiveRef{Node: "n", File: name, Length: 1} }
	old := crawl.Record{State: crawl.Done, Status: 200, Digest: good, Archive: file("old"), NearOf: "near", Referrer: "r", Rendering: crawl.Rendering{Reason: "old"}}
	for name, c := range map[string]struct {
		state   crawl.RecordState
		status  int
		digest  [20]byte
		archive crawl.ArchiveRef
		refers  bool
		want    [20]byte
		file    string
		near    string
	}{
		"other content":           {crawl.Done, 200, other, file("new"), false, other, "new", ""},
		"the same, stored anew":   {crawl.Done, 200, good, file("new"), false, good, "new", ""},
		"the same, by reference":  {crawl.Done, 200, good, file("new"), true, good, "old", ""},
		"not modified":            {crawl.Done, NotModified, [20]byte{}, file("new"), false, good, "old", "near"},
		"a final error":           {crawl.Done, 500, other, file("new"), false, good, "new", "near"},
		"forbidden":               {crawl.Done, 403, other, file("new"), false, good, "new", "near"},
		"gone":                    {crawl.Done, 410, other, file("new"), false, other, "new", ""},
		"no answer, not archived": {crawl.Failed, 0, [20]byte{}, crawl.ArchiveRef{}, false, good, "old", "near"},
	} {
		rec := crawl.Record{State: c.state, Status: c.status, Digest: c.digest, Archive: c.archive}
		Keep(&old, &rec, c.refers)
		if rec.Digest != c.want || rec.Archive.File != c.file || rec.NearOf != c.near || rec.Referrer != "r" || (rec.Rendering.Reason == "old") != (c.near != "") {
			t.Errorf("%s: %+v", name, rec)
		}
	}
	// Without an earlier result everything is that of the visit.
	q := layout.QueueEntry{Referrer: layout.ReferrerOf("http://b.test/", "a.test")}
	rec := Record(&q, &crawl.Outcome{Status: 500, Digest: other, Rendering: &crawl.Rendering{Rendered: true, Reason: strings.Repeat("ä", maxReason)}}, crawl.Done)
	Keep(&crawl.Record{}, &rec, false)
	if rec.Digest != other || rec.Referrer != string(q.Referrer) || !rec.Rendering.Rendered || len(rec.Rendering.Reason) != maxReason {
		t.Errorf("first: %+v", rec)
	}
}
