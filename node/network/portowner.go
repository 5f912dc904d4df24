package network

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// PortOwner is the process that listens on a TCP port of this machine. Its pid is 0
// when the system does not tell, as for processes of other users.
func PortOwner(addr string) (pid int, name string) {
	_, text, err := net.SplitHostPort(addr)
	port, err2 := strconv.Atoi(text)
	if err != nil || err2 != nil {
		return 0, ""
	}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := os.ReadFile(table)
		if err != nil {
			continue // not on this system
		}
		for _, inode := range listenersOn(text, port) {
			if pid := processWith("socket:[" + inode + "]"); pid > 0 {
				comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)) // it may have ended
				return pid, strings.TrimSpace(string(comm))
			}
		}
	}
	return 0, ""
}

// listenersOn reads a table of the kernel and returns the inodes of the sockets
// that listen on a port.
func listenersOn(table []byte, port int) []string {
	const listening = "0A"
	var inodes []string
	lines := bufio.NewScanner(bytes.NewReader(table))
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 10 || f[3] != listening {
			continue
		}
		_, hex, ok := strings.Cut(f[1], ":")
		if n, err := strconv.ParseUint(hex, 16, 16); ok && err == nil && int(n) == port {
			inodes = append(inodes, f[9])
		}
	}
	return inodes
}

// processWith is the process that has a file of that name open, 0 when none is seen.
func processWith(target string) int {
	links, _ := filepath.Glob("/proc/[0-9]*/fd/*") // the pattern is well-formed
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && to == target {
			pid, _ := strconv.Atoi(strings.Split(link, "/")[2]) // digits, by the pattern
			return pid
		}
	}
	return 0
}
