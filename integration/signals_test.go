package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"crawlnode/simweb"
)

// Three nodes fetch as fast as the machine can. The first signal drains a node within its time,
// with exit code 0; two signals end one at once, with 130. Neither loses a page, and a node that
// was ended continues from its data with the same command.
func TestSignalsAtFullSpeed(t *testing.T) {
	needsProcesses(t)
	const patience = 15 * time.Second
	for name, stop := range map[string]func(*testing.T, *node) (again bool){
		"polite": func(t *testing.T, n *node) bool {
			n.signal(syscall.SIGTERM)
			if code := n.exit(t, patience+10*time.Second); code != 0 {
				t.Errorf("exit code %d after SIGTERM, want 0\n%s", code, tail(n.log, 10))
			}
			return strings.Contains(tail(n.log, 5), "start it again") // the time was too short for all of it
		},
		"forced": func(t *testing.T, n *node) bool {
			n.signal(syscall.SIGINT)
			until(t, 10*time.Second, func() string { // two at once are one to the kernel
				if strings.Contains(tail(n.log, 200), "a second signal stops at once") {
					return ""
				}
				return "the first signal is not obeyed"
			})
			n.signal(syscall.SIGINT)
			if code := n.exit(t, 3*patience); code != 130 {
				t.Errorf("exit code %d after the second signal, want 130\n%s", code, tail(n.log, 10))
			}
			return true
		},
	} {
		t.Run(name, func(t *testing.T) {
			size := 40 // for some seconds, however fast the machine is
			if raceDetector {
				size = 20
			}
			web, srv := serveSimweb(t, simweb.Config{Seed: 81, Hosts: 300, PagesPerHost: size, Skew: -1})
			c := simCluster(t, srv, 0, "--drain-timeout", patience.String(), "--partitions", "512")
			c.addReady(3)
			c.converged(time.Minute)
			c.nodes[0].seed(web.Seeds()...)
			atPage(t, web, 300*size/20)
			at, asked := web.Progress(), time.Now()
			again := stop(t, c.nodes[2])
			took := time.Since(asked)
			if again {
				c.nodes[2].start()
			}
			if at >= 300*size*8/10 {
				t.Errorf("%d of %d pages were fetched before the signal: the web is too small for this test",
					at, 300*size)
			}
			c.finished(4 * time.Minute)
			report := web.Report()
			if err := report.ErrButDuplicates(); err != nil {
				t.Error(err)
			}
			// What was in flight, or not yet copied, at a forced end is asked for again: as
			// many as there are fetchers, and what a fraction of a second brings.
			if report.Duplicates > max(report.Pages/20, 400) {
				t.Errorf("%d of %d pages were fetched twice", report.Duplicates, report.Pages)
			}
			t.Logf("%d pages, %d twice; the signal came at page %d, the end after %v", report.Pages,
				report.Duplicates, at, took.Round(time.Millisecond))
			c.stop()
		})
	}
}

const clusterSignalsHead = `# A signal at every moment, beside other nodes

SIGINT to one of two or three nodes that crawl: while it joins, drains, or replays what a kill has left. The exit code, the time from the signal to the end, and in the last row what was lost: judged
at the web server when all have been started again. Moments of a single command are in [signals.md](signals.md). Appended by

    go test ./integration -count=1 -v -run '^TestSignalsBesideOthers$' -faults 1

| date | commit | moment | code | seconds |
|---|---|---|---|---|
`

// TestSignalsBesideOthers interrupts a node while it joins, drains, and replays what a kill has
// left. Its command is given again each time, and no page is lost.
func TestSignalsBesideOthers(t *testing.T) {
	needsProcesses(t)
	beside(t, *faultRuns)
	const delay = 300 * time.Millisecond // half a minute, however fast the machine is
	web, srv := serveSimweb(t,
		simweb.Config{Seed: 83, Hosts: 40, PagesPerHost: 120, Skew: -1, Delay: delay})
	c := simCluster(t, srv, delay, "--partitions", "512", "--log-format", "json")
	c.addReady(2)
	c.whole(time.Minute)
	c.nodes[0].seed(web.Seeds()...)
	atPage(t, web, 200)
	row := func(format string, args ...any) {
		line := fmt.Sprintf(format, args...)
		t.Log(line)
		if *faultRuns > 0 {
			appendResult(t, "signals-cluster.md", clusterSignalsHead, line)
		}
	}
	n := c.place()
	start := func() { // with a log of its own
		_ = os.Remove(filepath.Join(c.dir, n.name+".log")) // the first time there is none
		n.start()
	}
	for _, m := range []struct {
		moment string
		before func()        // when it has been started
		now    func() string // what is missing until the signal comes
		codes  []int
	}{
		{"a node that joins, before it is a member", func() {}, func() string { return n.lacks(`"msg":"node sighted"`) }, []int{0}},
		{"a node that joins, while partitions come to it", func() {}, func() string { return n.lacks(`"msg":"view installed"`) }, []int{0}},
		{"a node that drains, the second signal", func() { n.ready(); n.signal(syscall.SIGTERM) },
			// 0: it has left already
			func() string { return n.lacks("draining: partitions move to the other members") },
			[]int{130, 0}},
		{"a node that replays what kill -9 has left", func() { n.ready(); n.signal(syscall.SIGKILL); n.exit(t, time.Minute); start() },
			func() string {
				if pid := tail(filepath.Join(n.dir, "pid"), 1); pid != strconv.Itoa(n.cmd.Process.Pid) {
					return fmt.Sprintf("%s has not got its data directory: %s", n.name, pid)
				}
				return ""
			}, []int{0}},
	} {
		start()
		m.before()
		until(t, time.Minute, m.now)
		asked := time.Now()
		n.signal(syscall.SIGINT)
		code := n.exit(t, leaveTime)
		row("%s | %d | %.1f |", m.moment, code, time.Since(asked).Seconds())
		if !slices.Contains(m.codes, code) {
			t.Errorf("%s: exit code %d, want one of %v\n%s", m.moment, code, m.codes, tail(n.log, 10))
		}
	}
	if web.Progress() >= reachableCount(web) {
		t.Error("the crawl was over before the last signal: the web is too small for this test")
	}
	start()
	n.ready()
	c.finished(4 * time.Minute)
	report := web.Report()
	if err := report.ErrButDuplicates(); err != nil {
		t.Error(err)
	}
	row("all of these, and then the end of the crawl: %d pages, %d missing, %d fetched twice, "+
		"smallest gap %v | | |", report.Pages, report.Missing, report.Duplicates, report.SmallestGap)
	c.stop()
}

// lacks returns that a node's log does not say something yet; "": it does.
func (n *node) lacks(text string) string {
	if out := tail(n.log, 1000); !strings.Contains(out, text) {
		return fmt.Sprintf("%s has not said %q:\n%s", n.name, text, out)
	}
	return ""
}
