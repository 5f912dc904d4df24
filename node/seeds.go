package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"crawlnode/crawl"
	"crawlnode/web/scope"
	"crawlnode/web/urlnorm"
)

// seedDeadline bounds the wait for the owners' acknowledgements.
const seedDeadline = 10 * time.Second

// ErrBusy says that seeds could not be stored in time; sending them again is
// harmless. The API answers 503 with Retry-After.
var ErrBusy = errors.New("not every owner has acknowledged the seeds in time; send them again")

// ErrNotReady says that this node has not joined its cluster yet.
var ErrNotReady = errors.New("this node has not joined a cluster yet; ask a member, or wait for /readyz")

// AddSeeds stores seeds with their owners and starts the crawl when it is idle
// or finished. It returns when every accepted URL is durable; an error means
// that nothing was promised.
func (n *Node) AddSeeds(ctx context.Context, seeds []crawl.Seed) (crawl.SeedReport, error) {
	report := crawl.SeedReport{Invalid: []crawl.SeedError{}}
	if ok, _ := n.Ready(); !ok {
		return report, ErrNotReady
	}
	n.seeded.Add(1)
	n.seeding.Add(1) // nobody calls the crawl finished meanwhile
	defer n.seeding.Add(-1)
	ctx, cancel := context.WithTimeout(ctx, seedDeadline)
	defer cancel()
	targets := parseSeeds(seeds, &report)
	if len(targets) == 0 {
		return report, nil
	}
	if err := n.checkContact(); err != nil {
		return report, err
	}
	rules := n.doc.Current().Rules
	entries := make([]string, len(targets), len(targets)+1)
	for i, t := range targets {
		entries[i] = rules.EntryOf(t.URL)
		if port := t.URL.Port(); port != 80 && port != 443 {
			entries = append(entries, scope.PortEntry(port))
		}
	}
	if err := n.openScope(ctx, entries); err != nil {
		return report, err
	}
	kept := targets[:0]
	for _, t := range targets {
		if v := rules.Judge(t.URL, 0, n.doc.Seeds); !v.Admit {
			report.OutOfScope++
			continue
		}
		kept = append(kept, t)
	}
	if len(kept) == 0 {
		return report, nil
	}
	if err := n.startCrawl(ctx); err != nil {
		return report, fmt.Errorf("%w (%w)", ErrBusy, err)
	}
	s, err := n.submitAll(ctx, n.routed(kept))
	if err != nil {
		return report, err
	}
	if len(s.left) > 0 {
		return report, ErrBusy
	}
	if err := n.startCrawl(ctx); err != nil { // it may have ended while they were stored
		return report, fmt.Errorf("%w (%w)", ErrBusy, err)
	}
	report.Accepted, report.Duplicates = s.added, s.known
	report.OutOfScope += s.refused
	n.events.seeds(time.Now(), report)
	return report, nil
}

// openScope stores the scope entries of seeds here and with a majority of the members:
// whatever one loss takes, the others know them before a page is judged by them.
func (n *Node) openScope(ctx context.Context, entries []string) error {
	if err := n.doc.AddScope(entries); err != nil {
		return err
	}
	if err := n.spread.reach(ctx); err != nil {
		return fmt.Errorf("%w (%w)", ErrBusy, err)
	}
	return nil
}

// parseSeeds makes targets of what can be read and reports the rest.
func parseSeeds(seeds []crawl.Seed, report *crawl.SeedReport) []crawl.Target {
	var targets []crawl.Target
	for i, s := range seeds {
		line := s.Line
		if line == 0 {
			line = i + 1
		}
		u, err := urlnorm.Parse(s.URL)
		if err == nil && s.Priority != nil && (*s.Priority < 0 || *s.Priority > 1) {
			err = fmt.Errorf("priority %v is not between 0 and 1", *s.Priority)
		}
		if err != nil {
			report.Invalid = append(report.Invalid, crawl.SeedError{Line: line, Input: s.URL, Error: err.Error()})
			continue
		}
		targets = append(targets, crawl.Target{URL: u, Via: crawl.ViaSeed, Band: seedBand(s.Priority), Again: s.Again})
	}
	return targets
}

// seedBand maps a seed's priority, 1 first, to a band; seeds without one are first.
func seedBand(priority *float64) crawl.Band {
	if priority == nil {
		return 0
	}
	return crawl.Band((1 - *priority) * (crawl.Bands - 1))
}
