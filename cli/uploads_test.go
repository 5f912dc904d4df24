package cli

import (
	"net/http"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"crawlnode/cli/command"
	"crawlnode/output/upload/s3test"
	"crawlnode/simweb"
)

// TestCrawlThatIsNotUploaded: a crawl whose files the object store refuses ends with an error that
// says so, and keeps them. The same command copies them when the store takes them, and is done.
func TestCrawlThatIsNotUploaded(t *testing.T) {
	t.Parallel()
	store := s3test.New(t.Cleanup)
	var takes atomic.Bool
	store.Fault = func(*http.Request) string {
		if takes.Load() {
			return ""
		}
		return s3test.Denied
	}
	web, server := serveWeb(t, simweb.Config{Seed: 31, Hosts: 1, PagesPerHost: 3, PageBytes: 500})
	args := append(append([]string{"crawl", web.Seeds()[0]}, nodeFlags(t, server)...), "--upload",
		"s3://bucket/crawls?region=us-east-1", "--upload-endpoint", store.URL)
	dir := args[slices.Index(args, "--data-dir")+1]
	run(t, "", args...).want(t, command.ExitError, "ended: frontier_exhausted",
		"crawlnode: the crawl has ended, but 2 of its files could not be copied to "+
			"s3://bucket/crawls (warc/")
	files, err := filepath.Glob(filepath.Join(dir, "warc", "*"))
	if stored, _ := store.Objects(); err != nil || len(files) != 2 || len(stored) != 0 {
		t.Errorf("on the disk %v, %v; stored %d", files, err, len(stored))
	}
	takes.Store(true)
	run(t, "", args...).want(t, command.ExitOK, "ended: frontier_exhausted", "")
	if stored, _ := store.Objects(); len(stored) != 2 {
		t.Errorf("stored %d", len(stored))
	}
}
