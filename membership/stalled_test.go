package membership

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/membership/consensus"
)

// TestStalledIsExcluded: a member whose disk does not answer falls silent and is
// excluded, stays out for as long as that lasts, and joins anew without a restart.
func TestStalledIsExcluded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := newRunningVillage(t, "n1", "n2", "n3")
		n1, n2, n3 := v.houses[0], v.houses[1], v.houses[2]
		n3.SetStalled(true)
		time.Sleep(4 * time.Second)
		n1.members("stalled for a moment", consensus.Active, "n1", "n2", "n3")
		time.Sleep(5 * time.Second)
		n1.members("stalled", consensus.Active, "n1", "n2")
		n2.members("stalled", consensus.Active, "n1", "n2")
		if n3.LeaseValid() || !n1.LeaseValid() || !n2.LeaseValid() {
			t.Errorf("leases: %v, %v, %v", n1.Lease(), n2.Lease(), n3.Lease())
		}
		time.Sleep(time.Minute)
		n1.members("still stalled", consensus.Active, "n1", "n2")
		n3.SetStalled(false)
		time.Sleep(10 * time.Second)
		for _, h := range v.houses {
			h.members("it gets on", consensus.Active, "n1", "n2", "n3")
			if !h.LeaseValid() {
				t.Errorf("it gets on: %s is not leased", h.o.Name)
			}
		}
		v.end(n1, n2, n3)
	})
}

// TestStalledStillGrants: when too few are left to exclude a member whose disk does not
// answer, its word keeps their leases alive, and they go on with what they hold.
func TestStalledStillGrants(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := newRunningVillage(t, "n1", "n2", "n3")
		n1, n2, n3 := v.houses[0], v.houses[1], v.houses[2]
		n3.SetStalled(true)
		n2.crash(false)
		time.Sleep(30 * time.Second)
		n1.members("one dead, one stalled", consensus.Active, "n1", "n2", "n3")
		if !n1.LeaseValid() || n3.LeaseValid() {
			t.Errorf("leases: %v, %v", n1.Lease(), n3.Lease())
		}
		n3.SetStalled(false)
		time.Sleep(10 * time.Second)
		n1.members("it gets on", consensus.Active, "n1", "n3")
		n3.members("it gets on", consensus.Active, "n1", "n3")
		v.end(n1, n3)
	})
}

// TestStalledAnswersItsDuplicate: a node whose disk does not answer runs, and answers a copy of
// its data.
func TestStalledAnswersItsDuplicate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := newVillage(t, "n1", "n2")
		n1, n2 := v.houses[0], v.houses[1]
		n1.start()
		n2.start()
		time.Sleep(10 * time.Second)
		n2.SetStalled(true)
		double := n2.double(copied(t, n2.o.Storage))
		double.start()
		time.Sleep(time.Second)
		double.stop()
		if err := <-double.done; !errors.Is(err, ErrDuplicate) {
			t.Errorf("the copy ends with %v", err)
		}
		double.beats.Wait()
		n2.SetStalled(false)
		time.Sleep(10 * time.Second)
		n1.members("it gets on", consensus.Active, "n1", "n2")
		v.end(n1, n2)
	})
}

// TestSaving: others see for how long a write of the state lasts.
func TestSaving(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := stopwatch{base: time.Now()}
		if d := s.present(); d != 0 {
			t.Errorf("nothing goes on: %v", d)
		}
		_ = s.during(func() error {
			time.Sleep(3 * time.Second)
			if d := s.present(); d < 2*time.Second {
				t.Errorf("after 3 s: %v", d)
			}
			return nil
		})
		if d := s.present(); d != 0 {
			t.Errorf("it is over: %v", d)
		}
	})
}
