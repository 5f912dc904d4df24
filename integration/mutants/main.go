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
	"syscall"
	"time"
)

func main() {
	var o options
	flag.StringVar(&o.only, "only", "", "names of mutants, comma-separated; empty: all")
	flag.StringVar(&o.seeds, "seeds", "1,2,3,4,5,6,7,8", "seeds of TestSim that are tried when no other test fails; empty: none")
	flag.StringVar(&o.report, "report", "", "a file to which a row for each mutant is appended")
	flag.BoolVar(&o.build, "build", false, "only see whether each mutant compiles")
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
}

// run judges the mutants one after the other and prints a row for each.
func run(ctx context.Context, o options) error {
	all, err := parseList(listText)
	if err != nil {
		return fmt.Errorf("mutants.txt: %w", err)
	}
	if o.only != "" {
		names := strings.Split(o.only, ",")
		all = slices.DeleteFunc(all, func(m mutant) bool { return !slices.Contains(names, m.name) })
	}
	j, err := newJudge(strings.FieldsFunc(o.seeds, func(r rune) bool { return r == ',' }))
	if err != nil {
		return err
	}
	defer os.RemoveAll(j.work)
	for i := range all {
		if err := j.builds(ctx, &all[i]); err != nil {
			return err
		}
	}
	if o.build {
		return nil
	}
	if err := j.sound(ctx); err != nil {
		return err
	}
	caught := 0
	for i := range all {
		began := time.Now()
		by, err := j.judge(ctx, &all[i])
		if err != nil {
			return err
		}
		if by != "" {
			caught++
		}
		if err := note(o.report, &all[i], j.commit, by, time.Since(began)); err != nil {
			return err
		}
	}
	fmt.Printf("%d of %d mutants were caught\n", caught, len(all))
	return nil
}

// reportHead opens a new report.
const reportHead = `# Deliberate mistakes, and what noticed them

Rows of ` + "`make mutants`" + `: each mutant is one small mistake (integration/mutants/mutants.txt). "Caught by" is the first test that failed.

| commit | mutant | file | what is wrong | caught by | seconds |
|---|---|---|---|---|---|
`

// note prints one mutant's row and appends it to the report.
func note(report string, m *mutant, commit, by string, took time.Duration) error {
	if by == "" {
		by = "**nothing**"
	}
	by = strings.NewReplacer("|", "/", "\n", " ").Replace(by)
	row := fmt.Sprintf("| %s | %s | %s | %s | %s | %.0f |\n", commit, m.name, m.file, m.about, by, took.Seconds())
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
