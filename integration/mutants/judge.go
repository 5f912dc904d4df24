package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// deciders are the packages whose tests judge a mutant, the quick ones first.
var deciders = []string{"ring", "scheduler", "handoff", "peer", "membership", "frontier", "node"}

const (
	testLimit = 5 * time.Minute // of one package's tests
	seedLimit = 4 * time.Minute // of one simulation
)

// judge runs tests with a mutant in the code.
type judge struct {
	root   string // of the module
	work   string // a temporary directory
	commit string
	seeds  []string
}

func newJudge(seeds []string) (*judge, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOMOD: %w", err)
	}
	root := filepath.Dir(strings.TrimSpace(string(out)))
	commit, err := exec.Command("git", "-C", root, "describe", "--always", "--dirty").Output()
	if err != nil {
		return nil, fmt.Errorf("git describe: %w", err)
	}
	work, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return nil, err
	}
	return &judge{root: root, work: work, commit: strings.TrimSpace(string(commit)), seeds: seeds}, nil
}

// sound checks that the tests and seeds pass without any mutant: else nothing is proved.
func (j *judge) sound(ctx context.Context) error {
	by, err := j.tests(ctx, "", deciders)
	if err == nil && by == "" {
		by, err = j.simulations(ctx, "")
	}
	if err != nil {
		return err
	}
	if by != "" {
		return fmt.Errorf("without any mutant this fails: %s; mend that first", by)
	}
	return nil
}

// builds returns an error when a mutant does not compile.
func (j *judge) builds(ctx context.Context, m *mutant) error {
	overlay, err := j.overlay(m)
	if err != nil {
		return err
	}
	if out, err := j.run(ctx, testLimit, nil, "go", "build", "-overlay="+overlay, "./"+path.Dir(m.file)); err != nil {
		return fmt.Errorf("mutant %s does not compile:\n%s", m.name, out)
	}
	return nil
}

// judge returns what caught a mutant; "" when nothing did.
func (j *judge) judge(ctx context.Context, m *mutant) (by string, err error) {
	overlay, err := j.overlay(m)
	if err != nil {
		return "", err
	}
	own := path.Dir(m.file)
	order := []string{own}
	for _, p := range deciders {
		if p != own {
			order = append(order, p)
		}
	}
	by, err = j.tests(ctx, overlay, order)
	if by != "" || err != nil {
		return by, err
	}
	return j.simulations(ctx, overlay)
}

// overlay writes the mutated file and the map that puts it in place of the real one.
func (j *judge) overlay(m *mutant) (string, error) {
	text, err := m.apply(j.root)
	if err != nil {
		return "", err
	}
	file := filepath.Join(j.work, m.name+".go")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return "", err
	}
	b, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(j.root, filepath.FromSlash(m.file)): file}})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(j.work, m.name+".json")
	return overlay, os.WriteFile(overlay, b, 0o644)
}

// tests runs the packages in turn, until one fails.
func (j *judge) tests(ctx context.Context, overlay string, packages []string) (by string, err error) {
	for _, p := range packages {
		out, err := j.run(ctx, testLimit+time.Minute, nil, "go", "test", "-overlay="+overlay, "-short", "-count=1", "-failfast", "-timeout="+testLimit.String(), "./"+p)
		if err == nil {
			continue
		}
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if strings.Contains(out, "[build failed]") || strings.Contains(out, "[setup failed]") {
			return "", fmt.Errorf("package %s does not build with it:\n%s", p, out)
		}
		return p + ": " + firstFailure(out), nil
	}
	return "", nil
}

// simulations builds the tests once and runs seed after seed, until one fails.
func (j *judge) simulations(ctx context.Context, overlay string) (by string, err error) {
	if len(j.seeds) == 0 {
		return "", nil
	}
	binary := filepath.Join(j.work, "simulation")
	if out, err := j.run(ctx, 10*time.Minute, nil, "go", "test", "-overlay="+overlay, "-c", "-o", binary, "./integration"); err != nil {
		return "", errors.Join(ctx.Err(), fmt.Errorf("build the simulation: %w\n%s", err, out))
	}
	for _, seed := range j.seeds {
		out, err := j.run(ctx, seedLimit, []string{"SEED=" + seed}, binary, "-test.run=^TestSim$", "-test.count=1")
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if err != nil {
			return "simulation, seed " + seed + ": " + verdict(out), nil
		}
	}
	return "", nil
}

// run runs a command in the module, or in its integration folder when it is a test binary, and returns what it printed.
func (j *judge) run(ctx context.Context, limit time.Duration, env []string, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = j.root
	if name != "go" {
		cmd.Dir = filepath.Join(j.root, "integration")
	}
	cmd.Env = append(os.Environ(), env...)
	// A test starts processes of its own; all end with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// firstFailure names what failed in the output of a test run.
func firstFailure(out string) string {
	name := ""
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "--- FAIL: "); ok && (name == "" || strings.HasPrefix(rest, name+"/")) {
			name, _, _ = strings.Cut(rest, " ")
		}
		if name != "" {
			continue
		}
		if strings.HasPrefix(line, "panic: test timed out") {
			return timedOut(out)
		}
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			return line
		}
	}
	if name == "" {
		return "it failed without naming a test"
	}
	return name
}

// timedOut names the test that did not end.
func timedOut(out string) string {
	_, rest, _ := strings.Cut(out, "running tests:")
	name, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	return name + " (timed out)"
}

// verdict is the line in which a simulation says what is wrong, without its place.
func verdict(out string) string {
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "I") && len(line) > 2 && line[1] >= '1' && line[1] <= '9' {
			return line
		}
		if i := strings.Index(line, ": I"); i > 0 && len(line) > i+3 && line[i+3] >= '1' && line[i+3] <= '9' {
			return line[i+2:]
		}
	}
	return firstFailure(out)
}
