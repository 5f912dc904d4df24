package browser

import (
	"testing"
	"testing/synctest"
)

// TestKillUntil: what one kill has missed, a later one ends, and the slot is free.
func TestKillUntil(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		kills, gone := 0, make(chan struct{})
		killUntil(func() {
			if kills++; kills == 3 {
				close(gone)
			}
		}, func() { <-gone })
		if kills != 3 {
			t.Errorf("%d kills, want 3: the first two have missed a process", kills)
		}
	})
}
