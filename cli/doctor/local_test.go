package doctor

import (
	"strings"
	"testing"
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
