package dnscache

import (
	"bufio"
	"io"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/miekg/dns"
)

// recheck is how often the system's files are checked for changes.
const recheck = 5 * time.Second

// Bounds for reading a hosts file. Block lists used as hosts files have some
// 300,000 lines.
const (
	maxHostsBytes = 32 << 20
	maxHostsLine  = 64 << 10
)

// systemFiles follows resolv.conf and the hosts file.
type systemFiles struct {
	resolvConf, hostsFile string
	setServers            func([]string)

	hosts atomic.Pointer[map[string][]netip.Addr] // immutable once stored

	// turn holds the token of the one goroutine that may read the files; state
	// behind it is that goroutine's.
	turn                    chan struct{}
	resolvStamp, hostsStamp stamp
	next                    atomic.Int64 // Unix nanoseconds of the next check
}

// stamp identifies a version of a file.
type stamp struct {
	mtime time.Time
	size  int64
}

// newSystemFiles reads both files. A missing file counts as empty.
func newSystemFiles(resolvConf, hostsFile string, setServers func([]string)) *systemFiles {
	s := &systemFiles{
		resolvConf: resolvConf,
		hostsFile:  hostsFile,
		setServers: setServers,
		turn:       make(chan struct{}, 1),
	}
	s.resolvStamp.size, s.hostsStamp.size = -2, -2 // unlike every file and every missing one
	s.refresh(time.Now())
	return s
}

// addresses returns the addresses of name in the hosts file, IPv4 first.
func (s *systemFiles) addresses(name string, now time.Time) []netip.Addr {
	s.refresh(now)
	return (*s.hosts.Load())[name]
}

// refresh reads the changed files again, if it is time and no other goroutine does.
func (s *systemFiles) refresh(now time.Time) {
	if now.UnixNano() < s.next.Load() {
		return
	}
	select {
	case s.turn <- struct{}{}:
	default:
		return
	}
	defer func() { <-s.turn }()
	s.next.Store(now.Add(recheck).UnixNano())
	if stamp := stampOf(s.resolvConf); stamp != s.resolvStamp {
		s.resolvStamp = stamp
		s.setServers(readResolvConf(s.resolvConf))
	}
	if stamp := stampOf(s.hostsFile); stamp != s.hostsStamp {
		s.hostsStamp = stamp
		hosts := readHostsFile(s.hostsFile)
		s.hosts.Store(&hosts)
	}
}

// stampOf returns the version of a file; a missing one has size -1.
func stampOf(path string) stamp {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{size: -1}
	}
	return stamp{mtime: info.ModTime(), size: info.Size()}
}

// readResolvConf returns the servers of resolv.conf as ip:port. Without any it
// is the local one, as resolv.conf(5) has it.
func readResolvConf(path string) []string {
	var addrs []string
	if conf, err := dns.ClientConfigFromFile(path); err == nil {
		for _, s := range conf.Servers {
			if addr, err := netip.ParseAddr(s); err == nil {
				addrs = append(addrs, netip.AddrPortFrom(addr, 53).String())
			}
		}
	}
	if len(addrs) == 0 {
		return []string{"127.0.0.1:53"}
	}
	return addrs
}

// readHostsFile reads a hosts(5) file; invalid lines are skipped.
func readHostsFile(path string) map[string][]netip.Addr {
	file, err := os.Open(path)
	if err != nil {
		return map[string][]netip.Addr{}
	}
	defer func() { _ = file.Close() }()
	return parseHosts(io.LimitReader(file, maxHostsBytes))
}

// parseHosts reads lines of an address and its names; "#" begins a comment.
func parseHosts(r io.Reader) map[string][]netip.Addr {
	hosts := make(map[string][]netip.Addr)
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxHostsLine)
	for lines.Scan() {
		text, _, _ := strings.Cut(lines.Text(), "#")
		fields := strings.Fields(text)
		if len(fields) < 2 {
			continue
		}
		addr, err := netip.ParseAddr(fields[0])
		if err != nil || addr.Zone() != "" {
			continue
		}
		for _, field := range fields[1:] {
			name, _ := canonical(field)
			if name != "" && !slices.Contains(hosts[name], addr.Unmap()) {
				hosts[name] = append(hosts[name], addr.Unmap())
			}
		}
	}
	for _, addrs := range hosts {
		slices.SortStableFunc(addrs, func(a, b netip.Addr) int { return a.BitLen() - b.BitLen() })
	}
	return hosts
}
