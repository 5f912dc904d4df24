package node

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"crawlnode/local/datadir"
	"crawlnode/web/wall"
)

// TestOpenWalls: a file of --wall-marks is read, and what is wrong with it is an error of usage
// that names the file and the line.
func TestOpenWalls(t *testing.T) {
	t.Parallel()
	if marks, err := openWalls(""); marks != nil || err != nil {
		t.Errorf("without a file: %v, %v", marks, err)
	}
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "good"), filepath.Join(dir, "bad")
	for path, text := range map[string]string{
		good: "wall other\nheader X-Guard: *\n", bad: "wall other\nheader X-Guard\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	marks, err := openWalls(good)
	if err != nil {
		t.Fatal(err)
	}
	a := &wall.Answer{Status: 403, Header: map[string][]string{"X-Guard": {"x"}}}
	if got := marks.Of(a); got != wall.Other {
		t.Errorf("the file's mark makes it %q", got)
	}
	for path, want := range map[string]string{
		bad: "line 2: ", filepath.Join(dir, "none"): "no such file", dir: "directory",
	} {
		_, err := openWalls(path)
		if !errors.Is(err, datadir.ErrUsage) || !strings.Contains(err.Error(), "--wall-marks: ") ||
			!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want an error of usage with %q", path, err, want)
		}
	}
}
