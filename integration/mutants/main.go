package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

func main() {
	var o options
	flag.StringVar(&o.only, "only", "", "names of mutants, comma-separated; empty: all")
	flag.StringVar(&o.seeds, "seeds", "1,2,3,4,5,6,7,8",
		"seeds and cases of the simulation, tried when no other test fails; empty: none")
	flag.StringVar(&o.report, "report", "", "a file to which a row for each mutant is appended")
	flag.BoolVar(&o.build, "build", false, "only see whether each mutant compiles")
	flag.IntVar(&o.jobs, "jobs", 1, "mutants judged at the same time; each may use several cores")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	only, seeds, report string
	build               bool
	jobs                int
}

// run judges the mutants and prints a row for each.
func run(ctx context.Context, o options) error {
	all, err := chosen(o.only)
	if err != nil {
		return err
	}
	j, err := newJudge(strings.FieldsFunc(o.seeds, func(r rune) bool { return r == ',' }))
	if err != nil {
		return err
	}
	defer os.RemoveAll(j.work)
	if o.build {
		return eachOf(all, o.jobs, func(m *mutant) error { return j.builds(ctx, m) })
	}
	if err := j.sound(ctx); err != nil {
		return err
	}
	var mu sync.Mutex
	judged, caught := 0, 0 // under mu
	err = eachOf(all, o.jobs, func(m *mutant) error {
		began := time.Now()
		by, err := j.judge(ctx, m)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		judged++
		if by != "" {
			caught++
		}
		fmt.Printf("%d of %d: ", judged, len(all))
		return note(o.report, m, j.commit, by, time.Since(began))
	})
	fmt.Printf("%d of %d mutants were caught, %d could not be judged\n", caught, judged,
		len(all)-judged)
	return err
}

// chosen returns the mutants of the list that only names; "" names all.
func chosen(only string) ([]mutant, error) {
	all, err := parseList(listText)
	if err != nil {
		return nil, fmt.Errorf("mutants.txt: %w", err)
	}
	if only == "" {
		return all, nil
	}
	var some []mutant
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(all, func(m mutant) bool { return m.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no mutant %q in mutants.txt", name)
		}
		some = append(some, all[i])
	}
	return some, nil
}

// eachOf calls f for every mutant, as many at a time as jobs, and returns all errors: one
// that cannot be judged does not keep the others from it.
func eachOf(all []mutant, jobs int, f func(*mutant) error) error {
	var wg sync.WaitGroup
	slots := make(chan struct{}, max(jobs, 1))
	errs := make([]error, len(all))
	for i := range all {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			errs[i] = f(&all[i])
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// reportHead opens a new report.
const reportHead = `# Deliberate mistakes, and what noticed them

Rows of ` + "`make mutants`" +
	`: each mutant is one small mistake (integration/mutants/mutants.txt). "Caught by" is the first test that failed.

| commit | mutant | file | what is wrong | caught by | seconds |
|---|---|---|---|---|---|
`

// note prints one mutant's row and appends it to the report.
func note(report string, m *mutant, commit, by string, took time.Duration) error {
	if by == "" {
		by = "**nothing**"
	}
	by = strings.NewReplacer("|", "/", "\n", " ").Replace(by)
	row := fmt.Sprintf("| %s | %s | %s | %s | %s | %.0f |\n", commit, m.name, m.file, m.about, by,
		took.Seconds())
	fmt.Print(row)
	if report == "" {
		return nil
	}
	f, err := os.OpenFile(report, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	st, err := f.Stat()
	if err == nil && st.Size() == 0 {
		row = reportHead + row
	}
	if err == nil {
		_, err = f.WriteString(row)
	}
	return errors.Join(err, f.Close())
}
