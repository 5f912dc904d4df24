package resources

import (
	"os"
	"runtime"
	"sync"
	"syscall"
)

const (
	prSetTimerSlack = 29 // PR_SET_TIMERSLACK of prctl(2)
	prGetTimerSlack = 30 // PR_GET_TIMERSLACK
	// blocked is how many threads of a process are never idle: the runtime's own, that of signals, and the one that
	// waits for the network. More goroutines than idle threads would start threads.
	blocked = 3
	// maxThreads is enough for those that an idle process uses: the runtime takes the one that became idle last.
	maxThreads = 8
)

// ordinarySlack is the slack that the process began with, in nanoseconds: the kernel's own is 50,000.
var ordinarySlack = sync.OnceValue(func() uintptr {
	slack, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prGetTimerSlack, 0, 0)
	if errno != 0 {
		return 50_000
	}
	return slack
})

// setSlack sets how late the kernel may be with the timers of the threads that are idle now and of those that they start.
// The call is for one thread, so it is made by as many goroutines as there are such threads, each of which keeps its
// thread until all have one. A thread in a system call is left out. (syscall.AllThreadsSyscall would stop the world until a
// disk that does not answer has let go of its thread.)
func setSlack(loose bool) bool {
	slack := ordinarySlack()
	if loose {
		slack = max(slack, uintptr(looseBy))
	}
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return false
	}
	n := min(max(len(tasks)-blocked, 1), maxThreads)
	refused := make([]bool, n)
	var meeting, over sync.WaitGroup
	meeting.Add(n)
	for i := range n {
		over.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			_, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetTimerSlack, slack, 0)
			refused[i] = errno != 0
			meeting.Done()
			meeting.Wait()
		})
	}
	over.Wait()
	return !refused[0]
}
