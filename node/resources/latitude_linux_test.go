package resources

import (
	"runtime"
	"sync"
	"syscall"
	"testing"
)

// Threads that are idle when the slack is set have it, and give it back. Not parallel: the slack is the process's.
func TestSlackOfThreads(t *testing.T) {
	before := ordinarySlack()
	defer setSlack(false)
	if !setSlack(true) {
		t.Fatal("prctl refuses")
	}
	if got := slacks(); got[uintptr(looseBy)] == 0 {
		t.Errorf("threads by their slack in ns, after it was set to %v: %v", looseBy, got)
	}
	setSlack(false)
	if got := slacks(); got[before] == 0 {
		t.Errorf("threads by their slack in ns, after it was set to %d: %v", before, got)
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
