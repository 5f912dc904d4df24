package links

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"crawlnode/crawl"
)

// TestFound: with a source or a depth a URL is judged as a link, and otherwise it is a seed.
func TestFound(t *testing.T) {
	t.Parallel()
	half, two := 0.5, 2.0
	held := map[crawl.Partition]bool{
		linkTo(t, "http://in.test/").Partition:   true,
		linkTo(t, "http://late.test/").Partition: true,
	}
	for name, c := range map[string]struct {
		found crawl.FoundURL
		want  crawl.FoundReport
		did   []string
		err   error
	}{
		"link": {crawl.FoundURL{URL: "http://in.test/x", SourceURL: "http://in.test/", Priority: &half},
			crawl.FoundReport{Accepted: 1}, []string{"run", "add", "wait", "run"}, nil},
		"deep": {crawl.FoundURL{URL: "http://in.test/x", Depth: 3},
			crawl.FoundReport{Accepted: 1}, []string{"run", "add", "wait", "run"}, nil},
		"out of scope": {crawl.FoundURL{URL: "http://out.test/x", Depth: 3},
			crawl.FoundReport{Rejected: 1}, nil, nil},
		"no URL": {crawl.FoundURL{URL: "x", Depth: 3}, crawl.FoundReport{Rejected: 1}, nil, nil},
		"too much": {crawl.FoundURL{URL: "http://in.test/x", Depth: 3, Priority: &two},
			crawl.FoundReport{Rejected: 1}, nil, nil},
		"seed": {crawl.FoundURL{URL: "http://in.test/"}, crawl.FoundReport{Accepted: 1},
			[]string{"spread", "run", "add", "wait", "run", "report"}, nil},
		"no seed": {crawl.FoundURL{URL: "x"}, crawl.FoundReport{Rejected: 1}, nil, nil},
		"not stored": {crawl.FoundURL{URL: "http://late.test/", Depth: 1}, crawl.FoundReport{}, nil,
			ErrBusy},
	} {
		a := &around{held: held}
		ctx, cancel := t.Context(), context.CancelFunc(func() {})
		if c.err != nil {
			a.late = held
			ctx, cancel = context.WithTimeout(ctx, 100*time.Millisecond)
		}
		var s *Seeder
		s = NewSeeder(a.router(), starting{a, nil, func() int64 { return s.Active() }},
			func(crawl.SeedReport) { a.did = append(a.did, "report") })
		got, err := s.AddFound(ctx, []crawl.FoundURL{c.found})
		cancel()
		if !errors.Is(err, c.err) || got != c.want || s.Active() != 0 {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, c.want)
		}
		if c.err == nil && !slices.Equal(a.did, c.did) {
			t.Errorf("%s: %v, want %v", name, a.did, c.did)
		}
	}
}
