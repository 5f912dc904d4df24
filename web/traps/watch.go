package traps

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"crawlnode/web/scope"
	"crawlnode/web/urlnorm"
)

const (
	// MinBarren is how many barren pages make a trap.
	MinBarren = 24
	// lookEvery is after how many barren pages of a site its shapes are looked at.
	lookEvery = 8
	// maxShapes bounds the shapes of a site. Further ones count as their folder.
	maxShapes = 2048
	// maxTraps bounds the traps of a site that are told.
	maxTraps = 8
	// maxSites bounds the sites, however small they are.
	maxSites = 1 << 16
	// shapeBytes is about what a shape takes, with texts of usual lengths.
	shapeBytes = 500
	// fewPages are the pages of a site that are not looked at: reading the words of each is dear, and
	// a site of so few pages is crawled soon, whatever it is.
	fewPages = 48
	// sampleAfter is how many pages of a shape in a row were novel when only one in sampleEvery is
	// looked at; a barren one ends that.
	sampleAfter, sampleEvery = 64, 8
	// maxNovel is how many novel pages of a trap show that it is none, when they are also more than
	// its barren ones since it was found.
	maxNovel = 16
)

// Page is a page that was fetched.
type Page struct {
	URL      urlnorm.URL
	Text     []byte   // as a reader sees it
	Pictures []string // the URLs of what it shows
	// Copy: its payload is that of another page of the site.
	Copy bool
}

// Trap is a series of pages that does not end.
type Trap struct {
	Host    string // without port
	Pattern string // the exclude pattern that leaves it out
	Example string // the URL of one of its pages
	Pages   int64  // how many were fetched
	Since   time.Time
}

// Detector looks at the pages of all sites. Its methods may be called from any number of
// goroutines.
type Detector struct {
	limit int

	mu    sync.Mutex // guards the rest
	sites map[string]*site
	bytes int
	tick  uint64
}

// New makes a Detector that keeps about so many bytes.
func New(limit int) *Detector { return &Detector{limit: limit, sites: map[string]*site{}} }

// site is what is known of one origin.
type site struct {
	origin  string
	seen    seen
	shapes  map[string]*counts
	pages   int
	barren  int
	traps   []*trap
	bytes   int
	lastUse uint64
}

// trap is a Trap with what finds its pages.
type trap struct {
	Trap
	rules         *scope.Rules
	barren, novel int // since it was found
}

// Observe takes a page, and returns the trap that it revealed, or nil.
func (w *Detector) Observe(now time.Time, p *Page) *Trap {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tick++
	s := w.site(p.URL.Origin())
	t := s.take(now, p)
	w.bytes -= s.bytes
	s.measure()
	w.bytes += s.bytes
	w.shrink(s)
	if t == nil {
		return nil
	}
	told := t.Trap
	return &told
}

// Contains reports whether a URL belongs to a known trap.
func (w *Detector) Contains(u urlnorm.URL) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.sites[u.Origin()]
	return s != nil && s.trapOf(u) != nil
}

// Traps returns the traps whose pages rules do not exclude, those with the most pages first.
// Nil rules exclude nothing.
func (w *Detector) Traps(rules *scope.Rules) []Trap {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []Trap
	for _, s := range w.sites {
		for _, t := range s.traps {
			u, err := urlnorm.ParseRouted(t.Example)
			if err == nil && rules != nil && rules.Excludes(u) {
				continue
			}
			all = append(all, t.Trap)
		}
	}
	slices.SortFunc(all, func(a, b Trap) int {
		return cmp.Or(cmp.Compare(b.Pages, a.Pages), cmp.Compare(a.Pattern, b.Pattern))
	})
	return all
}

func (w *Detector) site(origin string) *site {
	s := w.sites[origin]
	if s == nil {
		s = &site{origin: origin, shapes: map[string]*counts{}}
		w.sites[origin] = s
	}
	s.lastUse = w.tick
	return s
}

// shrink forgets sites until the rest fits: of a few that chance picks, the one with the fewest
// barren pages, and of those the one that had no page for the longest time.
func (w *Detector) shrink(keep *site) {
	for (w.bytes > w.limit || len(w.sites) > maxSites) && len(w.sites) > 1 {
		var victim *site
		picked := 0
		for _, s := range w.sites { // in the map's random order
			if s == keep {
				continue
			}
			if victim == nil || cmp.Or(cmp.Compare(s.barren, victim.barren),
				cmp.Compare(s.lastUse, victim.lastUse)) < 0 {
				victim = s
			}
			if picked++; picked == 16 {
				break
			}
		}
		w.bytes -= victim.bytes
		delete(w.sites, victim.origin)
	}
}

