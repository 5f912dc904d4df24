package links

import (
	"context"
	"fmt"

	"crawlnode/crawl"
	"crawlnode/pipeline"
	"crawlnode/web/urlnorm"
)

// AddFound stores URLs that programs outside of the cluster have found. One without a source and at
// depth 0 is a seed, and opens its scope; any other is judged as a link of a page. It returns when
// what is accepted is durable; an error means that nothing is guaranteed to be.
func (s *Seeder) AddFound(
	ctx context.Context,
	found []crawl.FoundURL,
) (report crawl.FoundReport, err error) {
	var seeds []crawl.Seed
	var links []crawl.Target
	for i := range found {
		f := &found[i]
		if f.IsSeed() {
			seeds = append(seeds, crawl.Seed{URL: f.URL, Priority: f.Priority})
			continue
		}
		t, ok := s.foundLink(f)
		if !ok {
			report.Rejected++
			continue
		}
		links = append(links, t)
	}
	if len(seeds) > 0 {
		r, err := s.Add(ctx, seeds)
		if err != nil {
			return report, err
		}
		report.Accepted, report.Duplicates = r.Accepted, r.Duplicates
		report.Rejected += r.OutOfScope + len(r.Invalid)
	}
	return report, s.addLinks(ctx, links, &report)
}

// foundLink judges a URL as a link.
func (s *Seeder) foundLink(f *crawl.FoundURL) (t crawl.Target, ok bool) {
	opts := &s.router.opts
	u, err := urlnorm.Parse(f.URL)
	if err != nil || f.Priority != nil && !(*f.Priority >= 0 && *f.Priority <= 1) {
		return t, false
	}
	t = crawl.Target{
		URL:   opts.Normalize().Apply(u),
		Depth: min(max(f.Depth, 1), maxDepth),
		Via:   crawl.ViaLink,
	}
	v := opts.Rules().Decide(t.URL, t.Depth, opts.Seeds)
	t.Suspicious = v.Suspicious
	if t.Band = pipeline.BandOf(t.Via, t.Depth, 0, t.Suspicious); f.Priority != nil && !t.Suspicious {
		t.Band = max(seedBand(f.Priority), 1) // before them are only seeds
	}
	return t, v.Admit
}

// addLinks stores links that were admitted.
func (s *Seeder) addLinks(
	ctx context.Context,
	links []crawl.Target,
	report *crawl.FoundReport,
) error {
	if len(links) == 0 {
		return nil
	}
	s.begun.Add(1)
	s.active.Add(1)
	defer s.active.Add(-1)
	ctx, cancel := context.WithTimeout(ctx, seedDeadline)
	defer cancel()
	if err := s.start.May(); err != nil {
		return err
	}
	if err := s.start.Run(ctx); err != nil {
		return fmt.Errorf("%w (%w)", ErrBusy, err)
	}
	r, err := s.router.submitAll(ctx, s.router.Route(links))
	if err != nil {
		return err
	}
	if len(r.Left) > 0 {
		return ErrBusy
	}
	if err := s.start.Run(ctx); err != nil { // it may have ended while they were stored
		return fmt.Errorf("%w (%w)", ErrBusy, err)
	}
	report.Accepted += r.Added
	report.Duplicates += r.Known
	report.Rejected += r.Refused
	return nil
}
