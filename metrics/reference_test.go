package metrics

import (
	"bytes"
	"flag"
	"os"
	"testing"
	"time"
)

// write makes TestReferenceIsCurrent write the file instead of reading it.
var write = flag.Bool("write", false, "write docs/metrics.md")

func TestReferenceIsCurrent(t *testing.T) {
	t.Parallel()
	const path = "../docs/metrics.md"
	var want bytes.Buffer
	if err := WriteReference(&want); err != nil {
		t.Fatal(err)
	}
	if *write {
		if err := os.WriteFile(path, want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Error("docs/metrics.md is not what the tables say: make generate")
	}
}

func TestDurations(t *testing.T) {
	t.Parallel()
	d := NewDurations(time.Millisecond, time.Second)
	for _, took := range []time.Duration{-time.Second, 0, time.Millisecond, time.Millisecond + 1,
		time.Second, time.Minute} {
		d.Observe(took)
	}
	h := d.Histogram()
	n, buckets, sum := h.cumulative()
	if n != 6 || buckets[0.001] != 3 || buckets[1] != 5 || sum < 61.002 || sum > 61.0021 {
		t.Errorf("%d observations, buckets %v, sum %v", n, buckets, sum)
	}
	defer func() {
		if recover() == nil {
			t.Error("bounds in disorder are taken")
		}
	}()
	NewDurations(2, 1)
}