// measure updates the memory that the site takes.
func (s *site) measure() {
	s.bytes = 512 + len(s.origin) + s.seen.bytes() + len(s.shapes)*shapeBytes
	for _, t := range s.traps {
		s.bytes += 2048 + len(t.Pattern)
	}
}

func (s *site) take(now time.Time, p *Page) *trap {
	s.pages++
	known := s.trapOf(p.URL)
	var c *counts
	if known == nil {
		c = s.counts(p.URL)
		switch {
		case c != nil && s.pages <= fewPages:
			c.early++
			return nil
		case c != nil && c.inRow >= sampleAfter:
			if c.unseen++; c.unseen < sampleEvery {
				return nil
			}
			c.unseen = 0
		}
	}
	n := s.seen.take(p.Text, p.Pictures)
	if p.Copy {
		n = barren
	}
	if known != nil {
		s.follow(known, n)
		return nil
	}
	if n == empty || c == nil {
		return nil
	}
	c.count(p.URL, n)
	if n == novel {
		return nil
	}
	if s.barren++; s.barren < MinBarren || s.barren%lookEvery != 0 {
		return nil
	}
	return s.look(now)
}

// trapOf is the known trap of a URL, or nil.
func (s *site) trapOf(u urlnorm.URL) *trap {
	for _, t := range s.traps {
		if t.rules.Excludes(u) {
			return t
		}
	}
	return nil
}

// follow counts a page of a known trap. One whose pages are novel again is none.
func (s *site) follow(t *trap, n novelty) {
	t.Pages++
	switch n {
	case novel:
		t.novel++
	case barren:
		t.barren++
	}
	if t.novel >= maxNovel && t.novel > t.barren {
		s.traps = slices.DeleteFunc(s.traps, func(o *trap) bool { return o == t })
	}
}

// counts are those of the shape of a URL; nil: the site has too many shapes.
func (s *site) counts(u urlnorm.URL) *counts {
	shape := shapeOf(u)
	key := shape.key()
	c := s.shapes[key]
	if c == nil && len(s.shapes) >= maxShapes {
		shape.path, shape.query, shape.params = folder(shape.path), false, nil
		key = shape.key()
		c = s.shapes[key]
	}
	if c == nil {
		if len(s.shapes) >= 2*maxShapes {
			return nil
		}
		c = &counts{shape: shape, example: u.String()}
		s.shapes[key] = c
	}
	return c
}

// count counts a page of the shape that was looked at, and those before it that were not.
func (c *counts) count(u urlnorm.URL, n novelty) {
	at := onlyNumber(&c.shape, u)
	if n == novel {
		if c.novel++; c.inRow >= sampleAfter {
			c.novel += sampleEvery - 1
		}
		c.inRow++
		c.lastNovel = max(c.lastNovel, at)
		return
	}
	c.inRow = 0
	c.last = u.String()
	if c.barren++; c.firstBarren == 0 || at < c.firstBarren {
		c.firstBarren = at
	}
}

// folder is a path up to its last slash.
func folder(path string) string {
	for i := len(path) - 1; i > 0; i-- {
		if path[i] == '/' {
			return path[:i+1]
		}
	}
	return "/"
}

// look looks for a trap among the shapes.
func (s *site) look(now time.Time) *trap {
	var f family
	var pattern string
	var rules *scope.Rules
	for _, f = range trapped(s.shapes) {
		if pattern, rules = f.excluding(s.origin, s.shapes); rules != nil {
			break
		}
	}
	if rules == nil {
		return nil
	}
	t := &trap{Trap: Trap{Pattern: pattern, Since: now}, rules: rules}
	most := -1
	for key, c := range s.shapes {
		if !f.has(&c.shape) {
			continue
		}
		if c.barren > most {
			most, t.Example = c.barren, c.last
		}
		s.barren -= c.barren
		t.Pages += int64(c.barren)
		if c.cut() && f.kind == byShape {
			c.barren, c.firstBarren = 0, 0
			continue
		}
		t.Pages += int64(c.novel + c.early)
		delete(s.shapes, key)
	}
	if u, err := urlnorm.ParseRouted(t.Example); err == nil {
		t.Host = u.Host()
	}
	s.adopt(t)
	return t
}

// adopt adds a trap in place of those that it contains.
func (s *site) adopt(t *trap) {
	s.traps = slices.DeleteFunc(s.traps, func(o *trap) bool {
		u, err := urlnorm.ParseRouted(o.Example)
		if err != nil || !t.rules.Excludes(u) {
			return false
		}
		t.Pages += o.Pages
		t.Since = o.Since
		return true
	})
	if len(s.traps) >= maxTraps {
		s.traps = s.traps[1:]
	}
	s.traps = append(s.traps, t)
}
