package simweb

import (
	"math"
	"net/netip"
	"strconv"
	"strings"
	"sync"
)

const (
	// maxPages keeps page numbers in 32 bits and the judge's tables small.
	maxPages = 100_000_000
	// maxAddrs keeps the addresses of one door within one /24.
	maxAddrs = 200
	// maxDoors keeps the doors within the /16 of the listener's address.
	maxDoors = 100
)

// Web is one synthetic web with its judge. It is made by New, and all its
// methods may be called by many goroutines at once.
type Web struct {
	cfg     Config
	hosts   []host // those that answer, then the dead ones
	pages   uint32 // all pages of all hosts
	filler  *filler
	judge   *judge
	traffic traffic
	scheme  string // http or https
	// ":8080", or "" for the scheme's own; set by Listen before anything is served
	port    string
	fanout  uint32              // children of a page in its host's tree
	aliases map[string]int      // host name -> index in hosts
	base    netip.Addr          // the first address; set by Listen
	hanging map[uint32][]uint32 // in a thin web: page -> the start pages that hang on it
	scratch *sync.Pool          // of *buffers
}

// host is a host's fixed part.
type host struct {
	name    string
	first   uint32 // number of its start page
	pages   uint32 // without the calendar
	trap    uint32 // days of its calendar
	robots  robotsKind
	slowed  bool // robots.txt names Config.CrawlDelay
	dead    bool
	sitemap bool
	chained bool // in a thin web: each page leads to the next only
	says    promises
}

// pageKind says how a page answers.
type pageKind uint8

const (
	plain    pageKind = iota // 200 with links
	redirect                 // 301, 302, 307 or 308 to another page
	missing                  // 404
	private                  // as plain, under /private/
	hidden                   // as plain, in the sitemap and linked from nowhere
	day                      // a day of the calendar: leads to the next
)

// New makes a web. It computes in time and memory proportional to the number of
// pages, about a second and a few bytes for a million.
func New(c Config) (*Web, error) {
	c = c.withDefaults()
	if err := c.validate(); err != nil {
		return nil, err
	}
	w := &Web{
		cfg:     c,
		scheme:  "http",
		aliases: make(map[string]int, c.Hosts+c.DeadHosts),
		base:    netip.AddrFrom4([4]byte{127, 0, 0, 1}),
	}
	if c.TLS {
		w.scheme = "https"
	}
	w.fanout = max(2, uint32(c.LinksPerPage)*7/40)
	w.layOut()
	w.hang()
	w.filler = newFiller(c.Seed, c.NaturalText)
	w.judge = newJudge(len(w.hosts), w.pages)
	if c.Changes.on() {
		w.judge.visits, w.judge.changing = make([][]logged, w.pages), c.Changes.Start
	}
	w.scratch = &sync.Pool{New: func() any { return new(buffers) }}
	return w, nil
}

// layOut names the hosts and shares the pages out by a power law.
func (w *Web) layOut() {
	c := w.cfg
	var sum float64
	for i := range c.Hosts {
		sum += math.Pow(float64(i+1), -c.Skew)
	}
	total := float64(c.Hosts) * float64(c.PagesPerHost)
	for i := range c.Hosts {
		share := total * math.Pow(float64(i+1), -c.Skew) / sum
		h := host{name: "h" + strconv.Itoa(i+1) + "." + c.Domain, pages: max(1, uint32(share+0.5))}
		r := w.random(uint64(i), saltHost)
		if r%8 == 0 {
			h.trap = uint32(c.TrapPages)
		}
		h.robots = robotsKind(r >> 8 % uint64(robotsKinds))
		h.slowed = c.CrawlDelay > 0 && h.robots != robotsMissing && r>>16%4 == 0
		h.says = w.promisesOf(i)
		h.sitemap = (c.Hidden > 0 || h.says.lastmods != silent) && h.robots != robotsMissing
		h.chained = c.Thin && i%2 == 1
		w.addHost(h)
	}
	for i := range c.DeadHosts {
		w.addHost(host{
			name:   "dead" + strconv.Itoa(i+1) + "." + c.Domain,
			pages:  3,
			dead:   true,
			robots: robotsMissing,
		})
	}
}

func (w *Web) addHost(h host) {
	h.first = w.pages
	w.pages += h.pages + h.trap
	w.aliases[h.name] = len(w.hosts)
	w.hosts = append(w.hosts, h)
}

// Domain returns the last part of every host name.
func (w *Web) Domain() string { return w.cfg.Domain }

// Seeds returns the start pages from which Reachable counts. Their port is the
// listener's, so ask after Listen.
func (w *Web) Seeds() []string {
	seeds := make([]string, 0, w.cfg.SeedHosts)
	for i := range w.cfg.SeedHosts {
		seeds = append(seeds, w.origin(i)+"/")
	}
	return seeds
}

// HostNames returns the names of the hosts that answer, the largest first.
func (w *Web) HostNames() []string {
	names := make([]string, 0, w.cfg.Hosts)
	for i := range w.cfg.Hosts {
		names = append(names, w.hosts[i].name)
	}
	return names
}

func (w *Web) origin(hostIndex int) string {
	return w.scheme + "://" + w.hosts[hostIndex].name + w.port
}

// hostIndex finds a host by the Host header's value, whose port does not matter.
func (w *Web) hostIndex(authority string) (int, bool) {
	name := authority
	if i := strings.LastIndexByte(name, ':'); i >= 0 {
		name = name[:i]
	}
	i, ok := w.aliases[strings.TrimSuffix(strings.ToLower(name), ".")]
	return i, ok
}

// hostOf finds the host of a page by bisection.
func (w *Web) hostOf(page uint32) int {
	lo, hi := 0, len(w.hosts)-1
	for lo < hi {
		mid := (lo + hi + 1) / 2
		if w.hosts[mid].first <= page {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	return lo
}

// kind says how a page answers. Start pages are plain.
func (w *Web) kind(h *host, n uint32) pageKind {
	if n >= h.pages {
		return day
	}
	if n == 0 || h.dead {
		return plain
	}
	c := &w.cfg
	r := int(w.random(uint64(h.first+n), saltKind) % 1000)
	for _, k := range [...]struct {
		kind  pageKind
		share int
	}{{redirect, c.Redirects}, {missing, c.Missing}, {private, c.Private}, {hidden, c.Hidden}} {
		if r < k.share {
			if k.kind == hidden && !h.sitemap {
				return plain
			}
			return k.kind
		}
		r -= k.share
	}
	return plain
}

// quirk reports whether a page is one of the share in a thousand that salt draws.
func (w *Web) quirk(page uint32, salt uint64, share int) bool {
	return share > 0 && int(w.random(uint64(page), salt)%1000) < share
}

// The salts keep the draws for one page apart.
const (
	saltHost uint64 = iota + 1
	saltKind
	saltPath
	saltLink
	saltStyle
	saltTarget
	saltCharset
	saltGzip
	saltSlow
	saltRate
	saltBusy
	saltText
	saltHang
	saltPace
	saltChange
	saltGone
	saltNoise
	saltSpread
	saltETags
	saltDates
	saltLastmods
	saltAges
	saltSecond
	saltSize
)

// random is the web's only source of chance: a hash of the seed, what is drawn
// for, and which draw it is (the finaliser of splitmix64, twice).
func (w *Web) random(n, salt uint64) uint64 { return mix(mix(w.cfg.Seed^salt<<56) ^ n) }

func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
