package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/net/html"
)

func main() {
	docs := flag.String("docs", "/usr/share/doc", "folder of documentation")
	most := flag.Int("pages", 30, "pages of each site, at most")
	contents := flag.Bool("contents", false, "lists of contents are wanted")
	worst := flag.Int("worst", 0, "pages of each site and reader to name: those with the least F1")
	largest := flag.Int("largest", 128, "size of the largest page, in KiB; larger ones are left out")
	flag.Parse()
	if err := run(*docs, *most, *largest<<10, *contents, *worst); err != nil {
		fmt.Fprintln(os.Stderr, "boilerplate:", err)
		os.Exit(1)
	}
}

// run measures all sites that are there, and prints tables in Markdown.
func run(docs string, most, largest int, contents bool, worst int) error {
	found := false
	all := make([]result, len(readers))
	for _, s := range sites {
		names, err := s.pages(docs, most)
		if os.IsNotExist(err) {
			fmt.Fprintf(os.Stderr, "boilerplate: %s is not installed\n", s.name)
			continue
		}
		if err != nil {
			return fmt.Errorf("list the pages of %s: %w", s.name, err)
		}
		pages, err := s.load(names, largest, contents)
		if err != nil {
			return err
		}
		if len(pages) == 0 {
			continue
		}
		found = true
		results := make([]result, len(readers))
		for i, r := range readers {
			if results[i], err = measure(r, pages); err != nil {
				return err
			}
			all[i].join(results[i])
		}
		printTable(s.name, pages, results)
		fmt.Printf("\n%d files were looked at.\n", len(names))
		for i, r := range readers {
			for _, p := range results[i].worst(worst) {
				fmt.Fprintf(os.Stderr, "%s, %s: F1 %.1f of %s\n\tlost: %s\n\textra: %s\n",
					s.name, r.name, 100*p.f1, p.name, p.wanted.without(p.found), p.found.without(p.wanted))
			}
		}
	}
	if !found {
		return fmt.Errorf("no page of a known site below %s", docs)
	}
	printTable("all", nil, all)
	return nil
}

// page is what all readers get, with what is wanted of it.
type page struct {
	name, address string
	body          []byte
	wanted        bag
}

// load reads pages of a site. Those of more than largest bytes are left out, those of which nothing
// is wanted, such as redirects, and those that are lists of contents for the greater part: of these
// one may want all or nothing.
func (s site) load(names []string, largest int, contents bool) (pages []page, err error) {
	for _, name := range names {
		body, err := os.ReadFile(name) //nolint:gosec // the set that was asked for
		if err != nil {
			return nil, fmt.Errorf("read a page of %s: %w", s.name, err)
		}
		doc, err := html.Parse(bytes.NewReader(body))
		if err != nil {
			return nil, fmt.Errorf("parse %s: %w", name, err)
		}
		without, with := bagOf(s.wanted(doc, false)), bagOf(s.wanted(doc, true))
		if len(body) > largest || without.len() == 0 || 2*without.len() < with.len() {
			continue
		}
		p := page{name, "https://docs.example/" + filepath.Base(name), body, without}
		if contents {
			p.wanted = with
		}
		pages = append(pages, p)
	}
	return pages, nil
}

// result is what a reader made of some pages.
type result struct {
	pages   []scored
	refused int
}

type scored struct {
	score
	page
	found bag
	cpu   time.Duration // of the whole process, collection of garbage included
}

func (r *result) join(o result) {
	r.pages = append(r.pages, o.pages...)
	r.refused += o.refused
}

// worst names the n pages with the least F1.
func (r result) worst(n int) []scored {
	pages := slices.SortedFunc(slices.Values(r.pages), func(a, b scored) int {
		if a.f1 < b.f1 {
			return -1
		}
		return 1
	})
	return pages[:min(n, len(pages))]
}

// measure gives a reader one page after the other. The first is read once before, so that what is
// prepared at first use costs no page.
func measure(r reader, pages []page) (result, error) {
	var all result
	for i, p := range pages {
		if i == 0 {
			_, _ = r.read(p.body, p.address) // judged below
		}
		before, err := processor()
		if err != nil {
			return all, err
		}
		text, readErr := r.read(p.body, p.address)
		after, err := processor()
		if err != nil {
			return all, err
		}
		found := bag{}
		if readErr != nil {
			all.refused++
		} else {
			found = bagOf(text())
		}
		all.pages = append(all.pages, scored{compare(found, p.wanted), p, found, after - before})
	}
	return all, nil
}

// processor is the processor time of the process so far.
func processor() (time.Duration, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, fmt.Errorf("read the processor time of the process: %w", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}

func printTable(name string, pages []page, results []result) {
	if pages != nil {
		words, size := 0, 0
		for _, p := range pages {
			words += p.wanted.len()
			size += len(p.body)
		}
		fmt.Printf("\n%s: %d pages, %d KiB, %d words wanted\n\n", name, len(pages), size>>10, words)
	} else {
		fmt.Printf("\n%s: %d pages\n\n", name, len(results[0].pages))
	}
	fmt.Println("| reader | precision | recall | F1, mean | F1, median | F1, least | refused " +
		"| ms a page, mean | median |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|")
	for i, r := range results {
		precision := column(r, func(p scored) float64 { return 100 * p.precision })
		recall := column(r, func(p scored) float64 { return 100 * p.recall })
		f1 := column(r, func(p scored) float64 { return 100 * p.f1 })
		ms := column(r, func(p scored) float64 { return p.cpu.Seconds() * 1000 })
		fmt.Printf("| %s | %.1f | %.1f | %.1f | %.1f | %.1f | %d | %.2f | %.2f |\n", readers[i].name,
			mean(precision), mean(recall), mean(f1), median(f1), slices.Min(f1), r.refused,
			mean(ms), median(ms))
	}
}

func column(r result, of func(scored) float64) (values []float64) {
	for _, p := range r.pages {
		values = append(values, of(p))
	}
	return values
}

// mean and median are of at least one value.
func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
