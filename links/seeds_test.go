package links

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/crawl"
	"crawlnode/web/normalize"
)

func TestSeedBands(t *testing.T) {
	t.Parallel()
	f := func(x float64) *float64 { return &x }
	for _, c := range []struct {
		priority *float64
		want     crawl.Band
	}{{nil, 0}, {f(1), 0}, {f(0), crawl.Bands - 1}, {f(0.5), (crawl.Bands - 1) / 2}} {
		if got := seedBand(c.priority); got != c.want {
			t.Errorf("%v: band %d, want %d", c.priority, got, c.want)
		}
	}
	var report crawl.SeedReport
	targets := parseSeeds([]crawl.Seed{{URL: "http://a.test"}, {URL: "nonsense"},
		{URL: "http://b.test", Priority: f(2)}, {URL: "ftp://c.test", Line: 90},
		{URL: "http://d.test http://e.test"}, {URL: "http://f.test/a b"}}, normalize.Rules{}, &report)
	if len(targets) != 2 || targets[0].URL.String() != "http://a.test/" || len(report.Invalid) != 4 {
		t.Fatalf("%+v, %+v", targets, report)
	}
	for i, line := range []int{2, 3, 90, 5} {
		if e := report.Invalid[i]; e.Line != line || e.Error == "" || e.Input == "" {
			t.Errorf("%+v is not line %d", e, line)
		}
	}
}

// TestKnownSeeds: what is wanted only if it is known is no seed, and its record's depth counts.
func TestKnownSeeds(t *testing.T) {
	t.Parallel()
	targets := parseSeeds([]crawl.Seed{{URL: "http://a.test", Known: true},
		{URL: "http://a.test", Again: true}}, normalize.Rules{}, &crawl.SeedReport{})
	if len(targets) != 2 || !targets[0].Again || !targets[0].OnlyKnown() || targets[0].Depth < 1<<20 ||
		targets[1].OnlyKnown() || targets[1].Depth != 0 {
		t.Errorf("%+v", targets)
	}
}

// TestSeedsAreNormalized: a seed is the URL that stands for it by the crawl's rules.
func TestSeedsAreNormalized(t *testing.T) {
	t.Parallel()
	same, err := normalize.Parse([]string{normalize.IndexFiles})
	if err != nil {
		t.Fatal(err)
	}
	targets := parseSeeds([]crawl.Seed{{URL: "http://a.test/x/index.html"}}, same, &crawl.SeedReport{})
	if len(targets) != 1 || targets[0].URL.String() != "http://a.test/x/" {
		t.Errorf("%+v", targets)
	}
}

// starting starts a crawl in these tests.
type starting struct {
	*around
	barred error // of May
	active func() int64
}

func (s starting) May() error { return s.barred }

func (s starting) Run(context.Context) error {
	if s.active() != 1 {
		return errors.New("no list of seeds is being stored")
	}
	s.did = append(s.did, "run")
	return nil
}

// TestSeedsInOrder checks that entries are with a majority before a seed is stored, that the crawl
// runs before and after, and that nothing is acknowledged when a step fails.
func TestSeedsInOrder(t *testing.T) {
	t.Parallel()
	barred := errors.New("no contact")
	held := map[crawl.Partition]bool{
		linkTo(t, "http://in.test/").Partition:   true,
		linkTo(t, "http://late.test/").Partition: true,
	}
	for name, c := range map[string]struct {
		url  string
		may  error
		far  error // the majority is not reached
		err  error
		did  []string
		want crawl.SeedReport
	}{
		"stored": {"http://in.test/", nil, nil, nil,
			[]string{"spread", "run", "add", "wait", "run", "report"}, crawl.SeedReport{Accepted: 1}},
		"out of scope": {"http://out.test/", nil, nil, nil, []string{"spread"},
			crawl.SeedReport{OutOfScope: 1}},
		// opens no scope
		"known": {"http://in.test/", nil, nil, nil,
			[]string{"run", "add", "wait", "run", "report"}, crawl.SeedReport{Accepted: 1}},
		"not to be run": {"http://in.test/", barred, nil, barred, nil, crawl.SeedReport{}},
		"no majority": {"http://in.test/", nil, errors.New("1 of 3"), ErrBusy, []string{"spread"},
			crawl.SeedReport{}},
	} {
		a := &around{held: held}
		a.scope.unreached = c.far
		var s *Seeder
		s = NewSeeder(a.router(), starting{a, c.may, func() int64 { return s.Active() }},
			func(crawl.SeedReport) { a.did = append(a.did, "report") })
		got, err := s.Add(t.Context(),
			[]crawl.Seed{{URL: c.url, Known: strings.HasPrefix(name, "known")}})
		if !errors.Is(err, c.err) || got.Accepted != c.want.Accepted ||
			got.OutOfScope != c.want.OutOfScope {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if !slices.Equal(a.did, c.did) || s.Active() != 0 || s.Begun() != 1 {
			t.Errorf("%s: %v, want %v; %d active, %d begun", name, a.did, c.did, s.Active(), s.Begun())
		}
	}
}

// TestSeedsOfASilentReplica are retried until the time is up, and then nothing is acknowledged.
func TestSeedsOfASilentReplica(t *testing.T) {
	t.Parallel()
	synctest.Test(t, seedsOfASilentReplica)
}

func seedsOfASilentReplica(t *testing.T) {
	late := linkTo(t, "http://late.test/").Partition
	a := &around{
		held: map[crawl.Partition]bool{late: true},
		late: map[crawl.Partition]bool{late: true},
	}
	var s *Seeder
	s = NewSeeder(a.router(), starting{a, nil, func() int64 { return s.Active() }},
		func(crawl.SeedReport) { t.Error("they were reported as stored") })
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	r, err := s.Add(ctx, []crawl.Seed{{URL: "http://late.test/"}})
	if !errors.Is(err, ErrBusy) || r.Accepted != 0 || len(a.stored) < 2 {
		t.Errorf("%+v, %v, stored %d times", r, err, len(a.stored))
	}
	if ctx.Err() == nil {
		t.Error("it gave up before the time was up")
	}
}
