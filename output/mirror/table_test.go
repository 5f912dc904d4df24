package mirror

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// A table does what a map does, also when it grows.
func TestTable(t *testing.T) {
	t.Parallel()
	dir, n := t.TempDir(), 0
	tab, err := newTable(func() (*os.File, error) {
		n++
		return os.Create(filepath.Join(dir, fmt.Sprint(n)))
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int64{}
	r := rand.New(rand.NewPCG(1, 2))
	for range 3 * firstSlots {
		text, value := fmt.Sprint(r.IntN(2*firstSlots)), r.Int64N(1<<40)
		want[text] = value
		if err := tab.set(keyOf('x', text), value); err != nil {
			t.Fatal(err)
		}
	}
	if n < 2 || tab.used != int64(len(want)) {
		t.Errorf("%d files, %d used of %d", n, tab.used, len(want))
	}
	for i := range 2 * firstSlots {
		text := fmt.Sprint(i)
		value, ok, err := tab.get(keyOf('x', text))
		if expected, has := want[text]; err != nil || ok != has || value != expected {
			t.Fatalf("%s: %d, %v, %v, want %d", text, value, ok, err, expected)
		}
		if _, ok, _ := tab.get(keyOf('y', text)); ok {
			t.Fatalf("%s is there as another kind", text)
		}
	}
	if err := tab.close(); err != nil {
		t.Fatal(err)
	}
	if err := tab.set(keyOf('x', "1"), 1); err == nil {
		t.Error("a failing file is no error")
	}
}
