package prober

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"

	"crawlnode/membership/consensus"
)

// OwnProcess identifies this process, or returns the zero Process if the system does not
// tell.
func OwnProcess() consensus.Process {
	machine, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return consensus.Process{}
	}
	namespace, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return consensus.Process{}
	}
	pid := os.Getpid()
	stat, err := readStat(pid)
	// A /proc of another namespace would show other processes under our ids.
	if self, linkErr := os.Readlink("/proc/self"); err != nil || linkErr != nil ||
		self != strconv.Itoa(pid) {
		return consensus.Process{}
	}
	sum := sha256.Sum256([]byte(strings.TrimSpace(string(machine)) + " " + namespace))
	return consensus.Process{Machine: hex.EncodeToString(sum[:consensus.MaxMachineBytes/2]), PID: pid,
		Started: stat.started}
}

func readStat(pid int) (processStat, error) {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return processStat{}, err
	}
	return parseStat(raw)
}

// processGone reports whether a process of this machine is gone, if that can be known. A
// missing entry alone is no proof: /proc may hide processes of other users.
func processGone(p consensus.Process) (gone, known bool) {
	stat, err := readStat(p.PID)
	switch {
	case err == nil:
		return stat.over(p.Started), true
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ESRCH):
		gone = errors.Is(syscall.Kill(p.PID, 0), syscall.ESRCH)
		return gone, gone
	}
	return false, false
}
