package prober

import (
	"bytes"
	"errors"
	"strconv"
)

// processStat has the fields of /proc/PID/stat.
type processStat struct {
	state   byte   // R, S, D, T, Z, X, ...
	threads int    // 1 if only the first is left
	started uint64 // clock ticks since the machine's start
}

var errStat = errors.New("membership: a process's stat cannot be read")

// parseStat reads a line of /proc/PID/stat (proc_pid_stat(5)): pid, name in
// parentheses, state, and so on; fields 20 and 22 are threads and start. The
// name may contain any character, parentheses and spaces included.
func parseStat(raw []byte) (processStat, error) {
	end := bytes.LastIndexByte(raw, ')')
	fields := bytes.Fields(raw[end+1:])
	const first = 3 // number of the field behind the name
	if end < 0 || len(fields) <= 22-first || len(fields[0]) != 1 {
		return processStat{}, errStat
	}
	threads, err1 := strconv.Atoi(string(fields[20-first]))
	started, err2 := strconv.ParseUint(string(fields[22-first]), 10, 62)
	if err1 != nil || err2 != nil {
		return processStat{}, errStat
	}
	return processStat{state: fields[0][0], threads: threads, started: started}, nil
}

// over reports whether a process with this stat is another one than that which began at
// started, or is dead and waits for its parent. The first thread may be dead
// before the others; a dead process has closed its sockets once all are.
func (s processStat) over(started uint64) bool {
	dead := s.state == 'Z' || s.state == 'X'
	return s.started != started || dead && s.threads <= 1
}
