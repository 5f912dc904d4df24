package config

import (
	"errors"
	"fmt"
	"time"

	"crawlnode/crawl"
	"crawlnode/importance/opic"
)

// Revisits define when known pages are visited again.
type Revisits struct {
	// Recrawl is off, fixed or adaptive.
	Recrawl string `group:"revisits" together:"recrawl_max" placeholder:"off|fixed|adaptive" default:"off" help:"Visit known pages again: fixed, each after --recrawl-interval; adaptive, each when a visit is worth most." live:"cluster"`
	// RecrawlInterval is the fixed interval, or the first one; RecrawlMin and RecrawlMax are its
	// bounds.
	RecrawlInterval time.Duration `name:"recrawl-interval" group:"revisits" report:"days" together:"recrawl_max" placeholder:"DURATION" default:"7d" help:"Time between two visits of a page; with adaptive the first guess. Below 1m needs --allow-net, and holds for all hosts of the crawl, public ones too." live:"cluster"`
	RecrawlMin      time.Duration `name:"recrawl-min" group:"revisits" report:"days" together:"recrawl_max" placeholder:"DURATION" default:"1h" help:"Shortest time between two visits of a page. Below 1m needs --allow-net, and holds for all hosts of the crawl, public ones too." live:"cluster"`
	RecrawlMax      time.Duration `name:"recrawl-max" group:"revisits" report:"days" together:"recrawl_max" placeholder:"DURATION" default:"90d" help:"Longest time between two visits of a page." live:"cluster"`
	// RecrawlShare is above 0 and at most 1.
	RecrawlShare float64 `name:"recrawl-share" group:"revisits" together:"recrawl_max" placeholder:"0..1" default:"0.5" help:"Share of the fetches for known pages while new ones wait too; whichever has nothing to do leaves its share to the other." live:"cluster"`
	// RecrawlWorth is at least 0 and below 1; RecrawlMax wins over it.
	RecrawlWorth float64 `name:"recrawl-worth" group:"revisits" together:"recrawl_max" placeholder:"0..1" default:"0.1" help:"With adaptive: visit a page only when it has changed with at least this probability, or --recrawl-max has passed; 0: as often as there is room." live:"cluster"`
	// RecrawlChanged is text or payload.
	RecrawlChanged string `name:"recrawl-changed" group:"revisits" together:"recrawl_max" placeholder:"text|payload" default:"text" help:"What counts as a change of a page: text, more than a few words of it (numbers and dates do not count); payload, any byte." live:"cluster"`
}

// maxRecrawl bounds the intervals: a longer one is a mistake.
const maxRecrawl = 10 * 365 * 24 * time.Hour

// validateRevisits checks the settings of revisits, all of them whatever the mode is: the mode can
// change while the crawl runs.
func (c *Config) validateRevisits() error {
	r := &c.Revisits
	var problems []error
	ordered := true
	for _, x := range []struct {
		flag string
		d    time.Duration
	}{{"recrawl-interval", r.RecrawlInterval}, {"recrawl-min", r.RecrawlMin},
		{"recrawl-max", r.RecrawlMax}} {
		err := checkInterval(x.flag, x.d, len(c.AllowNet) > 0)
		ordered = ordered && err == nil
		problems = append(problems, err)
	}
	if ordered {
		problems = append(problems, r.checkOrder())
	}
	if !(r.RecrawlShare > 0 && r.RecrawlShare <= 1) { // NaN too
		problems = append(problems, fmt.Errorf(
			"--recrawl-share: %v must be above 0 and at most 1; --recrawl off is for no revisits at all",
			r.RecrawlShare))
	}
	if !(r.RecrawlWorth >= 0 && r.RecrawlWorth < 1) { // NaN too
		problems = append(problems,
			fmt.Errorf("--recrawl-worth: %v must be at least 0 and below 1: it is the probability "+
				"that a page has changed, such as 0.1; "+
				"0 visits pages as often as there is room", r.RecrawlWorth))
	}
	if _, err := opic.ParseWeights(c.Priority); err != nil {
		problems = append(problems, prefixed("--priority", err))
	}
	return errors.Join(problems...)
}

// checkInterval requires a time between two visits that a web server may be asked to bear.
func checkInterval(flag string, d time.Duration, ownNet bool) error {
	switch {
	case d <= 0:
		return fmt.Errorf("--%s: %v is not above zero: give a duration such as 12h or 7d", flag, d)
	case d > maxRecrawl:
		return fmt.Errorf("--%s: %s is too long: give at most %s", flag, shortDuration(d),
			shortDuration(maxRecrawl))
	case d < crawl.RecrawlFloor && !ownNet:
		return fmt.Errorf("--%s: %s, below 1m, is allowed only for hosts inside --allow-net: "+
			"give 1m or more, or name your own network with --allow-net", flag, shortDuration(d))
	case d < time.Millisecond:
		return fmt.Errorf("--%s: %s is too short: give at least 1ms", flag, shortDuration(d))
	}
	return nil
}

// checkOrder requires the interval within its bounds.
func (r *Revisits) checkOrder() error {
	switch {
	case r.RecrawlMin > r.RecrawlMax:
		return fmt.Errorf(
			"--recrawl-min: %s is longer than --recrawl-max, which is %s: lower it, or raise --recrawl-max",
			shortDuration(r.RecrawlMin), shortDuration(r.RecrawlMax))
	case r.RecrawlInterval < r.RecrawlMin:
		return fmt.Errorf(
			"--recrawl-interval: %s is shorter than --recrawl-min, which is %s: raise it, "+
				"or lower --recrawl-min",
			shortDuration(r.RecrawlInterval), shortDuration(r.RecrawlMin))
	case r.RecrawlInterval > r.RecrawlMax:
		return fmt.Errorf("--recrawl-interval: %s is longer than --recrawl-max, which is %s: lower it, "+
			"or raise --recrawl-max", shortDuration(r.RecrawlInterval), shortDuration(r.RecrawlMax))
	}
	return nil
}

// prefixed puts the flag before each line of an error.
func prefixed(flag string, err error) error {
	var lines []error
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			lines = append(lines, fmt.Errorf("%s: %w", flag, e))
		}
		return errors.Join(lines...)
	}
	return fmt.Errorf("%s: %w", flag, err)
}
