package links

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"crawlnode/crawl"
	"crawlnode/web/normalize"
	"crawlnode/web/scope"
	"crawlnode/web/urlnorm"
)

// seedDeadline bounds the wait for the owners' acknowledgements.
const seedDeadline = 10 * time.Second

// ErrBusy says that seeds could not be stored in time; sending them again is
// harmless. The API answers 503 with Retry-After.
var ErrBusy = errors.New("not every owner has acknowledged the seeds in time; send them again")

// Seeder stores seeds. Any goroutine may call its methods.
type Seeder struct {
	router *Router
	start  Start
	added  func(crawl.SeedReport)
	active atomic.Int64  // calls of Add under way
	begun  atomic.Uint64 // calls of Add that have begun
}

// NewSeeder makes a Seeder. added is called with the report of each list that was stored.
func NewSeeder(r *Router, start Start, added func(crawl.SeedReport)) *Seeder {
	return &Seeder{router: r, start: start, added: added}
}

// Active counts the lists that are being stored; the crawl does not finish meanwhile.
func (s *Seeder) Active() int64 { return s.active.Load() }

// Begun counts the lists whose storing has ever begun.
func (s *Seeder) Begun() uint64 { return s.begun.Load() }

// Add stores seeds with their owners and starts the crawl when it is idle or finished. It returns
// when every accepted URL is durable. An error means that no seed is guaranteed to be stored.
func (s *Seeder) Add(ctx context.Context, seeds []crawl.Seed) (crawl.SeedReport, error) {
	report := crawl.SeedReport{Invalid: []crawl.SeedError{}}
	opts := &s.router.opts
	s.begun.Add(1)
	s.active.Add(1)
	defer s.active.Add(-1)
	ctx, cancel := context.WithTimeout(ctx, seedDeadline)
	defer cancel()
	targets := parseSeeds(seeds, opts.Normalize(), &report)
	if len(targets) == 0 {
		return report, nil
	}
	if err := s.start.May(); err != nil {
		return report, err
	}
	rules := opts.Rules()
	if entries := entriesOf(rules, targets); len(entries) > 0 {
		if err := s.openScope(ctx, entries); err != nil {
			return report, err
		}
	}
	kept := targets[:0]
	for _, t := range targets {
		// A known URL may be an asset. Its own depth is judged in its turn.
		if !rules.Decide(t.URL, 0, opts.Seeds).Admit &&
			!(t.OnlyKnown() && rules.DecideAsset(t.URL).Admit) {
			report.OutOfScope++
			continue
		}
		kept = append(kept, t)
	}
	if len(kept) == 0 {
		return report, nil
	}
	if err := s.start.Run(ctx); err != nil {
		return report, fmt.Errorf("%w (%w)", ErrBusy, err)
	}
	r, err := s.router.submitAll(ctx, s.router.Route(kept))
	if err != nil {
		return report, err
	}
	if len(r.Left) > 0 {
		return report, ErrBusy
	}
	if err := s.start.Run(ctx); err != nil { // it may have ended while they were stored
		return report, fmt.Errorf("%w (%w)", ErrBusy, err)
	}
	report.Accepted, report.Duplicates = r.Added, r.Known
	report.OutOfScope += r.Refused
	s.added(report)
	return report, nil
}

// entriesOf are the scope entries that seeds open.
func entriesOf(rules *scope.Rules, seeds []crawl.Target) []string {
	entries := make([]string, 0, len(seeds)+1)
	for _, t := range seeds {
		if t.OnlyKnown() {
			continue
		}
		entries = append(entries, rules.EntryOf(t.URL))
		if port := t.URL.Port(); port != 80 && port != 443 {
			entries = append(entries, scope.PortEntry(port))
		}
	}
	return entries
}

// OpenPorts lets URLs at ports other than 80 and 443 be requested that clients put into crawls of
// their own, as a seed lets those at its port: here, and on a majority of the members.
func (s *Seeder) OpenPorts(ctx context.Context, ports []uint16) error {
	var entries []string
	for _, port := range ports {
		if port != 80 && port != 443 && !s.router.opts.Seeds.HasPort(port) {
			entries = append(entries, scope.PortEntry(port))
		}
	}
	if len(entries) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, seedDeadline)
	defer cancel()
	return s.openScope(ctx, entries)
}

// openScope stores the scope entries of seeds here and with a majority of the members. So after the
// loss of one node the others know them before they judge a page by them.
func (s *Seeder) openScope(ctx context.Context, entries []string) error {
	sc := s.router.opts.Scope
	if err := sc.Add(entries...); err != nil {
		return err
	}
	if err := sc.Spread(ctx); err != nil {
		return fmt.Errorf("%w (%w)", ErrBusy, err)
	}
	return nil
}

// parseSeeds makes targets of the valid seeds and reports the rest.
func parseSeeds(seeds []crawl.Seed, same normalize.Rules, report *crawl.SeedReport) []crawl.Target {
	var targets []crawl.Target
	for i, s := range seeds {
		line := s.Line
		if line == 0 {
			line = i + 1
		}
		u, err := ParseSeed(s.URL)
		if err == nil && s.Priority != nil && (*s.Priority < 0 || *s.Priority > 1) {
			err = fmt.Errorf("priority %v is not between 0 and 1", *s.Priority)
		}
		if err != nil {
			report.Invalid = append(report.Invalid,
				crawl.SeedError{Line: line, Input: s.URL, Error: err.Error()})
			continue
		}
		via := crawl.ViaSeed
		if s.Guessed {
			via = crawl.ViaGuess
		}
		depth := 0
		if s.Known {
			via, depth, s.Again = crawl.ViaLink, unknownDepth, true
		}
		targets = append(targets, crawl.Target{
			URL:   same.Apply(u),
			Depth: depth,
			Via:   via,
			Band:  seedBand(s.Priority),
			Again: s.Again,
		})
	}
	return targets
}

// unknownDepth is the depth of a known URL that is wanted again: deeper than any, so that the
// record's counts.
const unknownDepth = maxDepth

// ParseSeed parses the URL of a seed. Of what looks mistyped the error says what to write. A space
// followed by another URL is a mistake, mostly of a script; the standard's parser would escape it
// and request a page of that name.
func ParseSeed(raw string) (urlnorm.URL, error) {
	for i, word := range strings.Fields(raw) {
		if i > 0 && strings.Contains(word, "://") {
			return urlnorm.URL{}, fmt.Errorf("%w: it contains several URLs: "+
				"give each as an argument of its own, or on a line of its own in a file", urlnorm.ErrInvalid)
		}
	}
	if wrong := mistake(raw); wrong != "" {
		return urlnorm.URL{}, fmt.Errorf("%w: %s", urlnorm.ErrInvalid, wrong)
	}
	u, err := urlnorm.Parse(raw)
	if err != nil {
		if wrong := plainly(err); wrong != "" {
			return u, fmt.Errorf("%w: %s", urlnorm.ErrInvalid, wrong)
		}
	}
	return u, err
}

// seedBand maps a seed's priority, 1 first, to a band; seeds without one are in the first band.
func seedBand(priority *float64) crawl.Band {
	if priority == nil {
		return 0
	}
	return crawl.Band((1 - *priority) * (crawl.Bands - 1))
}
