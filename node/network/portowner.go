package network

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// PortOwner is the process that listens on a TCP port of this machine. Its pid is 0
// when the system does not tell, as for processes of other users.
func PortOwner(addr string) (pid int, name string) {
	host, text, err := net.SplitHostPort(addr)
	port, err2 := strconv.ParseUint(text, 10, 16)
	if err != nil || err2 != nil {
		return 0, ""
	}
	ip, _ := netip.ParseAddr(host) // a name, or none: whoever has the port
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := os.ReadFile(table)
		if err != nil {
			continue // not on this system
		}
		for _, inode := range listenersOn(text, ip, uint16(port)) {
			if pid := processWith("socket:[" + inode + "]"); pid > 0 {
				comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)) // it may have ended
				return pid, strings.TrimSpace(string(comm))
			}
		}
	}
	return 0, ""
}

// listenersOn reads a table of the kernel and returns the inodes of the sockets that keep ip and
// port from being listened on: those that listen on the port at that address or at all. An ip that
// is invalid or 0 is any.
func listenersOn(table []byte, ip netip.Addr, port uint16) []string {
	const listening = "0A"
	var inodes []string
	lines := bufio.NewScanner(bytes.NewReader(table))
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 10 || f[3] != listening {
			continue
		}
		at, ok := socketAddress(f[1])
		if !ok || at.Port() != port {
			continue
		}
		if !ip.IsValid() || ip.IsUnspecified() || at.Addr().IsUnspecified() || at.Addr() == ip.Unmap() {
			inodes = append(inodes, f[9])
		}
	}
	return inodes
}

// socketAddress reads an address of the kernel's tables: words of 32 bits in the machine's order, and
// a port, all in hexadecimal digits (proc_net_tcp.txt of the kernel).
func socketAddress(text string) (netip.AddrPort, bool) {
	digits, hexPort, ok := strings.Cut(text, ":")
	raw, err := hex.DecodeString(digits)
	port, err2 := strconv.ParseUint(hexPort, 16, 16)
	if !ok || err != nil || err2 != nil || len(raw)%4 != 0 {
		return netip.AddrPort{}, false
	}
	for i := 0; i < len(raw); i += 4 {
		binary.BigEndian.PutUint32(raw[i:], binary.NativeEndian.Uint32(raw[i:]))
	}
	ip, ok := netip.AddrFromSlice(raw)
	return netip.AddrPortFrom(ip.Unmap(), uint16(port)), ok
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
