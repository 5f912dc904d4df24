package integration

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/miekg/dns"
)

// treeWeb is a web in which nothing is found twice: exactly one link leads to each page, and
// exactly one page leads to each host. So the loss of a link, a record or a partition loses a whole
// subtree, and the judge sees it. The only other links lead back to pages without which the linking
// page is not found, so they hide no loss and show whether a record was forgotten.
//
// Three hosts are so big that one request a second keeps them busy through the
// whole schedule; half of the others hang on their pages, so that new hosts, and
// with them links between nodes, come at every moment. The rest form chains of
// hosts. Pages form chains or narrow trees within a host. The spare hosts have no link at all: each
// is reached by a seed of its own, given in the middle of the faults. The seed of every
// other one leads to a host of another domain, which joins the scope by that alone.
type treeWeb struct {
	hosts  []*treeHost // the first is the root; the spare ones come last
	byName map[string]*treeHost
	judge  *simJudge
	owner  func(netip.Addr) string // the node that has an address
	again  simRevisits             // how pages change
}

// treeHost is one host.
type treeHost struct {
	name    string
	addr    netip.Addr
	pages   []treePage    // the first is "/"
	private bool          // robots.txt forbids /private/, and pages link there
	delay   time.Duration // what robots.txt asks for; 0: nothing
	spare   bool          // no link leads there from the root
	seed    bool          // a seed leads there
}

// treePage is one page.
type treePage struct {
	links []string // absolute or paths; of a redirect, its target
	kind  treeKind
	slow  time.Duration // before it answers, so that faults find requests open
}

// treeKind says how a page answers.
type treeKind uint8

const (
	treePlain    treeKind = iota
	treeRedirect          // 301 to its only link
	treeMissing           // 404; nothing lies behind it
	treeBusy              // 503 when first asked, then plain
)

const (
	treeDomain = "tree.test"
	treeBig    = 3  // hosts of at least treeLeast pages
	treeLeast  = 50 // and at most 30 more
	treeSpares = 8
	// treeDelay is longer than it takes to start a process again, so that a gap that
	// is forgotten over a restart shows.
	treeDelay = 4 * time.Second
)

// newTreeWeb grows a web: the same seed gives the same one.
func newTreeWeb(seed uint64) *treeWeb {
	random := rand.New(rand.NewPCG(seed, 1))
	w := &treeWeb{byName: map[string]*treeHost{}}
	hosts := 140 + random.IntN(50)
	for i := range hosts + treeSpares {
		size := 1 + random.IntN(4)
		if i > 0 && i <= treeBig {
			size = treeLeast + random.IntN(31)
		}
		w.grow(random, i, size, i >= hosts)
	}
	for i := range treeSpares {
		w.hosts[hosts+i].seed = true
		if i%2 == 1 {
			w.redirect(random, hosts+i)
		}
	}
	for i := 1; i < hosts; i++ { // the one link to host i
		from := w.hosts[max(0, i-1-random.IntN(12))]
		if i > treeBig && random.IntN(2) == 0 {
			from = w.hosts[1+random.IntN(treeBig)]
		}
		page := random.IntN(len(from.pages))
		from.pages[page].links = append(from.pages[page].links, w.url(w.hosts[i], 0))
		if back := random.IntN(len(w.hosts[i].pages)); random.IntN(2) == 0 {
			w.hosts[i].pages[back].links = append(w.hosts[i].pages[back].links, w.url(from, page))
		}
	}
	w.dress(random)
	w.judge = newSimJudge(w)
	return w
}

// grow adds a host with a chain or a narrow tree of pages.
func (w *treeWeb) grow(random *rand.Rand, i, size int, spare bool) {
	h := &treeHost{
		name:    fmt.Sprintf("h%d.%s", i, treeDomain),
		spare:   spare,
		private: random.IntN(2) == 0,
		addr:    netip.AddrFrom4([4]byte{127, 0, 0, byte(1 + i%simAddrs)}),
		pages:   make([]treePage, size),
	}
	if h.private && size < treeLeast && random.IntN(4) > 0 {
		h.delay = treeDelay
	}
	w.hosts, w.byName[h.name] = append(w.hosts, h), h
	width := 1
	if random.IntN(3) > 0 {
		width = 4
	}
	for page := 1; page < size; page++ {
		parent := max(0, page-1-random.IntN(width))
		h.pages[parent].links = append(h.pages[parent].links, treePath(page))
	}
}

// dress gives the pages their kinds, and the plain ones the links that find
// nothing new.
func (w *treeWeb) dress(random *rand.Rand) {
	for _, h := range w.hosts {
		for i := range h.pages {
			page := &h.pages[i]
			if page.kind == treeRedirect {
				continue
			}
			switch draw := random.IntN(100); {
			case i > 0 && draw < 6 && len(page.links) == 1:
				page.kind = treeRedirect
				continue
			case i > 0 && draw < 12 && len(page.links) == 0:
				page.kind = treeMissing
				continue
			case draw == 99:
				page.kind = treeBusy
			case draw < 26 || len(h.pages) < treeLeast && draw < 40:
				page.slow = time.Duration(200+random.IntN(1800)) * time.Millisecond
			}
			if random.IntN(4) == 0 {
				page.links = append(page.links, "/")
			}
			if h.private && random.IntN(4) == 0 {
				page.links = append(page.links, fmt.Sprintf("/private/%d", i))
			}
		}
	}
}

