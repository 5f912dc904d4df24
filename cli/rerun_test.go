package cli

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"crawlnode/cli/command"
	"crawlnode/local/closedport"
	"crawlnode/simweb"
)

// TestRerunWithOtherFlags: the crawl keeps the settings that it has, and who starts it
// with other ones hears which do not count, what counts, and what changes it.
func TestRerunWithOtherFlags(t *testing.T) {
	t.Parallel()
	web, server := serveWeb(t, simweb.Config{Seed: 9, Hosts: 1, PagesPerHost: 20, PageBytes: 500})
	args := append([]string{"crawl", web.Seeds()[0], "--max-pages", "3"}, nodeFlags(t, server)...)
	first := run(t, "", args...)
	first.want(t, command.ExitOK, "ended: max_pages", "")
	if strings.Contains(first.errout, "do not count") {
		t.Errorf("the first start has nothing to warn of:\n%s", first.errout)
	}
	again := append(args, "--max-pages", "5", "--exclude", "*.zip", "--partitions", "512")
	again = append([]string{"start", "--exit-when-done"}, again[2:]...)
	r := run(t, "", again...)
	for _, want := range []string{
		"--max-pages 5 (the crawl has: 3)", "--exclude *.zip (the crawl has: not set)",
		"--partitions 512 (the crawl has: 1024)",
		"crawlnode crawl-config set 'exclude=*.zip' max-pages=5 --addr 127.0.0.1:",
	} {
		r.want(t, command.ExitOK, "", want)
	}
	if strings.Count(r.errout, "do not count") != 1 ||
		strings.Contains(r.errout, "--allow-net 127.0.0.0/8 (") {
		t.Errorf("want one line, and nothing of what is the same:\n%s", r.errout)
	}
}

const rerunsHead = `# Reruns

One crawl command that is given again and again: with the same flags it goes on or says that it is over; other flags take effect and one line says which; what cannot change is refused.
At the end no page is missing; the last column counts the pages that the web server was asked for twice so far.

    go test ./cli -count=1 -run '^TestRerunOfCrawl$' -wronguses

After a failure: TestRerunAfterAFailure. A node that is started again with other flags: TestRerunWithOtherFlags.

| rerun | code | seconds | what it says of the run before | how it ends | twice |
|---|---|---|---|---|---|
`

