package resources

import (
	"errors"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
)

const (
	prSetTimerSlack = 29 // PR_SET_TIMERSLACK of prctl(2)
	prGetTimerSlack = 30 // PR_GET_TIMERSLACK
	// blocked is how many threads of a process are never idle: the runtime's own, that of signals, and
	// the one that waits for the network. More goroutines than idle threads would start threads.
	blocked = 3
	// maxThreads is enough for those that an idle process uses: the runtime takes the one that became
	// idle last.
	maxThreads = 8
)

// ordinarySlack is the slack that the process began with, in nanoseconds: the kernel's own is
// 50,000.
var ordinarySlack = sync.OnceValue(func() uintptr {
	slack, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prGetTimerSlack, 0, 0)
	if errno != 0 {
		return 50_000
	}
	return slack
})

// setSlack sets how late the kernel may be with the timers of this process's threads, and of those
// that they start. (syscall.AllThreadsSyscall would stop the world until a disk that does not
// answer has let go of its thread.)
func setSlack(loose bool) bool {
	slack := ordinarySlack()
	if loose {
		slack = max(slack, uintptr(looseBy))
	}
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return false
	}
	return setOfAll(tasks, slack) || setOfIdle(min(max(len(tasks)-blocked, 1), maxThreads), slack)
}

// setOfAll sets the slack of each thread from outside, which takes the capability CAP_SYS_NICE. It
// reaches the runtime's own thread too, which a tenth of the processor time of an idle process is
// for.
func setOfAll(tasks []os.DirEntry, slack uintptr) bool {
	value := strconv.AppendUint(nil, uint64(slack), 10)
	for _, t := range tasks {
		f, err := os.OpenFile("/proc/"+t.Name()+"/timerslack_ns", os.O_WRONLY, 0)
		if err != nil {
			if os.IsNotExist(err) {
				continue // the thread has ended
			}
			return false
		}
		_, err = f.Write(value)
		f.Close()
		if err != nil && !errors.Is(err, syscall.ESRCH) { // it has ended since
			return false
		}
	}
	return true
}

// setOfIdle sets the slack of n threads that are idle. The call is for the thread that makes it, so
// it is made by n goroutines, each of which keeps its thread until all have one. A thread in a
// system call is left out.
func setOfIdle(n int, slack uintptr) bool {
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
