package resources

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// ProcessorTime is the processors' time that was used so far: by this process in
// microseconds, and by everybody and in all in ticks; 0 where the system does not tell.
func ProcessorTime() (own, busy, all int64) {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) == nil {
		own = (r.Utime.Nano() + r.Stime.Nano()) / 1000
	}
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return own, 0, 0
	}
	busy, all = parseProcStat(string(text))
	return own, busy, all
}

// parseProcStat reads the first line of /proc/stat, the sum over all processors.
func parseProcStat(text string) (busy, all int64) {
	const idle, wait, guests = 3, 4, 8 // fields after "cpu"; guests are counted among the users
	line, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(line)
	if len(fields) < 5 || fields[0] != "cpu" {
		return 0, 0
	}
	for i, f := range fields[1:min(len(fields), guests+1)] {
		v, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, 0
		}
		all += v
		if i != idle && i != wait {
			busy += v
		}
	}
	return busy, all
}

// OpenFiles is how many files this process may open at a time; 0 where the system does not tell.
// The Go runtime raises its limit to the hard one.
func OpenFiles() uint64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return limit.Max
}

// ResidentBytes is the resident memory, page cache of mapped files included;
// nil where the system does not tell.
func ResidentBytes() *int64 {
	raw, err := os.ReadFile("/proc/self/statm")
	fields := bytes.Fields(raw)
	if err != nil || len(fields) < 2 {
		return nil
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		return nil
	}
	v := pages * int64(os.Getpagesize())
	return &v
}
