//go:build faultclock

package membership

import (
	"encoding/binary"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// With the build tag faultclock the clocks of a process can be moved from outside, for
// tests of wrong, jumping and paused machines: the environment variable names a file of
// 16 bytes, how far the time of day is off and how far the boot time is, each as 64 bits
// little endian, in nanoseconds. A released binary has nothing of this.
const faultClockVariable = "CRAWLNODE_FAULT_CLOCK"

// SystemClock is the machine's clocks, moved as the file says.
func SystemClock() Clock {
	path := os.Getenv(faultClockVariable)
	if path == "" {
		return systemClock{}
	}
	file, err := os.Open(path)
	if err != nil {
		panic("membership: " + faultClockVariable + ": " + err.Error())
	}
	defer file.Close()
	page, err := unix.Mmap(int(file.Fd()), 0, 16, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		panic("membership: " + faultClockVariable + ": " + err.Error())
	}
	return faultyClock{page}
}

// faultyClock stays mapped until the process ends.
type faultyClock struct{ page []byte }

func (c faultyClock) off(at int) time.Duration {
	word := atomic.LoadUint64((*uint64)(unsafe.Pointer(&c.page[at])))
	var raw [8]byte
	binary.NativeEndian.PutUint64(raw[:], word)
	return time.Duration(binary.LittleEndian.Uint64(raw[:]))
}

func (c faultyClock) Wall() time.Time         { return systemClock{}.Wall().Add(c.off(0)) }
func (c faultyClock) BootTime() time.Duration { return bootTime() + c.off(8) }
