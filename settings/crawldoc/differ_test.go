package crawldoc

import (
	"slices"
	"testing"
	"time"
)

func TestDiffering(t *testing.T) {
	t.Parallel()
	a, b := testSettings(), testSettings()
	if d := Differing(&a, &b); len(d) != 0 {
		t.Errorf("the same settings differ in %q", d)
	}
	b.MaxPages, b.Exclude, b.Delay = 5, []string{"glob:*"}, time.Hour // exclude is left out when empty
	if d := Differing(&a, &b); !slices.Equal(slices.Sorted(slices.Values(d)),
		[]string{"delay", "exclude", "max_pages"}) {
		t.Errorf("differ in %q", d)
	}
	if one, other := Differing(&a, &b), Differing(&b, &a); len(one) != len(other) {
		t.Errorf("%q and %q", one, other)
	}
}
