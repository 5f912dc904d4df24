package crawlnode

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestEachPartRuns: whatever becomes of a part of `make test` or `make check`, the others run; the
// exit code is one for all, and the last line names what has failed. Dependencies that are missing
// are a failure with CI set only.
func TestEachPartRuns(t *testing.T) {
	t.Parallel()
	const tests = "deps tools compile integrated units"
	for _, c := range []struct {
		mode, fail, ci, runs, last string
		code                       int
	}{
		{"test", "", "", tests, "test passed after ", 0},
		{"test", "integrated", "", tests, ": integration tests", 1},
		{"test", "units", "", tests, ": unit tests", 1},
		{"test", "tools compile units", "", tests,
			": the tool of the tests, the rest of the compiling, unit tests", 1},
		{"test", "deps", "", tests, "test passed after ", 0},
		{"test", "deps", "1", tests, ": dependencies of the tests", 1},
		{"check", "", "", "lint build " + tests, "check passed after ", 0},
		{"check", "deps", "", "lint build " + tests, ": dependencies of the tests", 1},
		{"check", "lint units", "", "lint build " + tests, ": lint, unit tests", 1},
	} {
		t.Run(c.mode+" "+c.fail+c.ci, func(t *testing.T) {
			t.Parallel()
			root, bin := t.TempDir(), t.TempDir()
			log := filepath.Join(root, "log")
			for name, text := range map[string]string{
				filepath.Join(bin, "make"): `echo "$1" >>"$TEST_LOG"
case " $TEST_FAIL " in *" $1 "*) exit 2 ;; esac`,
				filepath.Join(bin, "go"): "exit 0",
			} {
				writeProgram(t, name, "#!/bin/bash\n"+text+"\n")
			}
			if err := os.Mkdir(filepath.Join(root, ".ci"), 0o755); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"run", "summary"} {
				text, err := os.ReadFile(filepath.Join(".ci", name))
				if err != nil {
					t.Fatal(err)
				}
				writeProgram(t, filepath.Join(root, ".ci", name), string(text))
			}
			cmd := exec.Command(filepath.Join(root, ".ci", "run"), c.mode)
			cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "TEST_LOG="+log,
				"TEST_FAIL="+c.fail, "CI="+c.ci)
			out, _ := cmd.CombinedOutput() // the code is looked at
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			code, last := cmd.ProcessState.ExitCode(), lines[len(lines)-1]
			if code != c.code || !strings.Contains(last, c.last) {
				t.Errorf("exit code %d, want %d, and %q in the last line:\n%s", code, c.code, c.last, out)
			}
			text, err := os.ReadFile(log)
			if err != nil {
				t.Fatal(err)
			}
			for _, part := range strings.Fields(c.runs) {
				if !strings.Contains("\n"+string(text), "\n"+part+"\n") {
					t.Errorf("%s has not run: %q", part, text)
				}
			}
		})
	}
}
