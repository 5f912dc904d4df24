package integration

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	render "crawlnode/render/browser"
)

var renderCost = flag.Int("rendercost", 0, "pages of an application that TestRenderCost crawls "+
	"with crawlnode, with crawlee, and with chromium --dump-dom (a quarter of them); "+
	"appends to docs/results/rendercost.md")

const renderCostHead = `# What a page in the browser costs

The same pages of one application (React and its router with paths, integration/applications) over loopback, shown two at a time by crawlnode (--render auto), by crawlee with Puppeteer (two at a time, it waits for half a second without requests as crawlnode does), and one after
the other by ` + "`BROWSER --dump-dom`" +
	` with a quarter of the pages, whose addresses it is told. All with the same browser, each with its start and its end. *CPU*: processor seconds of all processes of the run (a control group's count) for each page. Appended by ` +
	"`make rendercost`" + `

| date | commit | browser | program | pages | CPU a page, s | pages/s | pages per CPU second | load of the machine |
|---|---|---|---|---|---|---|---|---|
`

// contender shows the pages of a site.
type contender struct {
	name  string
	pages int
	argv  []string
	shown func(t *testing.T, out string) int // counts the pages in what it has left
}

// TestRenderCost compares what a page in the browser costs.
func TestRenderCost(t *testing.T) {
	onRequest(t, *renderCost != 0,
		"minutes of a browser, and crawlee from npm: run it with -rendercost 60, or make rendercost")
	needsBrowser(t)
	browser, err := render.Find("")
	if err != nil {
		t.Fatal(err)
	}
	program, err := buildBinary()
	if err != nil {
		t.Fatal(err)
	}
	folder := buildApplications(t)
	costs := map[string]float64{}
	for _, name := range []string{"crawlnode", "crawlee", "dump-dom"} {
		a := startApplication(t, folder, "react", false, *renderCost)
		c := a.contender(t, name, program, browser)
		used, took := c.run(t)
		costs[name] = used.Seconds() / float64(c.pages)
		load, err := os.ReadFile("/proc/loadavg")
		if err != nil {
			t.Fatal(err)
		}
		appendResult(t, "rendercost.md", renderCostHead, fmt.Sprintf(
			"%s | %s | %d | %.3f | %.2f | %.2f | %s |", filepath.Base(browser), name, c.pages, costs[name],
			float64(c.pages)/took.Seconds(), 1/costs[name],
			strings.Fields(string(load))[0]))
	}
	t.Logf("a page costs %.3f s of a processor; with crawlee %.1f times that, the goal is twice",
		costs["crawlnode"], costs["crawlee"]/costs["crawlnode"])
}

// contender is how a program is told to show the application.
func (a *realApplication) contender(t *testing.T, name, program, browser string) contender {
	t.Helper()
	dir := t.TempDir()
	printed := func(_ *testing.T, out string) int {
		n := 0
		for i := range a.pages {
			if strings.Contains(out, fmt.Sprintf("Page %d of many</h1>", i)) {
				n++
			}
		}
		return n
	}
	switch name {
	case "crawlnode":
		return contender{name, a.pages, []string{program, "crawl", a.url(0), "--contact",
			"somebody@example.org", "--data-dir", dir, "--allow-net", "127.0.0.0/8", "--delay", "0s",
			"--ip-delay", "0",
			"--render", "auto", "--renderers", "2", "--render-timeout",
			"2m"}, func(t *testing.T, _ string) int {
			return len(shownIn(t, filepath.Join(dir, "warc"), "the end of p"))
		}}
	case "crawlee":
		return contender{name, a.pages,
			[]string{"node", filepath.Join("crawlee", "crawl.mjs"), a.url(0), browser}, printed}
	}
	quarter := max(a.pages/4, 1)
	script :=
		`for i in $(seq 0 $2); do "$0" --headless --no-sandbox --disable-gpu --user-data-dir="$3" --virtual-time-budget=10000 --dump-dom "$1p$i"; done`
	return contender{name, quarter,
		[]string{"sh", "-c", script, browser, a.url(0), strconv.Itoa(quarter - 1), dir}, printed}
}

// run runs the program in a control group of its own, and returns the processor time of all its
// processes.
func (c *contender) run(t *testing.T) (used, took time.Duration) {
	t.Helper()
	group := newProcessorGroup(t)
	ctx, stop := context.WithTimeout(t.Context(), slack(5*time.Minute))
	defer stop()
	cmd := exec.CommandContext(ctx, "sh", append(
		[]string{"-c", `echo $$ >"$0" && exec "$@"`, filepath.Join(group, "cgroup.procs")}, c.argv...)...)
	errs := filepath.Join(t.TempDir(), "errors")
	file, err := os.Create(errs)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var out strings.Builder
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, file, 10*time.Second
	began := time.Now()
	err = cmd.Run()
	took = time.Since(began)
	used = processorTime(t, group)
	if n := c.shown(t, out.String()); err != nil || n != c.pages {
		text, _ := os.ReadFile(errs)
		t.Fatalf("%s: %v; %d pages of %d\n%.3000s\n%.3000s", c.name, err, n, c.pages, text, out.String())
	}
	t.Logf("%s: %d pages, %v of a processor, %v", c.name, c.pages, used, took)
	return used, took
}

// newProcessorGroup makes a control group that counts processor time. It goes with the test.
func newProcessorGroup(t *testing.T) (dir string) {
	t.Helper()
	root := "/sys/fs/cgroup/cpuacct"
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		root = "/sys/fs/cgroup"
	}
	dir, err := os.MkdirTemp(root, "crawlnode-test-")
	if err != nil {
		t.Fatalf("no control group can be made here: %v; run as root, where %s is writable", err, root)
	}
	// its last processes end
	t.Cleanup(func() { until(t, 10*time.Second, func() string { return errorText(os.Remove(dir)) }) })
	return dir
}

// processorTime is what all processes of a group have used.
func processorTime(t *testing.T, group string) time.Duration {
	t.Helper()
	if usage, err := os.ReadFile(filepath.Join(group, "cpuacct.usage")); err == nil {
		n, err := strconv.ParseInt(strings.TrimSpace(string(usage)), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return time.Duration(n)
	}
	stat, err := os.ReadFile(filepath.Join(group, "cpu.stat"))
	if err != nil {
		t.Fatal(err)
	}
	var micros int64
	if _, err := fmt.Sscanf(string(stat), "usage_usec %d", &micros); err != nil {
		t.Fatalf("%s: %v", stat, err)
	}
	return time.Duration(micros) * time.Microsecond
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
