package ticks

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestUntil(t *testing.T) {
	second := time.Unix(1_700_000_000, 0)
	for _, c := range []struct {
		after, every, want time.Duration
	}{
		{0, time.Second, time.Second},
		{1, time.Second, time.Second - 1},
		{999 * time.Millisecond, time.Second, time.Millisecond},
		{350 * time.Millisecond, 100 * time.Millisecond, 50 * time.Millisecond},
		{350 * time.Millisecond, 250 * time.Millisecond, 150 * time.Millisecond},
	} {
		if got := Until(second.Add(c.after), c.every); got != c.want {
			t.Errorf("%v after a whole second the next common moment of %v is %v away, want %v", c.after,
				c.every, got, c.want)
		}
	}
}

func TestTicksComeTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		short := New(100 * time.Millisecond)
		defer short.Stop()
		time.Sleep(30 * time.Millisecond)
		long := New(200 * time.Millisecond)
		defer long.Stop()
		<-short.C
		if a, b := <-short.C, <-long.C; !a.Equal(b) {
			t.Errorf("ticks of two intervals came at %v and %v", a, b)
		}
	})
}

func TestTicksAreNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ticker := New(time.Second)
		defer ticker.Stop()
		time.Sleep(3500 * time.Millisecond)
		<-ticker.C // it stands for three
		before := time.Now()
		<-ticker.C
		if waited := time.Since(before); waited != 500*time.Millisecond {
			t.Errorf("the tick after three that nobody took came after %v, want 500ms", waited)
		}
	})
}

func TestTicksEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ticker := New(time.Second)
		ticker.Stop()
		time.Sleep(3 * time.Second)
		select {
		case <-ticker.C:
			t.Error("a tick came after the end")
		default:
		}
	})
}

func TestReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ticker := New(time.Second)
		defer ticker.Stop()
		begin := time.Now()
		at := func(want time.Duration) {
			t.Helper()
			if got := (<-ticker.C).Sub(begin); got != want {
				t.Errorf("a tick came after %v, want %v", got, want)
			}
		}
		at(time.Second)
		time.Sleep(1200 * time.Millisecond)
		ticker.Reset(5 * time.Second)
		at(2 * time.Second) // nobody had taken it
		at(5 * time.Second)
		time.Sleep(2050 * time.Millisecond)
		for range 3 {
			ticker.Reset(100 * time.Millisecond)
		}
		at(7100 * time.Millisecond)
		at(7200 * time.Millisecond)
		ticker.Stop()
		ticker.Reset(time.Second)
		time.Sleep(3 * time.Second)
		select {
		case <-ticker.C:
			t.Error("a tick came after the end")
		default:
		}
	})
}
