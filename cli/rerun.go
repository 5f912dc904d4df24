package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"crawlnode/api/plaintext"
	"crawlnode/cli/seedlist"
	"crawlnode/crawl"
)

// A crawl command may be given again. With the same flags it goes on, with others these take
// effect, and a crawl that has ended says so.

// tellChanges says which flags differ from those of the last run and take effect.
func (s *session) tellChanges(changed []string) {
	s.env.Fail(0, "changed since the last run: %s", strings.Join(changed, ", "))
}

// seedsKnown bounds the seeds that are looked up to see whether a rerun has anything new.
const seedsKnown = 10_000

// wasOver says whether this is a crawl that ended in an earlier run and that the seeds, all
// known, do not set running again; people are told. Seeds that an earlier run has tried
// in vain are tried once more.
func (s *session) wasOver(ctx context.Context) bool {
	st, err := s.node.Status(ctx, false)
	if err != nil || st.Crawl.State != crawl.CrawlFinished || st.Crawl.FinishReason == nil {
		return false
	}
	reason := *st.Crawl.FinishReason
	if reason == crawl.FinishStopped || len(s.seeds) > seedsKnown {
		return false // URLs are queued, or it would take long
	}
	for _, seed := range s.seeds {
		if r, err := s.node.ExplainURL(ctx, seed.URL, -1); err != nil || r.Record == nil {
			return false // a new one
		}
	}
	if st.Throughput.PagesTotal == 0 {
		s.seeds = onceMore(s.seeds)
		return false
	}
	failed := commandLine(ownCommand(s.env.Executable), "urls", "list", "--state", "failed",
		"--data-dir", s.node.Info().DataDir)
	s.env.Fail(0, "%s", overText(st, failed))
	return true
}

// onceMore are the seeds, to be fetched though they are known.
func onceMore(seeds []seedlist.Entry) []seedlist.Entry {
	again := slices.Clone(seeds) // others read the seeds meanwhile
	for i := range again {
		again[i].Again = true
	}
	return again
}

// overText says that a crawl has ended, and what would set it running again. failed is the command
// that lists what was given up.
func overText(st *crawl.Status, failed string) string {
	when := ""
	if at := st.Crawl.EndedAt; at != nil {
		when = " at " + at.Local().Format("2006-01-02 15:04:05")
	}
	pages := plaintext.CountOf(st.Throughput.PagesTotal, "page")
	switch *st.Crawl.FinishReason {
	case crawl.FinishMaxPages:
		return fmt.Sprintf("this crawl ended%s after %s, by --max-pages: "+
			"it goes on with a higher limit, or with --max-pages 0", when, pages)
	case crawl.FinishMaxDuration:
		return fmt.Sprintf("this crawl ended%s after %s, by --max-duration: "+
			"it goes on with a higher limit, or with --max-duration 0s", when, pages)
	}
	if n := st.Fetch.GivenUpTotal; n > 0 {
		return fmt.Sprintf("this crawl ended%s: what it found was fetched, %s, or given up, %s: "+
			"%s says why; --again fetches the seeds once more", when, pages, plaintext.CountOf(n, "URL"),
			failed)
	}
	return fmt.Sprintf("this crawl ended%s: everything that it found was fetched, %s; "+
		"--again fetches the seeds once more and follows what is new there", when, pages)
}
