package doctor

import (
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
