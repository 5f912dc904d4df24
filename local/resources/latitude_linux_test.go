package resources

import (
	"runtime"
	"sync"
	"syscall"
	"testing"
)

// Threads have the slack that is set, and give it back, with the right to set it from outside or
// without. Not parallel: the slack is the process's.
func TestSlackOfThreads(t *testing.T) {
	before := ordinarySlack()
	defer setSlack(false)
	for name, set := range map[string]func(loose bool) bool{
		"as it may": setSlack,
		"of idle threads": func(loose bool) bool {
			slack := before
			if loose {
				slack = uintptr(looseBy)
			}
			return setOfIdle(4, slack)
		},
	} {
		if !set(true) {
			t.Fatal(name, "prctl refuses")
		}
		if got := slacks(); got[uintptr(looseBy)] == 0 {
			t.Errorf("%s: threads by their slack in ns, after it was set to %v: %v", name, looseBy, got)
		}
		set(false)
		if got := slacks(); got[before] == 0 {
			t.Errorf("%s: threads by their slack in ns, after it was set to %d: %v", name, before, got)
		}
	}
}

// slacks counts some threads by their slack.
func slacks() map[uintptr]int {
	var mu sync.Mutex
	var meeting, over sync.WaitGroup
	count := map[uintptr]int{}
	const n = 4
	meeting.Add(n)
	for range n {
		over.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			slack, _, _ := syscall.RawSyscall(syscall.SYS_PRCTL, prGetTimerSlack, 0, 0)
			mu.Lock()
			count[slack]++
			mu.Unlock()
			meeting.Done()
			meeting.Wait()
		})
	}
	over.Wait()
	return count
}
