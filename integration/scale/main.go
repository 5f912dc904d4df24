package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"

	"crawlnode/ring"
)

// settings are what is to be worked out.
type settings struct {
	nodes, partitions []int
	hosts             int
	exponents         []float64
	urls              float64 // of all hosts
	most              float64 // pages of one host that politeness allows
	seed              uint64
	measure           bool // also how long things take, and what they weigh
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	s, err := parse(os.Args[1:], os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err == nil:
		err = s.print(ctx, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

func parse(args []string, stderr io.Writer) (settings, error) {
	s := settings{}
	f := flag.NewFlagSet("scale", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Func("nodes", "numbers of nodes, with commas between (default 10,100,1000)", numbers(&s.nodes))
	f.Func("partitions", "numbers of partitions, with commas between (default 1024,4096,16384)",
		numbers(&s.partitions))
	f.IntVar(&s.hosts, "hosts", 10_000_000, "hosts")
	f.Func("exponents", "Zipf exponents of the hosts' sizes, with commas between (default 1,0.8)",
		floats(&s.exponents))
	f.Float64Var(&s.urls, "urls", 15e9, "URLs of all hosts together")
	f.Float64Var(&s.most, "most", 125_000,
		"pages that politeness lets a crawl fetch of one host: 125,000 is one a second for a day "+
			"and a half")
	f.Uint64Var(&s.seed, "seed", 1, "chooses the nodes' ids")
	f.BoolVar(&s.measure, "measure", true,
		"also measure how long tables take to build and look-ups to make, "+
			"and what a forwarded link weighs")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	if f.NArg() > 0 {
		return s, fmt.Errorf("%q is no flag", f.Arg(0))
	}
	if s.nodes == nil {
		s.nodes = []int{10, 100, 1000}
	}
	if s.partitions == nil {
		s.partitions = []int{1024, 4096, 16384}
	}
	if s.exponents == nil {
		s.exponents = []float64{1, 0.8}
	}
	return s, s.validate()
}

func (s *settings) validate() error {
	for _, n := range s.nodes {
		// One more joins.
		if n < 3 || n+1 > slices.Min(s.partitions) {
			return fmt.Errorf("-nodes %d: must lie within 3 and one less than the fewest partitions", n)
		}
	}
	switch {
	case slices.Min(s.partitions) < 1 || slices.Max(s.partitions) > ring.MaxPartitions:
		return fmt.Errorf("-partitions: must lie within 1 and %d", ring.MaxPartitions)
	case s.hosts < 1 || s.urls < float64(s.hosts) || s.most < 1:
		return errors.New("-hosts and -most must be 1 or more, and -urls at least one a host")
	case slices.Min(s.exponents) < 0:
		return errors.New("-exponents: must not be below 0")
	}
	return nil
}

// numbers reads a flag of several whole numbers.
func numbers(into *[]int) func(string) error {
	return func(text string) error {
		for word := range strings.SplitSeq(text, ",") {
			n, err := strconv.Atoi(word)
			if err != nil {
				return err
			}
			*into = append(*into, n)
		}
		return nil
	}
}

// floats reads a flag of several numbers.
func floats(into *[]float64) func(string) error {
	return func(text string) error {
		for word := range strings.SplitSeq(text, ",") {
			x, err := strconv.ParseFloat(word, 64)
			if err != nil {
				return err
			}
			*into = append(*into, x)
		}
		return nil
	}
}

// print works everything out and writes the tables.
func (s *settings) print(ctx context.Context, out io.Writer) error {
	cases, err := s.solve(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "Seed %d, %d hosts, %.3g URLs, at most %.0f pages a host.\n", s.seed, s.hosts,
		s.urls, s.most)
	for _, exponent := range s.exponents {
		if err := s.printBalance(ctx, out, cases, exponent); err != nil {
			return err
		}
	}
	printMoves(out, cases)
	printHeirs(out, cases)
	if !s.measure {
		return nil
	}
	if err := printTimes(ctx, out, cases); err != nil {
		return err
	}
	return printLinks(ctx, out)
}
