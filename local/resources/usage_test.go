package resources

import "testing"

func TestParseProcStat(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text      string
		busy, all int64
	}{
		{"cpu  10 1 5 80 4 0 0 0 0 0\ncpu0 1 1 1 1 1\n", 16, 100},
		{"cpu  10 1 5 80 4 1 2 3 99 99\n", 22, 106}, // guests are among the users
		{"cpu 1 2 3\n", 0, 0},
		{"cpu0 1 1 1 1 1 1 1\n", 0, 0},
		{"cpu a b c d e\n", 0, 0},
		{"", 0, 0},
	} {
		if busy, all := parseProcStat(c.text); busy != c.busy || all != c.all {
			t.Errorf("%q: %d of %d, want %d of %d", c.text, busy, all, c.busy, c.all)
		}
	}
}
