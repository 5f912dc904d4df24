package integration

import (
	"bufio"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// whois finds the node behind a loopback connection, by the kernel's tables: the client's address
// gives the socket's inode (/proc/net/tcp), and the inode gives the process that has it open
// (/proc/PID/fd).
type whois struct {
	mu   sync.Mutex // guards pids
	pids map[int]string
}

// add makes a node known.
func (w *whois) add(n *node) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pids == nil {
		w.pids = map[int]string{}
	}
	w.pids[n.cmd.Process.Pid] = n.name
}

// name returns the name of the node at the client's end, or "" when the
// connection is gone already or belongs to none.
func (w *whois) name(remote netip.AddrPort) string {
	inode := socketInode(remote)
	if inode == "" {
		return ""
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for pid, name := range w.pids {
		fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		if err != nil {
			continue
		}
		for _, fd := range fds {
			// A descriptor that is closed meanwhile is not the one.
			if target, err := os.Readlink(fd); err == nil && target == "socket:["+inode+"]" {
				return name
			}
		}
	}
	return ""
}

// socketInode finds the socket whose local end is addr (proc(5), /proc/net/tcp).
func socketInode(addr netip.AddrPort) string {
	f, err := os.Open("/proc/net/tcp")
	if err != nil {
		return ""
	}
	defer f.Close()
	ip := addr.Addr().Unmap().As4()
	local := fmt.Sprintf("%02X%02X%02X%02X:%04X", ip[3], ip[2], ip[1], ip[0], addr.Port())
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) > 9 && fields[1] == local {
			return fields[9]
		}
	}
	return ""
}
