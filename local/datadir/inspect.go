package datadir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// State describes a data directory without opening it.
type State struct {
	Exists bool
	// Begun: a node has stored something there.
	Begun bool
	// PID is the process that uses it; 0: none.
	PID int
	// HTTP is the API address of that process, "" when there is none.
	HTTP string
	// Err is why a node could not use it: it is in use, foreign, or of a newer version.
	Err error
}

// Inspect reads a data directory without changing it. A node may run on it.
func Inspect(path string) State {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return State{}
	}
	s := State{Exists: true, Begun: (&Dir{path: path}).Begun(), Err: checkVersion(path)}
	if pid, err := strconv.Atoi(readLine(filepath.Join(path, "pid"))); err == nil && pid > 0 {
		// EPERM: it runs, and belongs to another user.
		if err := syscall.Kill(pid, 0); err == nil || errors.Is(err, syscall.EPERM) {
			s.PID = pid
			if a, ok := (&Dir{path: path}).LoadAddresses(); ok {
				s.HTTP = a.HTTP
			}
		}
	}
	return s
}