// redirect gives a spare host a domain of its own, and its only page a redirect to
// a new host of another one.
func (w *treeWeb) redirect(random *rand.Rand, i int) {
	h := w.hosts[i]
	delete(w.byName, h.name)
	h.name, h.private, h.delay = fmt.Sprintf("h%d.from%d.test", i, i), false, 0
	w.byName[h.name] = h
	w.grow(random, len(w.hosts), 1+random.IntN(4), true)
	to := w.hosts[len(w.hosts)-1]
	delete(w.byName, to.name)
	to.name = fmt.Sprintf("h%d.to%d.test", i, i)
	w.byName[to.name] = to
	h.pages = []treePage{{kind: treeRedirect, links: []string{w.url(to, 0)}}}
}

func treePath(page int) string {
	if page == 0 {
		return "/"
	}
	return fmt.Sprintf("/p/%d", page)
}

// page finds the page behind a path.
func (h *treeHost) page(path string) (int, bool) {
	if path == "/" {
		return 0, true
	}
	digits, ok := strings.CutPrefix(path, "/p/")
	i, err := strconv.Atoi(digits)
	return i, ok && err == nil && i > 0 && i < len(h.pages) && treePath(i) == path
}

func (w *treeWeb) url(h *treeHost, page int) string { return "http://" + h.name + treePath(page) }

// root is the seed from which all but the spare hosts are found.
func (w *treeWeb) root() string { return w.url(w.hosts[0], 0) }

// spares are the seeds of the hosts that nothing links to.
func (w *treeWeb) spares() []string {
	var urls []string
	for _, h := range w.hosts {
		if h.seed {
			urls = append(urls, w.url(h, 0))
		}
	}
	return urls
}

// size is the number of pages.
func (w *treeWeb) size() int { return w.count(func(*treeHost) bool { return true }) }

// known is the number of URLs: pages, what robots.txt forbids, and the usual place
// of each host's sitemap.
func (w *treeWeb) known() int {
	urls := map[string]bool{}
	for _, h := range w.hosts {
		for i := range h.pages {
			urls[w.url(h, i)] = true
			for _, link := range h.pages[i].links {
				if strings.HasPrefix(link, "/private/") {
					urls["http://"+h.name+link] = true
				}
			}
		}
	}
	return len(urls) + len(w.hosts)
}

// spareSize is the number of pages that no link leads to.
func (w *treeWeb) spareSize() int { return w.count(func(h *treeHost) bool { return h.spare }) }

func (w *treeWeb) count(which func(*treeHost) bool) int {
	n := 0
	for _, h := range w.hosts {
		if which(h) {
			n += len(h.pages)
		}
	}
	return n
}

// ServeHTTP answers a request by its Host header, and has it judged.
func (w *treeWeb) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	who := ""
	if from, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		who = w.owner(from.Addr())
	}
	h := w.byName[strings.ToLower(r.Host)]
	if h == nil {
		w.judge.blame("%s asked for host %q, which does not exist", who, r.Host)
		http.Error(rw, "no such host", http.StatusNotFound)
		return
	}
	path := r.URL.RequestURI()
	log := w.judge.begin(h, who, path)
	if i, ok := h.page(path); ok && h.pages[i].slow > 0 {
		select {
		case <-time.After(h.pages[i].slow):
		case <-r.Context().Done():
			w.judge.end(h, log, statusGone)
			return
		}
	}
	status, location, body := w.answer(h, path, log.asked)
	status, body = w.again.version(rw, r, status, body)
	if location != "" {
		rw.Header().Set("Location", location)
	}
	rw.Header().Set("Content-Type", "text/html")
	rw.WriteHeader(status)
	// Before the bytes leave, so that no gap is judged shorter than the client
	// saw it.
	w.judge.end(h, log, status)
	_, _ = rw.Write([]byte(body)) // a client that is gone asks again
}

// answer composes an answer; asked counts the requests for the path, this one
// included.
func (w *treeWeb) answer(h *treeHost, path string, asked int) (status int, location, body string) {
	if path == "/robots.txt" {
		if !h.private {
			return http.StatusNotFound, "", ""
		}
		rules := "User-agent: *\nDisallow: /private/\n"
		if h.delay > 0 {
			rules += fmt.Sprintf("Crawl-delay: %g\n", h.delay.Seconds())
		}
		return http.StatusOK, "", rules
	}
	i, ok := h.page(path)
	if !ok {
		return http.StatusNotFound, "", ""
	}
	page := h.pages[i]
	switch {
	case page.kind == treeRedirect:
		return http.StatusMovedPermanently, page.links[0], ""
	case page.kind == treeMissing:
		return http.StatusNotFound, "", ""
	case page.kind == treeBusy && asked == 1:
		return http.StatusServiceUnavailable, "", ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "<title>%s%s</title>", h.name, path)
	for _, link := range page.links {
		fmt.Fprintf(&b, "<a href=%q>x</a>", link)
	}
	return http.StatusOK, "", b.String()
}

// ServeDNS answers questions for the hosts' addresses.
func (w *treeWeb) ServeDNS(rw dns.ResponseWriter, question *dns.Msg) {
	m := new(dns.Msg)
	m.SetReply(question)
	q := question.Question[0]
	h := w.byName[strings.ToLower(strings.TrimSuffix(q.Name, "."))]
	switch {
	case h == nil:
		m.Rcode = dns.RcodeNameError
	case q.Qtype == dns.TypeA:
		m.Answer = []dns.RR{&dns.A{
			Hdr: dns.RR_Header{Name: q.Name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: 3600},
			A:   h.addr.AsSlice(),
		}}
	}
	_ = rw.WriteMsg(m) // who is gone asks again
}

// statusGone is the status of a request whose client did not wait for the answer.
const statusGone = 499

// simGap is the least time between two requests to a host.
const simGap = simDelay - time.Millisecond // times are cut to milliseconds where they travel
