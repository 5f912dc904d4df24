package integration

import (
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestSimSeed runs one simulation in this process: SIM_SEED says which, and SIM_FAULTS, when it is
// set, which of its faults happen ("0,3,4", or "none"). SIM_CASE names one of simCases instead of
// the seed's own schedule. TestSim runs it for many seeds; by hand it shows everything that it
// knows.
func TestSimSeed(t *testing.T) {
	text := os.Getenv("SIM_SEED")
	onRequest(t, text != "" || os.Getenv("SIM_CASE") != "",
		"SIM_SEED names the seed to run; TestSim runs many")
	if text == "" {
		text = strconv.Itoa(caseSeed)
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("SIM_SEED: %v", err)
	}
	plan := scheduleOf(t, seed, os.Getenv("SIM_CASE"))
	if plan.faults, err = chosen(plan.faults, os.Getenv("SIM_FAULTS")); err != nil {
		t.Fatalf("SIM_FAULTS: %v", err)
	}
	// What a node sets for its whole process, because of its flags, holds for all here.
	t.Setenv("GOMEMLIMIT", "off")
	t.Setenv("GOGC", "400")
	debug.SetGCPercent(400)
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) { simulate(t, dir, seed, plan) })
}

// chosen picks faults by their numbers.
func chosen(faults []fault, numbers string) ([]fault, error) {
	switch numbers {
	case "":
		return faults, nil
	case "none":
		return nil, nil
	}
	var some []fault
	for number := range strings.SplitSeq(numbers, ",") {
		i, err := strconv.Atoi(number)
		if err != nil {
			return nil, err
		}
		if i < 0 || i >= len(faults) {
			return nil, fmt.Errorf("fault %d of %d", i, len(faults))
		}
		some = append(some, faults[i])
	}
	return some, nil
}

// simulate crawls a web with whole nodes in one bubble while the faults happen. Then the network is
// healthy, every member that is needed is started again, and the checks at the web server report
// whether anything is missing.
func simulate(t *testing.T, dir string, seed uint64, plan schedule) {
	s := newSimulation(t, dir, seed, plan)
	defer s.shutdown()
	defer s.tellShare()
	s.net.SetDefault(s.sound)
	s.began = time.Now()
	for i := range plan.first {
		s.start(fmt.Sprint("n", i+1))
	}
	if !s.founded() || !s.converged(time.Minute, plan.first) {
		s.logs()
		return
	}
	s.began = time.Now()
	// An acknowledgement that comes too late is asked for again, and is then one of a duplicate.
	if report, err := addSeed(s.members[s.names[len(s.names)-1]].life, s.web.root()); err != nil ||
		report.Accepted+report.Duplicates != 1 {
		t.Errorf("seeding: %+v, %v", report, err)
	}
	s.note("%q, %d hosts, %d pages, links of %v to %v; the web's clock is at %s", plan.traits(),
		len(s.web.hosts), s.web.size(), plan.sound.Delay, plan.sound.Delay+plan.sound.Jitter,
		s.began.Format("04:05.000"))
	s.run(plan.faults)
	s.calm()
	s.converges()
	switch {
	case plan.again.on():
		s.revisited()
		s.visitsEnd()
		s.swept(2 * time.Minute)
		s.cashRests(10 * time.Minute)
	case s.finished(10 * time.Minute):
		s.note("finished")
		s.swept(2 * time.Minute)
		s.cashRests(10 * time.Minute)
		s.sameCopies(time.Minute)
	}
	s.recorded()
	repeats := s.web.judge.coverage(s.troubles)
	s.note("%d of %d pages, %d answered again", s.web.judge.progress(), s.web.size(), repeats)
	for _, verdict := range s.web.judge.verdicts() {
		t.Error(verdict)
	}
	if t.Failed() {
		s.logs()
	}
}

// founded waits until there is a cluster: 15 s after a late name of its first node
// resolves.
func (s *simulation) founded() bool {
	s.t.Helper()
	within := time.Minute
	for _, f := range s.plan.faults {
		if f.kind == lateName && f.nodes[0] == s.names[0] {
			within = f.lasts[0] + 15*time.Second
		}
	}
	return s.until(within, func() string {
		if ready, why := s.members[s.names[0]].life.Ready(); !ready {
			return why
		}
		return ""
	})
}

// converged waits until all running nodes are members and the ring rests.
func (s *simulation) converged(within time.Duration, members int) bool {
	s.t.Helper()
	return s.until(within, func() string {
		for _, name := range s.up() {
			st := s.status(name)
			if ok, why := s.members[name].life.Ready(); !ok || !st.Ring.Converged ||
				st.Cluster.Members.Alive != members {
				return fmt.Sprintf("%s: ready %v (%s), ring %+v, members %+v", name, ok, why, st.Ring,
					st.Cluster.Members)
			}
		}
		return ""
	})
}

// logs writes the nodes' logs, for debugging a failure: whole files into the folder SIM_LOGS, else
// their ends here.
func (s *simulation) logs() {
	dir := os.Getenv("SIM_LOGS")
	if dir != "" {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			s.t.Error(err)
		}
	}
	for _, name := range s.names {
		for i, l := range s.members[name].lives {
			text := l.log.String()
			if dir != "" {
				if err := os.WriteFile(fmt.Sprintf("%s/%s-%d.log", dir, name, i+1), []byte(text), 0o644); err !=
					nil {
					s.t.Error(err)
				}
				continue
			}
			s.t.Logf("%s, life %d, has logged:\n%s", name, i+1, text[max(0, len(text)-4000):])
		}
	}
}

// numbersOf is the inverse of chosen.
func numbersOf(faults []int) string {
	if len(faults) == 0 {
		return "none"
	}
	var texts []string
	for _, i := range slices.Sorted(slices.Values(faults)) {
		texts = append(texts, strconv.Itoa(i))
	}
	return strings.Join(texts, ",")
}
