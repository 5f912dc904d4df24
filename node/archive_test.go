package node

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/node/crawldoc"
	"crawlnode/node/datadir"
	"crawlnode/store/archive"
	"crawlnode/web/urlnorm"
)

// failureArchive keeps the failures that it is given.
type failureArchive struct {
	archive.None
	got []crawl.Failure
	err error
}

func (f *failureArchive) PutFailure(_ context.Context, x crawl.Failure) error {
	f.got = append(f.got, x)
	return f.err
}

// archiving is as much of a node as writes to an archive.
func archiving(t *testing.T, s crawl.Settings) (*Node, *failureArchive) {
	t.Helper()
	dir, err := datadir.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(dir.Close)
	docs, err := crawldoc.Open(dir, s, crawldoc.Clock{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = docs.Close() })
	a := &failureArchive{}
	return &Node{doc: docs, archive: a}, a
}

// TestArchiveFailure: what is given up is archived, what is tried again is not.
func TestArchiveFailure(t *testing.T) {
	t.Parallel()
	n, a := archiving(t, crawl.Settings{Archive: true, Scope: "host"})
	u, err := urlnorm.Parse("http://a.test/x")
	if err != nil {
		t.Fatal(err)
	}
	v := crawl.Visit{Lease: crawl.Lease{Item: crawl.Item{URL: u, Attempts: 3}}}
	for _, c := range []struct {
		kind crawl.Kind
		at   time.Time
		want string // class of the failure, "" for none
	}{
		{crawl.URLFailed, time.Time{}, "timeout"},
		{crawl.URLFailed, time.Now(), ""},
		{crawl.RateLimited, time.Time{}, crawl.FailureRateLimited},
		{crawl.RateLimited, time.Now(), ""},
		{crawl.Fetched, time.Time{}, ""}, {crawl.Refused, time.Time{}, ""}, {crawl.RobotsFetched, time.Time{}, ""},
	} {
		a.got = nil
		done := frontier.Completion{RetryAt: c.at, Outcome: crawl.Outcome{Kind: c.kind, Category: crawl.ErrTimeout, Status: 7, Reason: "why", Took: time.Second}}
		if err := n.archiveFailure(t.Context(), v, &done); err != nil {
			t.Error(err)
		}
		switch {
		case c.want == "" && len(a.got) > 0:
			t.Errorf("%v, again at %v: archived %+v", c.kind, c.at, a.got)
		case c.want != "" && (len(a.got) != 1 || a.got[0].Error != c.want || a.got[0].Attempts != 4 || a.got[0].URL != u || a.got[0].Reason != "why" || a.got[0].Status != 7 || a.got[0].Host):
			t.Errorf("%v: archived %+v, want %s", c.kind, a.got, c.want)
		}
	}
	a.err = errors.New("no space left")
	given := frontier.Completion{Outcome: crawl.Outcome{Kind: crawl.URLFailed}}
	if err := n.archiveFailure(t.Context(), v, &given); !errors.Is(err, a.err) {
		t.Errorf("the archive's error is %v", err)
	}
	off, b := archiving(t, crawl.Settings{Scope: "host"})
	if err := off.archiveFailure(t.Context(), v, &given); err != nil || len(b.got) > 0 {
		t.Errorf("with --store none: %+v, %v", b.got, err)
	}
}

// TestArchiveInfo: what a file says of the crawl are the settings of the moment.
func TestArchiveInfo(t *testing.T) {
	t.Parallel()
	n, _ := archiving(t, crawl.Settings{Archive: true, Scope: "host", Contact: "me@example.org", UserAgent: "crawlnode/1"})
	if i := n.archiveInfo(); i.Operator != "me@example.org" || i.Robots != "classic" || i.UserAgent != "crawlnode/1" || strings.Contains(i.Settings, "\n") {
		t.Errorf("%+v", i)
	}
	doc, err := n.doc.Change(func(d *crawldoc.Document) *crawldoc.Document {
		c := *d
		c.Version++
		c.Settings.RobotsIgnore, c.Settings.MaxDepth = true, 9
		return &c
	})
	if err != nil || doc == nil {
		t.Fatal(err)
	}
	i := n.archiveInfo()
	var said crawl.Settings
	if err := json.Unmarshal([]byte(i.Settings), &said); err != nil || said.MaxDepth != 9 || i.Robots != "ignore" {
		t.Errorf("%+v, %v", i, err)
	}
}
