package browser

import (
	"bytes"
	"context"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// profileVariable is in the environment of a browser and so of every process that it starts: some
// of them (crash handlers, zygotes) leave its process group, or have no profile in their command
// line.
const profileVariable = "CRAWLNODE_BROWSER_PROFILE"

const lookAgain = 10 * time.Millisecond

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

// entry is a process as /proc/PID/stat has it.
type entry struct {
	pid, parent, group int
	dead               bool   // a zombie
	start              string // clock ticks since the system's start: with pid, it names a process
}

// readEntry reads the entry of a process; false: there is none.
func readEntry(pid int) (entry, bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return entry{}, false
	}
	// The name of the program stands in parentheses, and may have any character in it.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 20 {
		return entry{}, false
	}
	e := entry{pid: pid, dead: fields[0] == "Z" || fields[0] == "X", start: fields[19]}
	e.parent, _ = strconv.Atoi(fields[1])
	e.group, _ = strconv.Atoi(fields[2])
	return e, true
}

// family are the living processes of the browsers with a profile below dir, found anew with each
// call: those that name the profile in the command line or the environment, the given roots, and
// whatever shares a process group with one of them or descends from one of them. What a wrapper
// changes leaves at least one of these.
func family(dir string, roots ...int) []entry {
	var all []entry
	for _, pid := range processes() {
		if e, ok := readEntry(pid); ok && !e.dead {
			all = append(all, e)
		}
	}
	member, groups := map[int]bool{}, map[int]bool{}
	ours := syscall.Getpgrp()
	add := func(e entry) {
		member[e.pid] = true
		if e.group != ours {
			groups[e.group] = true
		}
	}
	for _, e := range all {
		if slices.Contains(roots, e.pid) || names(e.pid, dir) {
			add(e)
		}
	}
	for grown := len(member) > 0; grown; {
		grown = false
		for _, e := range all {
			if !member[e.pid] && (member[e.parent] || groups[e.group]) {
				add(e)
				grown = true
			}
		}
	}
	return slices.DeleteFunc(all, func(e entry) bool { return !member[e.pid] })
}

// names reports whether a process has a profile below dir in its command line or its environment.
func names(pid int, dir string) bool {
	proc := "/proc/" + strconv.Itoa(pid)
	line, _ := os.ReadFile(proc + "/cmdline")
	if bytes.Contains(line, []byte("--user-data-dir="+dir+"/")) {
		return true
	}
	environment, _ := os.ReadFile(proc + "/environ")
	return bytes.Contains(environment, []byte(profileVariable+"="+dir+"/"))
}

// users are the processes of family without roots.
func users(dir string) (pids []int) {
	for _, e := range family(dir) {
		pids = append(pids, e.pid)
	}
	return pids
}

// killFamily kills the processes of family until there are none, for two seconds at most, and
// returns the groups that it has seen. The roots are taken for what they are once only: their ids
// may be given away when they have ended.
func killFamily(dir string, roots ...int) (groups map[int]bool) {
	groups = map[int]bool{}
	for end := time.Now().Add(endTime); time.Now().Before(end); time.Sleep(lookAgain) {
		now := family(dir, roots...)
		if len(now) == 0 {
			break
		}
		for _, e := range now {
			_ = syscall.Kill(e.pid, syscall.SIGKILL)
		}
		maps.Copy(groups, groupsOf(now))
		roots = nil
	}
	return groups
}

// reap takes the exit status of the processes of these groups that have become children of this
// one, as they do where it is process 1 of a container: nobody else would. It waits for those that
// are ending, for two seconds at most.
func reap(groups map[int]bool) {
	for end := time.Now().Add(endTime); time.Now().Before(end); time.Sleep(lookAgain) {
		left := false
		for _, pid := range processes() {
			// A zombie keeps its group, and the group its number while it has a zombie.
			if e, ok := readEntry(pid); ok && e.parent == os.Getpid() && groups[e.group] {
				got, err := syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
				left = left || err == nil && got == 0
			}
		}
		if !left {
			return
		}
	}
}

// ownProcess is the process of a browser that calls itself inner, in the process namespace that a
// wrapper may have put it into; 0: it is not to be found.
func ownProcess(inner int, among []entry) (pid int) {
	deepest := 0
	for _, e := range among {
		ids := namespaceIDs(e.pid)
		if len(ids) > deepest && ids[len(ids)-1] == strconv.Itoa(inner) {
			pid, deepest = e.pid, len(ids)
		}
	}
	return pid
}

// namespaceIDs are the ids of a process, from the namespace of /proc to its own.
func namespaceIDs(pid int) []string {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(status)) {
		if ids, ok := strings.CutPrefix(line, "NSpid:"); ok {
			return strings.Fields(ids)
		}
	}
	return []string{strconv.Itoa(pid)} // a kernel without process namespaces
}

// process is one that is not a child of this one, or that somebody else waits for.
type process struct {
	entry
	handle *os.File // nil where the kernel has none
}

// openProcess fails for a process that has ended.
func openProcess(pid int) (*process, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err == unix.ESRCH {
		return nil, os.ErrProcessDone
	}
	p := &process{}
	if err == nil {
		_ = unix.SetNonblock(fd, true) // the runtime waits for what does not block
		p.handle = os.NewFile(uintptr(fd), "pidfd")
	}
	var ok bool
	if p.entry, ok = readEntry(pid); !ok || p.dead {
		p.close()
		return nil, os.ErrProcessDone
	}
	return p, nil
}

// await returns when the process has ended (true), or ctx is done.
func (p *process) await(ctx context.Context) (ended bool) {
	if p.handle == nil {
		return p.look(ctx)
	}
	conn, err := p.handle.SyscallConn()
	if err != nil {
		return p.look(ctx)
	}
	defer context.AfterFunc(ctx, func() { _ = p.handle.SetReadDeadline(time.Unix(1, 0)) })()
	err = conn.Read(func(fd uintptr) bool {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(poll, 0)
		return err == nil && n > 0
	})
	if err != nil && ctx.Err() == nil {
		return p.look(ctx)
	}
	return err == nil
}

// look is await without a handle.
func (p *process) look(ctx context.Context) (ended bool) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		if e, ok := readEntry(p.pid); !ok || e.dead || e.start != p.start {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
}

func (p *process) close() {
	if p.handle != nil {
		_ = p.handle.Close()
	}
}

// groupsMemory is the resident memory of process groups, without the files and shared pages that
// most of their processes have in common.
func groupsMemory(groups map[int]bool) int64 {
	var total int64
	for _, pid := range processes() {
		if g, err := syscall.Getpgid(pid); err != nil || !groups[g] {
			continue
		}
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

// groupsOf are the process groups of a family.
func groupsOf(all []entry) map[int]bool {
	groups := map[int]bool{}
	for _, e := range all {
		groups[e.group] = true
	}
	delete(groups, syscall.Getpgrp())
	return groups
}

// processes are all but this one.
func processes() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close() //nolint:errcheck // read only
	list, _ := dir.Readdirnames(-1)
	pids := make([]int, 0, len(list))
	for _, name := range list {
		if pid, err := strconv.Atoi(name); err == nil && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids
}
