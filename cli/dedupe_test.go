package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"crawlnode/cli/command"
	"crawlnode/output/archive"
	"crawlnode/simweb"
)

// storedIn reads the archive of a data directory: how many records of captures have each type, the
// revisits by URL, and how many bytes all files have.
func storedIn(
	t *testing.T,
	dir string,
) (kinds map[string]int, revisits map[string]archive.Record, bytes int64) {
	t.Helper()
	kinds, revisits = map[string]int{}, map[string]archive.Record{}
	err := filepath.WalkDir(filepath.Join(dir, "warc"),
		func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".warc.gz") {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			bytes += info.Size()
			_, err = archive.Scan(path, func(r archive.Record) error {
				if r.Type == "response" && len(r.Payload) == 0 {
					return nil // nothing is gained by a reference
				}
				if kinds[r.Type]++; r.Type == "revisit" {
					revisits[r.TargetURI] = r
				}
				return nil
			})
			return err
		})
	if err != nil {
		t.Fatal(err)
	}
	return kinds, revisits, bytes
}

// TestDedupeAgainst crawls a web twice, with the index of the first crawl for the second: no
// payload is stored again, revisits name the first captures, and what reads the second archive says
// where the content is, or shows it when it is given both.
func TestDedupeAgainst(t *testing.T) {
	t.Parallel()
	web, server := serveWeb(t,
		simweb.Config{Seed: 9, Hosts: 3, PagesPerHost: 8, PageBytes: 20_000, Delay: 5 * time.Millisecond})
	crawl := func(flags ...string) (dir string) {
		args := append(append([]string{"crawl"}, web.Seeds()...), nodeFlags(t, server)...)
		run(t, "", append(args, flags...)...).want(t, command.ExitOK, "ended: frontier_exhausted", "")
		return args[slices.Index(args, "--data-dir")+1]
	}
	first := crawl()
	index := filepath.Join(t.TempDir(), "first.cdxj")
	r := run(t, "", "export", "cdxj", "--data-dir", first)
	r.want(t, command.ExitOK, `"digest":"sha1:`, "")
	if err := os.WriteFile(index, []byte(r.out), 0o600); err != nil {
		t.Fatal(err)
	}
	second := crawl("--dedupe-against", index)

	kinds, _, before := storedIn(t, first)
	again, revisits, after := storedIn(t, second)
	if again["response"] > 0 || len(revisits) == 0 ||
		again["revisit"] != kinds["response"]+kinds["revisit"] {
		t.Errorf("the first archive has %v, the second %v", kinds, again)
	}
	if after > before/3 {
		t.Errorf("the first archive has %d bytes, the second %d", before, after)
	}
	for url, rec := range revisits {
		of, date := rec.Fields.Get("WARC-Refers-To-Target-URI"), rec.Fields.Get("WARC-Refers-To-Date")
		if !strings.HasSuffix(rec.Fields.Get("WARC-Profile"), "/revisit/identical-payload-digest") ||
			date == "" || rec.Fields.Get("WARC-Refers-To") != "" ||
			!strings.Contains(r.out, `"url":"`+of+`"`) ||
			!strings.Contains(r.out, `"`+rec.PayloadDigest+`"`) {
			t.Errorf("%s is a revisit with %v", url, rec.Fields)
		}
	}

	page := web.Seeds()[0]
	shown := run(t, "", "cat", page, "--data-dir", first)
	shown.want(t, command.ExitOK, "<html", "")
	run(t, "", "cat", page, "--data-dir", second).want(t, command.ExitError, "", page+" of 20")
	both := run(t, "", "cat", page, "--data-dir", second, "--data-dir", first)
	if both.want(t, command.ExitOK, "<html", ""); both.out != shown.out {
		t.Error("with both archives another page is shown")
	}
	run(t, "", "warc", "verify", "--data-dir", second).want(t, command.ExitOK, "", "")
	run(t, "", "export", "jsonl", "--data-dir", second).want(t, command.ExitOK, "",
		"have their content in another archive and are left out, the first: ")
	run(t, "", "export", "jsonl", "--data-dir", second, "--data-dir", first).want(t, command.ExitOK,
		page, "")
}

// TestDedupeAgainstWrong: what cannot be used is told at the start.
func TestDedupeAgainstWrong(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.cdxj")
	if err := os.WriteFile(bad, []byte("http://a.test/\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for file, says := range map[string]string{
		bad: bad + ":1: it has 1 of the 6 fields of CDX", dir: dir + " is a folder: name an index file",
		bad + "x": "stat " + bad + "x: no such file",
	} {
		run(t, "", "crawl", "http://127.0.0.1:8081/", "--allow-net", "127.0.0.0/8", "--http",
			"127.0.0.1:0", "--gossip", "127.0.0.1:0", "--rpc", "127.0.0.1:0",
			"--data-dir", filepath.Join(t.TempDir(), "data"), "--dedupe-against", file).want(t,
			command.ExitUsage, "", "--dedupe-against: an index that is named cannot be used: "+says)
	}
}
