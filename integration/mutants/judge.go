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
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// deciders are the packages whose tests judge a mutant, the quick ones first. Each mutant's own
// package is one of them.
var deciders = []string{"ring", "scheduler", "scheduler/core", "handoff/machine", "handoff",
	"handoff/replication", "handoff/copies", "handoff/hints", "handoff/acks", "peer",
	"membership/consensus", "membership/prober", "membership", "focus", "config", "security/secrets",
	"output/webhooks", "api/siterules", "web/botauth", "web/cookies", "web/preferences", "web/wall",
	"pipeline", "frontier/layout", "frontier/recovery", "frontier/cash", "frontier/commit", "frontier",
	"links/contents", "importance", "links", "finish", "status", "recrawl/policy", "recrawl/visits",
	"recrawl", "settings/spread", "scheduler/addresses", "scheduler/turns", "scheduler", "node"}

const (
	testLimit = 5 * time.Minute // of one package's tests, and of a build
	seedLimit = 4 * time.Minute // of one simulation
)

// judge runs tests with a mutant in the code.
type judge struct {
	root   string // of the module
	work   string // a temporary directory
	commit string
	seeds  []string // numbers of seeds, and names of cases
	suites []suite
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
	for _, p := range deciders {
		s, err := j.measure(ctx, p)
		if err != nil {
			return err
		}
		j.suites = append(j.suites, s)
	}
	if by, err := j.simulations(ctx, "", "sound"); by != "" || err != nil {
		return errors.Join(err, fmt.Errorf("without any mutant this fails: %s; mend that first", by))
	}
	return nil
}

// builds returns an error when a mutant does not compile.
func (j *judge) builds(ctx context.Context, m *mutant) error {
	overlay, err := j.overlay(m)
	if err != nil {
		return err
	}
	if out, err := j.run(ctx, testLimit, ".", nil, "go", "build", "-overlay="+
		overlay, "./"+path.Dir(m.file)); err != nil {
		return errors.Join(ctx.Err(), fmt.Errorf("mutant %s does not compile:\n%s", m.name, out))
	}
	return nil
}

// judge returns what caught a mutant; "" when nothing did.
func (j *judge) judge(ctx context.Context, m *mutant) (by string, err error) {
	overlay, err := j.overlay(m)
	if err != nil {
		return "", err
	}
	own := "crawlnode/" + path.Dir(m.file)
	suites := slices.DeleteFunc(slices.Clone(j.suites), func(s suite) bool { return !s.has(own) })
	slices.SortStableFunc(suites, func(a, b suite) int { return rank(a, own) - rank(b, own) })
	for _, s := range suites {
		if by, err = j.tests(ctx, &s, overlay, m.name); by != "" || err != nil {
			return by, err
		}
	}
	return j.simulations(ctx, overlay, m.name)
}

// rank puts the tests of a package in front of those of others.
func rank(s suite, own string) int {
	if "crawlnode/"+s.name == own {
		return 0
	}
	return 1
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
	b, err := json.Marshal(map[string]map[string]string{
		"Replace": {filepath.Join(j.root, filepath.FromSlash(m.file)): file},
	})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(j.work, m.name+".json")
	return overlay, os.WriteFile(overlay, b, 0o644)
}

// simulations builds the tests once and runs seed after seed, until one fails.
func (j *judge) simulations(ctx context.Context, overlay, name string) (by string, err error) {
	if len(j.seeds) == 0 {
		return "", nil
	}
	binary := filepath.Join(j.work, name+".test")
	defer os.Remove(binary)
	if err := j.compile(ctx, overlay, "integration", binary); err != nil {
		return "", err
	}
	for _, seed := range j.seeds {
		which := "SIM_CASE=" + seed
		if _, err := strconv.ParseUint(seed, 10, 64); err == nil {
			which = "SIM_SEED=" + seed
		}
		out, err := j.run(ctx, seedLimit, "integration", []string{which}, binary,
			"-test.run=^TestSimSeed$")
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if err != nil {
			return "simulation " + seed + ": " + verdict(out), nil
		}
	}
	return "", nil
}

// run runs a command in a folder of the module and returns what it printed.
func (j *judge) run(
	ctx context.Context,
	limit time.Duration,
	folder string,
	env []string,
	name string,
	args ...string,
) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = filepath.Join(j.root, folder)
	cmd.Env = append(os.Environ(), env...)
	// A test starts processes of its own; all end with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	return string(out), err
}
