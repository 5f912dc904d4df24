package node

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // payload digests of WARC are SHA-1
	"encoding/base32"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"crawlnode/output/dedupe"
)

// TestEarlierUnreadable: when the file with what other archives have cannot be read any more, pages
// are stored, and the log says so once.
func TestEarlierUnreadable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sum := sha1.Sum([]byte("a page"))
	file := filepath.Join(dir, "a.cdxj")
	line := fmt.Sprintf(
		"k 20260101000000 {\"url\":\"http://a.test/\",\"status\":\"200\",\"digest\":\"%s\"}\n",
		base32.StdEncoding.EncodeToString(sum[:]))
	if err := os.WriteFile(file, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	index, err := dedupe.Open(dedupe.Options{Files: []string{file}, Dir: filepath.Join(dir, "made")})
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	e := &earlier{index: index, log: slog.New(slog.NewTextHandler(&log, nil))}
	if first := e.Find(sum); first == nil || first.URL != "http://a.test/" || log.Len() > 0 {
		t.Errorf("%+v, %s", first, log.String())
	}
	if err := index.Close(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if first := e.Find(sum); first != nil {
			t.Errorf("%+v is known", first)
		}
	}
	if n := strings.Count(log.String(), "cannot be looked up"); n != 1 {
		t.Errorf("it is told %d times: %s", n, log.String())
	}
}
