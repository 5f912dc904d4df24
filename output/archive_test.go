package output

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/output/archive"
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

// archiving are outputs by these settings that write to a failureArchive.
func archiving(s *crawl.Settings) (*Outputs, *failureArchive) {
	a := &failureArchive{}
	return &Outputs{o: Options{Settings: func() *crawl.Settings { return s }}, archive: a}, a
}

// TestFailed: what is given up is archived, what is tried again is not.
func TestFailed(t *testing.T) {
	t.Parallel()
	n, a := archiving(&crawl.Settings{Archive: true, Scope: "host"})
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
		done := frontier.Completion{RetryAt: c.at, Outcome: crawl.Outcome{
			Kind:     c.kind,
			Category: crawl.ErrTimeout,
			Status:   7,
			Reason:   "why",
			Took:     time.Second,
		}}
		if err := n.Failed(t.Context(), v, &done); err != nil {
			t.Error(err)
		}
		switch {
		case c.want == "" && len(a.got) > 0:
			t.Errorf("%v, again at %v: archived %+v", c.kind, c.at, a.got)
		case c.want != "" && (len(a.got) != 1 || a.got[0].Error != c.want || a.got[0].Attempts != 4 ||
			a.got[0].URL != u || a.got[0].Reason != "why" || a.got[0].Status != 7 || a.got[0].Host):
			t.Errorf("%v: archived %+v, want %s", c.kind, a.got, c.want)
		}
	}
	a.err = errors.New("no space left")
	given := frontier.Completion{Outcome: crawl.Outcome{Kind: crawl.URLFailed}}
	if err := n.Failed(t.Context(), v, &given); !errors.Is(err, a.err) {
		t.Errorf("the archive's error is %v", err)
	}
	off, b := archiving(&crawl.Settings{Scope: "host"})
	if err := off.Failed(t.Context(), v, &given); err != nil || len(b.got) > 0 {
		t.Errorf("with --store none: %+v, %v", b.got, err)
	}
}

// TestInfo: what a file says of the crawl are the settings of the moment.
func TestInfo(t *testing.T) {
	t.Parallel()
	s := &crawl.Settings{
		Archive:   true,
		Scope:     "host",
		Contact:   "me@example.org",
		UserAgent: "crawlnode/1",
	}
	o, _ := archiving(s)
	if i := o.info(); i.Operator != "me@example.org" || i.Robots != "classic" ||
		i.UserAgent != "crawlnode/1" || strings.Contains(i.Settings, "\n") {
		t.Errorf("%+v", i)
	}
	s.RobotsIgnore, s.MaxDepth = true, 9
	i := o.info()
	var said crawl.Settings
	if err := json.Unmarshal([]byte(i.Settings), &said); err != nil || said.MaxDepth != 9 ||
		i.Robots != "ignore" {
		t.Errorf("%+v, %v", i, err)
	}
}
