package membership

import (
	"testing"
	"time"
)

// The units of late ticks are counted, those that a standstill of this process took are not.
func TestUnitsOf(t *testing.T) {
	t.Parallel()
	for gap, want := range map[time.Duration]int{
		-time.Millisecond:       1, // a clock that was set, in tests
		5 * time.Millisecond:    1, // after a late one
		100 * time.Millisecond:  1,
		199 * time.Millisecond:  1,
		350 * time.Millisecond:  3, // 250 ms late; the next one comes 50 ms later
		1900 * time.Millisecond: mostUnits,
	} {
		if got := unitsOf(gap); got != want {
			t.Errorf("%v after the last tick: %d units, want %d", gap, got, want)
		}
	}
}
