package egress

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// TestNameEvents: an operator reads when a name server fails or limits the node, with what helps.
func TestNameEvents(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	e := NameEvents(slog.New(slog.NewTextHandler(&log, nil)), nil)
	e.Outage(time.Unix(1, 0), errors.New("refused"))
	e.Outage(time.Time{}, nil)
	e.Limited("192.0.2.1", 4, true)
	e.Limited("192.0.2.1", 90, false)
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 4 {
		t.Fatalf("logged %q", lines)
	}
	for i, want := range [][]string{{"WARN", "--dns", "refused"}, {"INFO", "answers again"},
		{"WARN", "192.0.2.1", "--dns"}, {"INFO", "as much as before", "90"}} {
		for _, w := range want {
			if !strings.Contains(lines[i], w) {
				t.Errorf("line %d lacks %q: %s", i, w, lines[i])
			}
		}
	}
}
