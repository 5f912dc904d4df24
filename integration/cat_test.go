package integration

import (
	"path/filepath"
	"testing"
	"time"

	"crawlnode/simweb"
	"crawlnode/store/archive"
)

// TestCatEqualsTheArchive reads pages of three nodes through one that does not have most of them,
// and compares them with the records in the files, byte by byte.
func TestCatEqualsTheArchive(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	web, srv := serveSimweb(t, simweb.Config{Seed: 21, Hosts: 12, PagesPerHost: 10, PageBytes: 3000, Skew: -1, Redirects: 30, Missing: 20})
	c := simCluster(t, srv, 0, "--scope", "domain")
	c.addReady(3)
	c.nodes[0].seed(web.Seeds()...)
	c.finished(time.Minute)
	newest := map[string]archive.Record{}
	for _, n := range c.nodes {
		paths, err := archive.Files(filepath.Join(n.dir, "warc"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if _, err := archive.Scan(path, func(r archive.Record) error {
				if r.Type == "response" && !r.Date.Before(newest[r.TargetURI].Date) {
					newest[r.TargetURI] = r
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(newest) < 100 {
		t.Fatalf("only %d captures", len(newest))
	}
	read := 0
	for url, r := range newest {
		if filepath.Base(url) == "robots.txt" { // kept with its host, not as a page
			continue
		}
		if read++; read > 60 { // some of each node; a process for each takes its time
			break
		}
		code, out, errs := run(t, "", "cat", url, "--raw", "--addr", c.nodes[2].http)
		if want := string(r.Head) + string(r.Payload); code != 0 || out != want {
			t.Fatalf("cat %s: exit code %d, %d bytes, want %d\n%s", url, code, len(out), len(want), errs)
		}
	}
	code, _, errs := run(t, "", "cat", web.Seeds()[0]+"never-seen", "--addr", c.nodes[1].http)
	if code != 1 || errs == "" {
		t.Errorf("a URL that is not known: exit code %d, %q", code, errs)
	}
}
