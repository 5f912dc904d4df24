package command_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"crawlnode/cli/command"
)

// TestLongLists prints lists of errors of several lengths, one by one and as lines of one error.
func TestLongLists(t *testing.T) {
	t.Parallel()
	for n, last := range map[int]string{
		0: "", 1: "crawlnode: error 1", 9: "crawlnode: error 9", 10: "crawlnode: error 10",
		11: "crawlnode: … and 1 more", 30: "crawlnode: … and 20 more",
		2_000_000: "crawlnode: … and 1,999,990 more",
	} {
		var out, joined bytes.Buffer
		list := (&command.Env{Stderr: &out}).Errors()
		asked := 0
		var all strings.Builder
		for i := 1; i <= n; i++ {
			list.Add(func() string { asked++; return fmt.Sprintf("error %d", i) })
			if n <= 30 {
				fmt.Fprintf(&all, "error %d\n", i)
			}
		}
		list.End()
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if got := lines[len(lines)-1]; got != last || len(lines) > command.MostErrors+1 ||
			asked > command.MostErrors || list.Count() != int64(n) {
			t.Errorf("%d errors: %d lines, %d texts made, the last %q, want %q", n, len(lines), asked, got,
				last)
		}
		if n == 0 || n > 30 {
			continue
		}
		if code := (&command.Env{Stderr: &joined}).Fail(3, "%s", all.String()); code != 3 ||
			joined.String() != out.String() {
			t.Errorf("%d errors in one: code %d, %q; want %q", n, code, joined.String(), out.String())
		}
	}
}
