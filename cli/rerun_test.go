package cli

import (
	"strings"
	"testing"

	"crawlnode/cli/command"
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
		"--max-pages 5 (the crawl has: 3)", "--exclude *.zip (the crawl has: not set)", "--partitions 512 (the crawl has: 1024)",
		"crawlnode crawl-config set 'exclude=*.zip' max-pages=5 --addr 127.0.0.1:",
	} {
		r.want(t, command.ExitOK, "", want)
	}
	if strings.Count(r.errout, "do not count") != 1 || strings.Contains(r.errout, "--allow-net 127.0.0.0/8 (") {
		t.Errorf("want one line, and nothing of what is the same:\n%s", r.errout)
	}
}
