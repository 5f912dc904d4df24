package links

import (
	"testing"

	"crawlnode/crawl"
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
	targets := parseSeeds([]crawl.Seed{{URL: "http://a.test"}, {URL: "nonsense"}, {URL: "http://b.test", Priority: f(2)}, {URL: "ftp://c.test", Line: 90}}, &report)
	if len(targets) != 1 || targets[0].URL.String() != "http://a.test/" || len(report.Invalid) != 3 {
		t.Fatalf("%+v, %+v", targets, report)
	}
	for i, line := range []int{2, 3, 90} {
		if e := report.Invalid[i]; e.Line != line || e.Error == "" || e.Input == "" {
			t.Errorf("%+v is not line %d", e, line)
		}
	}
}
