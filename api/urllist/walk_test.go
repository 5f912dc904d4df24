package urllist

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
)

// source is a list of three partitions with two URLs each, a page for each URL.
type source struct {
	missing int // how often partition 1 cannot be read any more
	failing int // how often a page behind the first fails
	calls   int
}

var errDown = errors.New("nobody answers")

func (s *source) fetch(_ context.Context, q crawl.URLQuery) (*crawl.URLPage, error) {
	s.calls++
	at := 0
	if q.After != "" {
		if _, err := fmt.Sscan(q.After, &at); err != nil {
			return nil, err
		}
		if s.failing > 0 {
			s.failing--
			return nil, errDown
		}
	}
	page, end := &crawl.URLPage{}, 6
	if q.Partition != nil {
		end = int(*q.Partition)*2 + 2
	}
	if p := crawl.Partition(at / 2); p == 1 && s.missing > 0 { // its second URL is lost from sight
		s.missing--
		page.Unread = append(page.Unread,
			crawl.UnreadPartition{Partition: p, After: fmt.Sprint(at), Why: "it is just moving"})
		at = 4
	} else {
		page.URLs = append(page.URLs, crawl.URLLine{URL: fmt.Sprint(at)})
		at++
	}
	if at < end {
		next := fmt.Sprint(at)
		page.Next = &next
	}
	return page, nil
}

func TestWalk(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name             string
		missing, failing int
		limit            int
		patience         time.Duration
		want, says       string
	}{
		{"whole", 0, 0, 0, 0, "0 1 2 3 4 5", ""},
		{"limited", 0, 0, 4, 0, "0 1 2 3", ""},
		{"limited before what is missing", 1, 0, 3, time.Minute, "0 1 4", ""},
		{"moved once", 1, 0, 0, time.Minute, "0 1 4 5 2 3", ""},
		{"failed once", 0, 1, 0, time.Minute, "0 1 2 3 4 5", ""},
		{"gone for good", 100, 0, 0, time.Millisecond, "0 1 4 5", "it lacks URLs of partition 1: it is just moving"},
		{"down for good", 0, 100, 0, time.Millisecond, "0", errDown.Error()},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			s := &source{missing: c.missing, failing: c.failing}
			err := Walk(t.Context(), s.fetch, crawl.URLQuery{Limit: c.limit}, c.patience,
				func(lines []crawl.URLLine) error {
					for _, l := range lines {
						got = append(got, l.URL)
					}
					return nil
				})
			if text := strings.Join(got, " "); text != c.want {
				t.Errorf("listed %s, want %s", text, c.want)
			}
			if says := fmt.Sprint(err); (err == nil) != (c.says == "") ||
				err != nil && !strings.Contains(says, c.says) {
				t.Errorf("error %v, want %q", err, c.says)
			}
		})
	}
}

func TestWalkEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := &source{}
	full := errors.New("no space")
	if err := Walk(ctx, s.fetch, crawl.URLQuery{}, time.Minute, func([]crawl.URLLine) error {
		return full
	}); !errors.Is(err, full) || s.calls != 1 {
		t.Errorf("%v after %d pages", err, s.calls)
	}
	s = &source{missing: 100}
	err := Walk(ctx, s.fetch, crawl.URLQuery{}, time.Hour, func(lines []crawl.URLLine) error {
		if lines[0].URL == "5" {
			cancel() // while it waits for the missing partition
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}
