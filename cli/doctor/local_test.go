package doctor

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"crawlnode/node/preflight"
)

// TestCheckFiles wants more files than any machine allows.
func TestCheckFiles(t *testing.T) {
	t.Parallel()
	var d Diagnosis
	d.checkFiles(1 << 50)
	if f := d.Findings[0]; f.Level != LevelFail || !strings.Contains(f.Do, "ulimit -n 2251799813685760") {
		t.Errorf("found %+v", f)
	}
}

// TestJudgeSpace holds that doctor fails where a start would be refused, or would fetch nothing, and nowhere else.
func TestJudgeSpace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		free  int64
		begun bool
		level string
	}{
		{preflight.LowDiskBytes - 1, true, LevelFail}, {preflight.LowDiskBytes, true, LevelWarn},
		{preflight.LowDiskBytes, false, LevelFail}, {preflight.NewNodeBytes - 1, false, LevelFail}, {preflight.NewNodeBytes, false, LevelWarn},
		{littleSpace, false, LevelOK}, {littleSpace, true, LevelOK},
	} {
		var d Diagnosis
		d.judgeSpace("/data", c.free, c.begun)
		if f := d.Findings[0]; f.Level != c.level {
			t.Errorf("%d bytes, with data: %v: %+v, want %s", c.free, c.begun, f, c.level)
		}
	}
}

// TestCheckOtherVolumes holds that the archive's own volume is judged by itself.
func TestCheckOtherVolumes(t *testing.T) {
	t.Parallel()
	dir, nowhere := t.TempDir(), filepath.Join(t.TempDir(), "nothing")
	for _, c := range []struct {
		path  string
		free  int64
		err   error
		level string
	}{
		{dir, preflight.LowDiskBytes - 1, nil, LevelFail}, {dir, preflight.LowDiskBytes, nil, LevelWarn}, {dir, littleSpace, nil, LevelOK},
		{nowhere, littleSpace, nil, LevelFail}, {dir, 0, errors.New("input/output error"), LevelFail},
	} {
		var d Diagnosis
		d.checkOtherVolumes([]string{c.path}, func(string) (int64, error) { return c.free, c.err })
		if f := d.Findings[0]; f.Level != c.level || f.What != "free space for "+filepath.Base(c.path) || !strings.Contains(f.Found+f.Do, c.path) {
			t.Errorf("%+v: %+v, want %s", c, f, c.level)
		}
	}
}
