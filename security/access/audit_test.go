package access

import (
	"fmt"
	"os"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/local/datadir"
)

// TestAuditLog appends, survives a line that a crash cut off, and turns to another file.
func TestAuditLog(t *testing.T) {
	t.Parallel()
	dir, err := datadir.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	a := &Audit{dir: dir, max: 400}
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	add := func(i int) {
		t.Helper()
		if err := a.add(crawl.AuditEntry{
			At:   began.Add(time.Duration(i) * time.Second),
			What: fmt.Sprint(i),
		}); err != nil {
			t.Fatal(err)
		}
	}
	newest := func(limit int) (got string) {
		t.Helper()
		entries, err := a.Newest(limit)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			got += e.What + " "
		}
		return got
	}
	if got := newest(3); got != "" {
		t.Errorf("of nothing: %q", got)
	}
	add(1)
	f, err := os.OpenFile(dir.Join("audit.log"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"at":"2026-0`); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	add(2)
	if got := newest(3); got != "2 1 " {
		t.Errorf("behind a line that was cut off: %q", got)
	}
	for i := 3; i <= 20; i++ {
		add(i)
	}
	if got := newest(3); got != "20 19 18 " {
		t.Errorf("of many: %q", got)
	}
	for _, name := range []string{"audit.log", "audit.1.log"} {
		if info, err := os.Stat(dir.Join(name)); err != nil || info.Size() > 800 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}