// TestRerunOfCrawl runs one crawl again and again: the same command goes on or says that it is
// over, other flags take effect and one line says which, and what cannot change is refused.
func TestRerunOfCrawl(t *testing.T) {
	t.Parallel()
	web, server := serveWeb(t,
		simweb.Config{Seed: 11, Hosts: 2, PagesPerHost: 12, Skew: -1, PageBytes: 500})
	flags := nodeFlags(t, server)
	seeds := web.Seeds()
	const changed = "changed since the last run: "
	var rows outcomeRows
	t.Cleanup(func() { rows.publish(t, "reruns.md", rerunsHead) })
	for _, step := range []struct {
		name  string
		more  []string
		code  int
		says  string // on standard error; "": nothing about the run before
		ended string
		twice int // pages that were fetched twice so far
	}{
		{name: "the first run", more: []string{seeds[0], "--max-pages", "3"}, ended: "ended: max_pages"},
		{
			name:  "the same command",
			more:  []string{seeds[0], "--max-pages", "3"},
			says:  "after 3 pages, by --max-pages: it goes on with a higher limit",
			ended: "ended: max_pages",
		},
		{name: "a higher limit and another scope", more: []string{seeds[0], "--max-pages", "5", "--exclude", "*.zip"},
			says: changed + "--exclude *.zip (was: not set), --max-pages 5 (was: 3)", ended: "pages: 5 in"},
		{
			name:  "another politeness",
			more:  []string{seeds[0], "--max-pages", "7", "--delay", "7ms"},
			says:  changed + "--delay 7ms (was: 5ms), --max-pages 7 (was: 5)",
			ended: "pages: 7 in",
		},
		{
			name:  "a contact",
			more:  []string{seeds[0], "--max-pages", "8", "--contact", "me@example.org"},
			says:  "--contact me@example.org (was: not set)",
			ended: "pages: 8 in",
		},
		{
			name: "what cannot change",
			more: []string{seeds[0], "--store", "none"},
			code: command.ExitUsage,
			says: "--store none (the crawl has: warc): it cannot change for a crawl that has begun",
		},
		{
			name:  "no limit",
			more:  []string{seeds[0], "--max-pages", "0"},
			says:  changed + "--max-pages 0 (was: 8)",
			ended: "ended: frontier_exhausted",
		},
		{
			name:  "over",
			more:  []string{seeds[0], "--max-pages", "0"},
			says:  "everything that it found was fetched, 12 pages; --again fetches the seeds once more",
			ended: "ended: frontier_exhausted",
		},
		{name: "one more seed", more: seeds, ended: "ended: frontier_exhausted"},
		{name: "again", more: append([]string{"--again"}, seeds...), ended: "ended: frontier_exhausted", twice: 2},
	} {
		begun := time.Now()
		r := run(t, "", append(append([]string{"crawl"}, flags...), step.more...)...)
		told := step.says
		if told == "" {
			told = "nothing: it is no rerun, or has new work"
		}
		rows.add("| %02d %s | %d | %.1f | %s | %s | %d |", len(rows.rows)+1, step.name, step.code,
			time.Since(begun).Seconds(), told, step.ended, web.Report().Duplicates)
		r.want(t, step.code, step.ended, step.says)
		if step.says == "" &&
			(strings.Contains(r.errout, changed) || strings.Contains(r.errout, "this crawl ended")) {
			t.Errorf("%s: it speaks of another run:\n%s", step.name, r.errout)
		}
		if report := web.Report(); report.Duplicates != step.twice {
			t.Errorf("%s: %d pages were fetched twice, want %d", step.name, report.Duplicates, step.twice)
		}
	}
	if report := web.Report(); report.Missing > 0 {
		t.Errorf("%d pages are missing: %v", report.Missing, report.MissingExamples)
	}
}

// TestRerunAfterAFailure: a crawl whose server was down is tried again at once when it is given
// again, without a wait for the back-off of the first run, unless the server has asked for one.
//
//race:meets
func TestRerunAfterAFailure(t *testing.T) {
	t.Parallel()
	_, server := serveWeb(t, simweb.Config{Hosts: 1, PagesPerHost: 1})
	port := closedport.Reserve(t)
	args := append([]string{"crawl", port.Addr + "/x"}, nodeFlags(t, server)...)
	run(t, "", args...).want(t, command.ExitError, "no seed could be fetched",
		"http://"+port.Addr+"/x: neither https nor http: ")
	args[1] = "http://" + args[1] + "y"
	run(t, "", args...).want(t, command.ExitError, "no seed could be fetched",
		args[1]+": connecting to")
	listener := port.Listen(t)
	busy := atomic.Bool{}
	up := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" || r.URL.Path == "/sitemap.xml" {
			http.NotFound(w, r)
		} else if busy.Load() {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})}
	go func() { _ = up.Serve(listener) }() // ends with Close
	t.Cleanup(func() { _ = up.Close() })
	r := run(t, "", args...)
	r.want(t, command.ExitOK, "ended: frontier_exhausted", "")
	// The crawl says so every few seconds while it waits for a back-off, which would be 16 s and more.
	if strings.Contains(r.errout, "next try in") {
		t.Errorf("the back-off of the first run is left:\n%s", r.errout)
	}
	busy.Store(true)
	args = append([]string{"crawl", args[1]}, nodeFlags(t, server)...)
	for range 2 {
		run(t, "", args...).want(t, command.ExitError, "no seed could be fetched",
			"run the same command again then")
	}
}
