package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// suite is the tests of a package that decides.
type suite struct {
	name  string
	deps  []string // import paths of all that the tests are made of
	quick []string // the tests that take less than quickTest
	sick  []string // the tests that fail without any mutant: they prove nothing
}

// quickTest divides the tests of a package: most mistakes are found by a quick one.
const quickTest = time.Second

func (s *suite) has(pkg string) bool { return slices.Contains(s.deps, pkg) }

// measure runs a package's tests without any mutant. The go command remembers what has
// passed, so that costs time once.
func (j *judge) measure(ctx context.Context, name string) (suite, error) {
	s := suite{name: name}
	out, err := j.run(ctx, testLimit, ".", nil, "go", "list", "-deps", "-test", "./"+name)
	if err != nil {
		return s, errors.Join(ctx.Err(), fmt.Errorf("go list: %w\n%s", err, out))
	}
	for line := range strings.Lines(out) {
		pkg, _, _ := strings.Cut(strings.TrimSpace(line), " ") // "crawlnode/ring [crawlnode/ring.test]"
		s.deps = append(s.deps, pkg)
	}
	out, err = j.run(ctx, testLimit+time.Minute, ".", nil, "go", "test", "-short", "-v",
		"-timeout="+testLimit.String(), "./"+name)
	s.quick, s.sick = testsOf(out)
	if err != nil && len(s.sick) == 0 {
		return s, errors.Join(ctx.Err(),
			fmt.Errorf("without any mutant the tests of %s fail: %s; mend that first", name,
				firstFailure(out)))
	}
	if len(s.sick) > 0 {
		fmt.Fprintf(os.Stderr, "mutants: left out, since they fail without any mutant: %s: %s\n", name,
			strings.Join(s.sick, ", "))
	}
	return s, nil
}

// compile builds a package's tests.
func (j *judge) compile(ctx context.Context, overlay, pkg, binary string) error {
	out, err := j.run(ctx, 2*testLimit, ".", nil, "go", "test", "-overlay="+overlay, "-c", "-o",
		binary, "./"+pkg)
	if err != nil {
		return errors.Join(ctx.Err(),
			fmt.Errorf("the tests of %s cannot be built: %w\n%s", pkg, err, out))
	}
	return nil
}

// tests runs a suite with a mutant, the quick ones first, until one fails.
func (j *judge) tests(
	ctx context.Context,
	s *suite,
	overlay, mutant string,
) (by string, err error) {
	binary := filepath.Join(j.work, mutant+"."+strings.ReplaceAll(s.name, "/", "-")+".test")
	defer os.Remove(binary)
	if err := j.compile(ctx, overlay, s.name, binary); err != nil {
		return "", err
	}
	rest := slices.Concat(s.quick, s.sick)
	for _, some := range []string{"-test.run=" + exactly(s.quick), "-test.skip=" + exactly(rest)} {
		failed, err := j.test(ctx, s, binary, some)
		if err != nil {
			return "", err
		}
		if failed != "" {
			return s.name + ": " + failed, nil
		}
	}
	return "", nil
}

// test runs some tests and names the first that fails twice; "" for none. On a busy machine a test
// may fail for lack of time, which proves nothing about a mutant.
func (j *judge) test(
	ctx context.Context,
	s *suite,
	binary, some string,
) (failed string, err error) {
	flags := []string{"-test.short", "-test.failfast", "-test.timeout=" + testLimit.String()}
	for range 3 {
		out, err := j.run(ctx, testLimit+time.Minute, s.name, nil, binary, append(flags, some)...)
		if err == nil {
			return "", nil
		}
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		failed = firstFailure(out)
		test, _, _ := strings.Cut(failed, "/")
		test, _, _ = strings.Cut(test, " ") // "TestA (timed out)"
		if !strings.HasPrefix(test, "Test") {
			return failed, nil // a panic that no test is named for
		}
		_, err = j.run(ctx, testLimit+time.Minute, s.name, nil, binary,
			append(flags, "-test.count=2", "-test.run="+exactly([]string{test}))...)
		if err != nil {
			return failed, ctx.Err()
		}
	}
	return "", fmt.Errorf(
		"%s fails now and then, but not twice: %s; try again when the machine is less busy", s.name,
		failed)
}

// exactly is a pattern for tests of just these names.
func exactly(names []string) string { return "^(" + strings.Join(names, "|") + ")$" }
