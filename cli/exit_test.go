package cli

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"crawlnode/cli/command"
	"crawlnode/simweb"
)

// Each exit code that needs no signal and no full disk, provoked by a whole command.
// Interrupted and forced are those of TestCrawlInterrupted and TestSignals; the safety
// limit is that of TestCrawlOnAFullDisk in package integration.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	web, server := serveWeb(t, simweb.Config{Seed: 8, Hosts: 2, PagesPerHost: 30, PageBytes: 500})
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusConflict)
		// the test sees it
		_, _ = w.Write([]byte(`{"title":"Conflict","status":409,"detail":"the crawl is not paused"}`))
	}))
	t.Cleanup(refusing.Close)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	node := func(verb string, more ...string) []string {
		return append(append([]string{verb}, nodeFlags(t, server)...), more...)
	}
	provoked := []int{command.ExitInterrupted, command.ExitSafety, command.ExitForced}
	for _, tc := range []struct {
		code int
		args []string
		err  string
	}{
		{command.ExitOK, node("crawl", web.Seeds()[0]), ""},
		// a limit that the user set
		{command.ExitOK, node("crawl", web.Seeds()[0], "--max-pages", "3"), ""},
		{command.ExitError, []string{"status", "--addr", "127.0.0.1:1"}, "nobody answers"},
		{command.ExitUsage, []string{"start", "--fetchers", "0"}, "--fetchers"},
		{command.ExitUsage, node("crawl", "ftp://a.test/"), "no seed can be crawled"},
		{command.ExitStorage, append(node("start"), "--data-dir", filepath.Join(file, "data")), file},
		{command.ExitCluster, []string{"resume", "--addr", refusing.Listener.Addr().String()}, "the crawl is not paused"},
	} {
		run(t, "", tc.args...).want(t, tc.code, "", tc.err)
		provoked = append(provoked, tc.code)
	}
	for _, m := range command.ExitMeanings {
		if !slices.Contains(provoked, m.Code) {
			t.Errorf("exit code %d (%s) is provoked by no test", m.Code, m.Meaning)
		}
	}
}
