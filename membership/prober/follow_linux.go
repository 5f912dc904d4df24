package prober

import (
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// process is an ending by a pidfd (pidfd_open(2)).
type process struct {
	file *os.File
	once sync.Once
}

// follow begins to wait for the end of the process that has the id now; nil: the system cannot. The caller looks then
// whether that is the one that it means: another one that had the id at this moment has ended by then.
func follow(pid int) ending {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return nil
	}
	return &process{file: os.NewFile(uintptr(fd), "pidfd")}
}

// await keeps no thread: the runtime waits for the network and for this together.
func (p *process) await() {
	defer p.close()
	raw, err := p.file.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Read(func(fd uintptr) (ended bool) {
		ready := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(ready, 0)
		return n > 0 || err != nil && err != unix.EINTR
	})
}

func (p *process) close() { p.once.Do(func() { p.file.Close() }) }
