//race:marked

package storage

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// The store knows by the machine's run that it was not closed before the machine ended.
func TestBootFile(t *testing.T) {
	t.Parallel()
	if MachineRun() == "" && runtime.GOOS != "linux" {
		t.Skip("this system does not name its runs")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, bootFile)
	for _, step := range []struct {
		change string // what the file is made to say between two processes; "": nothing
		lost   bool
	}{{"", false}, {"", false}, {"another-run", true}, {"", false}, {closedProperly, false}, {"another-run" + syncedAlways, false}} {
		if step.change != "" {
			if err := os.WriteFile(path, []byte(step.change+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		lost, err := readBoot(dir, MachineRun())
		if err != nil || lost != step.lost {
			t.Fatalf("%+v: lost power is %t, %v", step, lost, err)
		}
		if err := writeBoot(newFileSync(dir), MachineRun()); err != nil {
			t.Fatal(err)
		}
	}
}
