package scope

import (
	"net/netip"
	"slices"
	"strings"
	"sync"

	"golang.org/x/net/publicsuffix"

	"crawlnode/web/urlnorm"
)

// The entries' forms. They are stored and sent to other nodes, so they may be
// added to, but not changed.
//
//	page:http://example.org/docs/index.html   a seed in mode page
//	prefix:example.org/docs/                  its folder, in mode prefix
//	host:example.org                          its host, in the other modes
//
// An entry keeps its width when the mode changes later: under a wider mode it
// opens what that mode makes of it, under a narrower one what it opened before.
const (
	pageEntry   = "page:"
	prefixEntry = "prefix:"
	hostEntry   = "host:"
)

// width says from how narrow an entry something was derived. A mode looks up
// what its own width and all wider entries opened.
type width uint8

const (
	fromPage width = 1 << iota
	fromPrefix
	fromHost
)

// Seeds is the growing set of scope entries. Any number of goroutines may use
// one. Entries are never removed.
type Seeds struct {
	mu      sync.RWMutex // guards all below; held for map accesses only
	entries []string     // in the order of their addition
	known   map[string]struct{}
	pages   map[string]struct{} // canonical URLs
	folders map[string]width    // "host/path/"
	hosts   map[string]width
	domains map[string]struct{} // registrable domains
}

// NewSeeds returns a set of entries.
func NewSeeds(entries []string) *Seeds {
	s := &Seeds{
		known:   make(map[string]struct{}),
		pages:   make(map[string]struct{}),
		folders: make(map[string]width),
		hosts:   make(map[string]width),
		domains: make(map[string]struct{}),
	}
	s.Add(entries...)
	return s
}

// Add adds entries and returns those that are new, in their order. An entry of
// an unknown form, as a newer node may send, is kept and opens nothing.
func (s *Seeds) Add(entries ...string) (added []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range entries {
		if _, ok := s.known[e]; ok {
			continue
		}
		s.known[e] = struct{}{}
		s.entries = append(s.entries, e)
		added = append(added, e)
		s.openLocked(e)
	}
	return added
}

// openLocked derives from an entry what each mode looks for.
func (s *Seeds) openLocked(entry string) {
	var host string
	var from width
	if page, ok := strings.CutPrefix(entry, pageEntry); ok {
		u, err := urlnorm.Parse(page)
		if err != nil {
			return
		}
		host, from = u.Host(), fromPage
		s.pages[u.String()] = struct{}{}
		s.folders[folder(u)] |= from
	} else if path, ok := strings.CutPrefix(entry, prefixEntry); ok {
		slash := strings.IndexByte(path, '/')
		if slash < 1 || !strings.HasSuffix(path, "/") {
			return
		}
		host, from = path[:slash], fromPrefix
		s.folders[path] |= from
	} else if name, ok := strings.CutPrefix(entry, hostEntry); ok && name != "" {
		host, from = name, fromHost
	} else {
		return
	}
	s.hosts[host] |= from
	s.domains[domainOf(host)] = struct{}{}
}

// Has reports whether entry is in the set.
func (s *Seeds) Has(entry string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, ok := s.known[entry]
	return ok
}

// All returns all entries in the order of their addition.
func (s *Seeds) All() []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Clone(s.entries)
}

// Len counts the entries.
func (s *Seeds) Len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.entries)
}

// covers reports whether an entry opens u in the given mode (not Any).
func (s *Seeds) covers(mode string, u urlnorm.URL) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if len(s.entries) == 0 {
		return false
	}
	switch mode {
	case Domain:
		_, ok := s.domains[domainOf(u.Host())]
		return ok
	case Host:
		return s.hosts[u.Host()] != 0
	case Prefix:
		return s.hosts[u.Host()]&fromHost != 0 || s.folderLocked(u, fromPage|fromPrefix)
	}
	if _, ok := s.pages[u.String()]; ok {
		return true
	}
	return s.hosts[u.Host()]&fromHost != 0 || s.folderLocked(u, fromPrefix)
}

// folderLocked reports whether a folder that u lies in was opened by an entry
// of one of the widths.
func (s *Seeds) folderLocked(u urlnorm.URL, from width) bool {
	if s.hosts[u.Host()]&from == 0 {
		return false
	}
	inside := u.Host() + u.Path()
	for at := len(u.Host()); at < len(inside); at++ {
		if inside[at] == '/' && s.folders[inside[:at+1]]&from != 0 {
			return true
		}
	}
	return false
}

// domainOf returns the registrable domain of host by the public suffix list
// (example.co.uk of www.example.co.uk); the host itself when it is an address
// or has none.
func domainOf(host string) string {
	if strings.HasPrefix(host, "[") {
		return host
	}
	if last := host[strings.LastIndexByte(host, '.')+1:]; last != "" && last[0] >= '0' && last[0] <= '9' {
		if _, err := netip.ParseAddr(host); err == nil {
			return host
		}
	}
	domain, err := publicsuffix.EffectiveTLDPlusOne(host)
	if err != nil {
		return host
	}
	return domain
}
