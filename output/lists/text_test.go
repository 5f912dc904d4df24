package lists

import (
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nlnwa/gowarc"

	"crawlnode/crawl"
)

// TestAnotherReader reads a file of texts with another library, at its strictest, including pages
// without text and with invalid UTF-8.
func TestAnotherReader(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, Options{Node: "x1", Text: true, Software: "crawlnode/test"})
	for _, body := range []string{"one", "", "\xff\x00\xc3(\r\n\r\n",
		strings.Repeat("many words ", 50000)} {
		put(t, s, "http://example.org/", `<html lang="en">`+body,
			func(_ *crawl.Capture, o *crawl.Outcome) { o.Archive.Record[3] = 7 })
	}
	shut(t, s)
	paths, _ := filepath.Glob(filepath.Join(dir, "text-*"+textSuffix))
	if len(paths) != 1 {
		t.Fatalf("files %v", paths)
	}
	reader, err := gowarc.NewWarcFileReader(paths[0], 0, gowarc.WithStrictValidation(),
		gowarc.WithBufferTmpDir(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reader.Close() }()
	kinds := map[gowarc.RecordType]int{}
	for {
		record, offset, validation, err := reader.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("at %d: %v", offset, err)
		}
		if err := record.ValidateDigest(validation); err != nil || !validation.Valid() {
			t.Errorf("at %d: %v, %v", offset, err, validation)
		}
		kinds[record.Type()]++
	}
	if kinds[gowarc.Warcinfo] != 1 || kinds[gowarc.Conversion] != 4 || len(kinds) != 2 {
		t.Errorf("records %v", kinds)
	}
}
