package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// appendResult writes one row into a file of docs/results, whose first lines are
// head. The row begins with the date and the commit. Several test binaries may
// do so at the same time.
func appendResult(t *testing.T, name, head, row string) {
	t.Helper()
	row = fmt.Sprintf("| %s | %s | %s\n", time.Now().UTC().Format(time.DateOnly), judgedCommit(), row)
	t.Logf("%s%s", head, row)
	file, err := os.OpenFile(filepath.Join("..", "docs", "results", name),
		os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil { // until it is closed
		t.Fatal(err)
	}
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() == 0 {
		row = head + row
	}
	if _, err := file.WriteString(row); err != nil {
		t.Fatal(err)
	}
}

// benchRow writes a figure beside its goal into docs/results/bench.md, where
// `.ci/bench` writes its own.
func benchRow(t *testing.T, goal, format string, args ...any) {
	t.Helper()
	appendResult(t, "bench.md", "", fmt.Sprintf("%s | %s |", goal, fmt.Sprintf(format, args...)))
}

// judgedCommit names the commit that figures are of, with "-dirty" when files
// have been changed since. Rows that other runs have appended are no change.
func judgedCommit() string {
	out, err := exec.Command("git", "describe", "--always").Output()
	if err != nil {
		return "unknown"
	}
	commit := strings.TrimSpace(string(out))
	changed, err := exec.Command("git", "status", "--porcelain", "--untracked-files=no", "--", ":/",
		":(top,exclude)docs/results").Output()
	if err != nil || len(changed) > 0 {
		commit += "-dirty"
	}
	return commit
}
