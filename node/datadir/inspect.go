package datadir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// State is what a data directory looks like from outside.
type State struct {
	Exists bool
	// PID is the process that uses it; 0: none does.
	PID int
	// HTTP is where that process answers, "" when there is none.
	HTTP string
	// Err says why a node could not use it: it is somebody else's, or of a newer
	// version.
	Err error
}

// Inspect looks at a data directory without touching it. A node may run on it.
func Inspect(path string) State {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return State{}
	}
	s := State{Exists: true, Err: checkVersion(path)}
	if pid, err := strconv.Atoi(readLine(filepath.Join(path, "pid"))); err == nil && pid > 0 {
		// EPERM: it lives, and is another user's.
		if err := syscall.Kill(pid, 0); err == nil || errors.Is(err, syscall.EPERM) {
			s.PID = pid
			if a, ok := (&Dir{path: path}).LoadAddresses(); ok {
				s.HTTP = a.HTTP
			}
		}
	}
	return s
}
