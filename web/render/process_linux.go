package render

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// contain makes the browser a process group that ends with this process and, where the system
// permits it, has no network interface.
func contain(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if canUnshareNetwork() {
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWNET
	}
}

// canUnshareNetwork tries it once.
var canUnshareNetwork = sync.OnceValue(func() bool {
	cmd := exec.Command("/proc/self/exe")
	cmd.Path = "/bin/true"
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	return cmd.Run() == nil
})

// killGroup kills all processes of the group.
func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }

// users are the processes with a profile below dir, by their command lines.
func users(dir string) []int {
	return processes(func(pid string) bool {
		line, err := os.ReadFile("/proc/" + pid + "/cmdline")
		return err == nil && bytes.Contains(line, []byte("--user-data-dir="+dir+"/"))
	})
}

// killUsers kills the processes with a profile below dir until there are none, for two seconds at most. What leads a
// group is killed with it: a script that starts a browser has children of which the profile is not seen, and which
// hold the pipes to the browser open.
func killUsers(dir string) {
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		pids := users(dir)
		if len(pids) == 0 {
			return
		}
		for _, pid := range pids {
			if group, err := syscall.Getpgid(pid); err == nil && group == pid {
				killGroup(pid)
			}
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// groupMemory is the resident memory of a process group, without the files and shared pages that most
// of its processes have in common.
func groupMemory(group int) int64 {
	var total int64
	for _, pid := range processes(func(pid string) bool {
		n, _ := strconv.Atoi(pid)
		g, err := syscall.Getpgid(n)
		return err == nil && g == group
	}) {
		statm, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
		if err != nil {
			continue
		}
		fields := strings.Fields(string(statm)) // size, resident, shared, ...
		if len(fields) < 3 {
			continue
		}
		resident, _ := strconv.ParseInt(fields[1], 10, 64)
		shared, _ := strconv.ParseInt(fields[2], 10, 64)
		total += (resident - shared) * int64(os.Getpagesize())
	}
	return total
}

func processes(wanted func(pid string) bool) []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close() //nolint:errcheck // read only
	names, _ := dir.Readdirnames(-1)
	var pids []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil && pid != os.Getpid() && wanted(name) {
			pids = append(pids, pid)
		}
	}
	return pids
}
