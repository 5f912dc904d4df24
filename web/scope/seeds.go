package scope

import (
	"net/netip"
	"strconv"
	"strings"

	"golang.org/x/net/publicsuffix"

	"crawlnode/web/urlnorm"
)

// The forms of entries. They are stored and sent to other nodes, so forms may be
// added but not changed.
//
//	page:http://example.org/docs/index.html   a seed in mode page
//	prefix:example.org/docs/                  its folder, in mode prefix
//	host:example.org                          its host, in the other modes
//	port:8081                                 its port, when that is not 80 or 443: it opens no URL
//
// An entry keeps its width when the mode changes later: under a wider mode it
// opens the scope of that mode, under a narrower one the scope that it opened before.
const (
	pageEntry   = "page:"
	prefixEntry = "prefix:"
	hostEntry   = "host:"
	portEntry   = "port:"
)

// Kind is the kind of a key.
type Kind uint8

// The kinds. The first four are entries themselves, the others are looked up by a mode to find an
// entry.
const (
	HostEntry   Kind = iota // a host, open as a whole
	PrefixEntry             // "host/path/", open with all below it
	PageEntry               // a canonical URL
	OtherEntry              // an entry of unknown form, perhaps from a newer node: it opens nothing
	PageFolder              // "host/path/" in which a PageEntry lies
	NarrowHost              // a host of which only prefixes or pages are open
	SeedDomain              // a registrable domain with an entry in it
	SeedPort                // a port of a seed, which web servers may be asked at
	Kinds                   // how many there are
)

// Key is an element of an Index: a kind and its text.
type Key struct {
	Kind Kind
	Text string
}

// Index is a set of keys, which Seeds look up. Its owner makes sure that all keys of an entry are
// in it (AppendKeys).
type Index interface {
	// Has reports whether the key is in the set. It is called for every link.
	Has(Key) bool
}

// KeyOf is the key of the entry itself.
func KeyOf(entry string) Key {
	if name, ok := strings.CutPrefix(entry, hostEntry); ok {
		return Key{HostEntry, name}
	}
	if path, ok := strings.CutPrefix(entry, prefixEntry); ok {
		return Key{PrefixEntry, path}
	}
	if page, ok := strings.CutPrefix(entry, pageEntry); ok {
		return Key{PageEntry, page}
	}
	if port, ok := strings.CutPrefix(entry, portEntry); ok {
		return Key{SeedPort, port}
	}
	return Key{OtherEntry, entry}
}

// PortEntry is the entry of a seed's port.
func PortEntry(port uint16) string { return portEntry + strconv.Itoa(int(port)) }

// HasPort reports whether a seed has this port, beside 80 and 443.
func (s *Seeds) HasPort(port uint16) bool { return s.Has(PortEntry(port)) }

// AppendKeys appends all keys of an entry to keys, its own first. An entry that cannot be read has
// only its own key, which no mode looks up.
func AppendKeys(keys []Key, entry string) []Key {
	k := KeyOf(entry)
	keys = append(keys, k)
	host := k.Text
	switch k.Kind {
	case OtherEntry, SeedPort:
		return keys
	case PrefixEntry:
		slash := strings.IndexByte(k.Text, '/')
		if slash < 1 || !strings.HasSuffix(k.Text, "/") {
			return keys
		}
		host = k.Text[:slash]
		keys = append(keys, Key{NarrowHost, host})
	case PageEntry:
		u, err := urlnorm.Parse(k.Text)
		if err != nil {
			return keys
		}
		host = u.Host()
		keys = append(keys, Key{PageFolder, folder(u)}, Key{NarrowHost, host})
	}
	if host == "" {
		return keys
	}
	return append(keys, Key{SeedDomain, domainOf(host)})
}

// Seeds is a set of scope entries that URLs are judged by.
type Seeds struct{ index Index }

// SeedsOn returns the Seeds whose keys are in index.
func SeedsOn(index Index) *Seeds { return &Seeds{index} }

// NewSeeds returns a set of these few entries, in memory. Nothing can be added.
func NewSeeds(entries []string) *Seeds {
	m := mapIndex{}
	var keys []Key
	for _, e := range entries {
		keys = AppendKeys(keys[:0], e)
		for _, k := range keys {
			m[k] = struct{}{}
		}
	}
	return SeedsOn(m)
}

type mapIndex map[Key]struct{}

func (m mapIndex) Has(k Key) bool {
	_, ok := m[k]
	return ok
}

// Has reports whether entry is in the set.
func (s *Seeds) Has(entry string) bool { return s.index.Has(KeyOf(entry)) }

// covers reports whether an entry opens u in the given mode (not Any).
func (s *Seeds) covers(mode string, u urlnorm.URL) bool {
	host := u.Host()
	switch mode {
	case Domain:
		return s.index.Has(Key{SeedDomain, domainOf(host)})
	case Host:
		return s.index.Has(Key{HostEntry, host}) || s.index.Has(Key{NarrowHost, host})
	case Prefix:
		return s.index.Has(Key{HostEntry, host}) || s.folders(u, true)
	}
	return s.index.Has(Key{PageEntry, u.String()}) || s.index.Has(Key{HostEntry, host}) ||
		s.folders(u, false)
}

// folders reports whether a folder above u is open, by a prefix or, with pages, by a page in it.
func (s *Seeds) folders(u urlnorm.URL, pages bool) bool {
	host := u.Host()
	if !s.index.Has(Key{NarrowHost, host}) {
		return false
	}
	inside := host + u.Path()
	for at := len(host); at < len(inside); at++ {
		if inside[at] != '/' {
			continue
		}
		if s.index.Has(Key{PrefixEntry, inside[:at+1]}) ||
			pages && s.index.Has(Key{PageFolder, inside[:at+1]}) {
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
	if last := host[strings.LastIndexByte(host, '.')+1:]; last != "" && last[0] >= '0' &&
		last[0] <= '9' {
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
