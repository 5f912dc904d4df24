package searchquality

import (
	"fmt"
	"slices"
	"time"
)

// Found is a result: a page, and the near-duplicates that it stands for.
type Found struct {
	URL    string
	AlsoAt []string
}

// Score is how well and how fast an engine answers the questions of a set.
type Score struct {
	// MRR is the mean reciprocal rank, within the first ten, of the wanted page or of a result that
	// stands for it.
	MRR float64
	// Passage is the same for the first page that holds the passage of the question.
	Passage float64
	// Found is the number of questions with the wanted page, or one with the passage, in the first
	// ten.
	Found     int
	Questions int
	P50, P99  time.Duration
	Slowest   time.Duration
}

func (s Score) String() string {
	return fmt.Sprintf(
		"%d questions, MRR@10 %.3f, by passage %.3f, found %d, p50 %v, p99 %v, slowest %v",
		s.Questions, s.MRR, s.Passage, s.Found,
		s.P50.Round(10*time.Microsecond), s.P99.Round(10*time.Microsecond),
		s.Slowest.Round(10*time.Microsecond))
}

// Measure asks the questions of a set. missed is called for those whose first result is not the
// answer; nil calls nothing.
func Measure(
	set Set,
	ask func(text string) ([]Found, error),
	missed func(Question, []Found),
) (Score, error) {
	s := Score{Questions: len(set.Questions)}
	var took []time.Duration
	for _, q := range set.Questions {
		began := time.Now()
		results, err := ask(q.Text)
		took = append(took, time.Since(began))
		if err != nil {
			return s, fmt.Errorf("ask %q: %w", q.Text, err)
		}
		results = results[:min(10, len(results))]
		page, passage := rank(results, q.URL), rank(results, append([]string{q.URL}, q.Same...)...)
		if page > 0 {
			s.MRR += 1 / float64(page)
		}
		if passage > 0 {
			s.Passage += 1 / float64(passage)
			s.Found++
		}
		if passage != 1 && missed != nil {
			missed(q, results)
		}
	}
	n := float64(max(1, len(set.Questions)))
	s.MRR, s.Passage = s.MRR/n, s.Passage/n
	if slices.Sort(took); len(took) > 0 {
		s.P50, s.P99, s.Slowest = took[len(took)/2], took[len(took)*99/100], took[len(took)-1]
	}
	return s, nil
}

// rank is the place, from 1, of the first result that is one of the pages or stands for one; 0 when
// none does.
func rank(results []Found, pages ...string) int {
	return 1 + slices.IndexFunc(results, func(f Found) bool {
		return slices.Contains(pages, f.URL) ||
			slices.ContainsFunc(f.AlsoAt, func(u string) bool { return slices.Contains(pages, u) })
	})
}
