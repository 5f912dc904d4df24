package integration

import (
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
			size := 40
			if raceDetector {
				size = 10
			}
			web, srv := serveSimweb(t, simweb.Config{Seed: 81, Hosts: 300, PagesPerHost: size, Skew: -1})
			c := simCluster(t, srv, 0, "--drain-timeout", patience.String(), "--partitions", "512")
			c.addReady(3)
			c.converged(time.Minute)
			c.nodes[0].seed(web.Seeds()...)
			atPage(t, web, 300*size/10)
			at, asked := web.Progress(), time.Now()
			again := stop(t, c.nodes[2])
			took := time.Since(asked)
			if again {
				c.nodes[2].start()
			}
			if at >= 300*size*8/10 {
				t.Errorf("%d of %d pages were fetched before the signal: the web is too small for this test", at, 300*size)
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
			t.Logf("%d pages, %d twice; the signal came at page %d, the end after %v", report.Pages, report.Duplicates, at, took.Round(time.Millisecond))
			c.stop()
		})
	}
}
