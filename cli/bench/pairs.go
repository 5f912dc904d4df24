package bench

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"crawlnode/cli/command"
)

// comparison is what pairs of runs say. A ratio is that of the CPU per page: this
// one's by the other's.
type comparison struct {
	Against string    `json:"against"`
	Pairs   []pair    `json:"pairs"`
	Ratio   statistic `json:"ratio"`
	This    statistic `json:"cpu_microseconds_per_page"`
	Other   statistic `json:"other_cpu_microseconds_per_page"`
	// Rate and OtherRate are pages a second.
	Rate      statistic `json:"pages_per_second"`
	OtherRate statistic `json:"other_pages_per_second"`
}

// pair is one run of each.
type pair struct {
	This  measurement `json:"this"`
	Other measurement `json:"other"`
	Ratio float64     `json:"ratio"`
}

// statistic sums up figures of runs. The true median lies between Low and High
// with probability Confidence, which is 0.95 or more when there are six or more.
type statistic struct {
	Median     float64 `json:"median"`
	Min        float64 `json:"min"`
	Max        float64 `json:"max"`
	Low        float64 `json:"low"`
	High       float64 `json:"high"`
	Confidence float64 `json:"confidence"`
}

// comparisons are of one thing with several others, all in the same turns.
type comparisons []*comparison

// compare runs this and the others by turns, and each turn begins with another one, so
// that other load on the machine falls on all.
func (v *Verb) compare(
	ctx context.Context,
	env *command.Env,
	this variant,
	others []variant,
) (comparisons, error) {
	all := make(comparisons, len(others))
	for i := range all {
		all[i] = &comparison{Against: v.Against[i]}
	}
	for turn := range v.Pairs {
		measured := make([]measurement, 1+len(others))
		for i := range measured {
			which := (turn + i) % len(measured)
			what := this
			if which > 0 {
				what = others[which-1]
			}
			var err error
			if measured[which], err = v.measure(ctx, env, what); err != nil {
				return nil, fmt.Errorf("pair %d: %w", turn+1, err)
			}
		}
		for i, c := range all {
			fmt.Fprintln(env.Stderr, c.add(measured[0], measured[i+1]))
		}
	}
	for _, c := range all {
		c.sumUp()
	}
	return all, nil
}

// add appends a pair, and tells it in a line.
func (c *comparison) add(this, other measurement) string {
	p := pair{This: this, Other: other, Ratio: this.CPUMicrosPerPage / other.CPUMicrosPerPage}
	c.Pairs = append(c.Pairs, p)
	return fmt.Sprintf(
		"pair %d: %.0f us a page, against %s %.0f us, ratio %.3f; %.0f and %.0f pages/s",
		len(c.Pairs), this.CPUMicrosPerPage, c.Against, other.CPUMicrosPerPage, p.Ratio,
		this.PagesPerSecond, other.PagesPerSecond)
}

// shape is what JSON shows: one comparison alone is an object, several are an array.
func (all comparisons) shape() any {
	if len(all) == 1 {
		return all[0]
	}
	return all
}

func (all comparisons) text() string {
	lines := make([]string, len(all))
	for i, c := range all {
		lines[i] = c.text()
	}
	return strings.Join(lines, "\n")
}

// sumUp works out the statistics.
func (c *comparison) sumUp() {
	of := func(figure func(*pair) float64) statistic {
		var figures []float64
		for i := range c.Pairs {
			figures = append(figures, figure(&c.Pairs[i]))
		}
		return statisticOf(figures)
	}
	c.Ratio = of(func(p *pair) float64 { return p.Ratio })
	c.This = of(func(p *pair) float64 { return p.This.CPUMicrosPerPage })
	c.Other = of(func(p *pair) float64 { return p.Other.CPUMicrosPerPage })
	c.Rate = of(func(p *pair) float64 { return p.This.PagesPerSecond })
	c.OtherRate = of(func(p *pair) float64 { return p.Other.PagesPerSecond })
}

func (c *comparison) text() string {
	last := c.Pairs[len(c.Pairs)-1]
	return fmt.Sprintf("against %s, %d pairs: median ratio %.3f (%.3f to %.3f; "+
		"%.1f %% interval %.3f to %.3f); medians %.0f and %.0f us CPU a page, %.0f and %.0f pages/s; "+
		"of %d and %d pages none missing, %d and %d twice",
		c.Against, len(c.Pairs), c.Ratio.Median, c.Ratio.Min, c.Ratio.Max, 100*c.Ratio.Confidence,
		c.Ratio.Low, c.Ratio.High,
		c.This.Median, c.Other.Median, c.Rate.Median, c.OtherRate.Median, last.This.Pages,
		last.Other.Pages, last.This.Duplicates, last.Other.Duplicates)
}

// statisticOf sums up figures, of which there is one at least.
func statisticOf(figures []float64) statistic {
	f := slices.Sorted(slices.Values(figures))
	n := len(f)
	k, confidence := medianInterval(n)
	return statistic{
		Median:     (f[(n-1)/2] + f[n/2]) / 2,
		Min:        f[0],
		Max:        f[n-1],
		Low:        f[k],
		High:       f[n-1-k],
		Confidence: confidence,
	}
}

// medianInterval says how many of n sorted figures may be cut off at either end so
// that the median of what they were drawn from lies between the outermost of the
// rest with a probability of 0.95 or more, and that probability. With fewer than
// six nothing can be cut off and it is less. Each figure lies on either side of
// that median like a coin, whatever the distribution: with k cut off it is missed
// when k or fewer lie on one side.
func medianInterval(n int) (k int, confidence float64) {
	missed, all := new(big.Int), new(big.Int).Lsh(big.NewInt(1), uint(n))
	for cut := 0; 2*cut < n; cut++ {
		missed.Add(missed, new(big.Int).Lsh(new(big.Int).Binomial(int64(n), int64(cut)), 1))
		share, _ := new(big.Rat).SetFrac(missed, all).Float64()
		if cut > 0 && 1-share < 0.95 {
			break
		}
		k, confidence = cut, 1-share
	}
	return k, confidence
}
