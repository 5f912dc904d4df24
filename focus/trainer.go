package focus

import (
	"errors"
	"slices"
)

const (
	// MaxPages is how many pages of each set are learnt from.
	MaxPages = 10_000
	// MinPages is how many of each set are needed: fewer cannot be validated.
	MinPages = 10
	// maxFeatures bounds the features of one page.
	maxFeatures = 32 << 10
)

// Page is an example.
type Page struct {
	URL   string // or a path; its words count for links
	Title string
	Text  []byte // not kept
}

// Trainer collects the pages of both sets. It has one owner.
type Trainer struct {
	pages   []example
	counts  [2]int            // of pages, [1] those of the topic
	texts   map[uint64]bool   // of the pages; true: of the topic
	names   map[uint32]string // of features
	known   *seen             // reused
	dropped map[dropped]int   // pages that were not taken
	scratch []uint32          // reused
}

type dropped struct {
	like bool
	why  Taken
}

// example is a page as a set of features.
type example struct {
	like     bool
	text     uint64   // hash of its features
	features []uint32 // sorted
	link     []uint32 // of its title and its address, in order
}

// Taken is what became of a page that was given to Add.
type Taken uint8

// What becomes of pages.
const (
	Used   Taken = iota
	Empty        // it has no words
	Repeat       // the same text was given before; of a page in both sets the one of the topic is kept
	Full         // there are MaxPages of its set
)

// NewTrainer makes a Trainer without pages.
func NewTrainer() *Trainer {
	return &Trainer{
		texts:   map[uint64]bool{},
		names:   map[uint32]string{},
		known:   new(seen),
		dropped: map[dropped]int{},
	}
}

// Add takes a page of the topic, or another one, and says what became of it.
func (t *Trainer) Add(like bool, p Page) Taken {
	taken := t.add(like, p)
	if taken != Used {
		t.dropped[dropped{like, taken}]++
	}
	return taken
}

func (t *Trainer) add(like bool, p Page) Taken {
	if t.counts[index(like)] >= MaxPages {
		return Full
	}
	e := example{like: like}
	e.features, e.text = t.features(p.Title, p.Text)
	if len(e.features) == 0 {
		return Empty
	}
	if _, known := t.texts[e.text]; known {
		return t.repeat(like, &e)
	}
	e.link = linkFeatures(p.Title, p.URL)
	t.texts[e.text] = like
	t.counts[index(like)]++
	t.pages = append(t.pages, e)
	return Used
}

// repeat drops a page that is known. A page of the topic that was another page before becomes one
// of the topic.
func (t *Trainer) repeat(like bool, e *example) Taken {
	if !like || t.texts[e.text] {
		return Repeat
	}
	for i := range t.pages {
		if t.pages[i].text == e.text {
			t.pages[i].like = true
		}
	}
	t.texts[e.text] = true
	t.counts[0]--
	t.counts[1]++
	t.dropped[dropped{false, Repeat}]++
	return Used
}

func index(like bool) int {
	if like {
		return 1
	}
	return 0
}

// Dropped counts the pages of a set that were not used, by what became of them.
func (t *Trainer) Dropped(like bool, why Taken) int { return t.dropped[dropped{like, why}] }

// Pages counts the pages of both sets.
func (t *Trainer) Pages() (like, unlike int) { return t.counts[1], t.counts[0] }

// features returns the set of features of a page, sorted, and a hash of it.
func (t *Trainer) features(title string, text []byte) (set []uint32, sum uint64) {
	*t.known = seen{}
	t.scratch = t.scratch[:0]
	var buf [maxAnchor]byte
	t.collect(buf[:copy(buf[:], title)])
	t.collect(text[:min(len(text), MaxText)])
	set = slices.Clone(t.scratch[:min(len(t.scratch), maxFeatures)])
	slices.Sort(set)
	for _, f := range set {
		sum = fold(sum, uint64(f))
	}
	return set, sum
}

// collect adds the features of text to scratch, and names them.
func (t *Trainer) collect(text []byte) {
	before := uint64(0)
	var last []byte
	w := words{text: text}
	for h := w.next(); h != 0; h = w.next() {
		word := text[w.start:w.end]
		t.feature(place(h), nil, word)
		if before != 0 {
			t.feature(place(pair(before, h)), last, word)
		}
		before, last = h, word
	}
}

// feature adds a word, or a pair if before is not nil.
func (t *Trainer) feature(f uint32, before, word []byte) {
	if t.known[f/64]>>(f%64)&1 != 0 {
		return
	}
	t.known[f/64] |= 1 << (f % 64)
	t.scratch = append(t.scratch, f)
	if _, named := t.names[f]; !named {
		t.names[f] = nameOf(before, word)
	}
}

// linkFeatures are the features of a link whose text is a page's title.
func linkFeatures(title, url string) []uint32 {
	var list []uint32
	for _, text := range [...]string{title[:min(len(title), maxAnchor)], addressed(url)} {
		before := uint64(0)
		w := words{text: []byte(text[:min(len(text), maxURL)])}
		for h := w.next(); h != 0; h = w.next() {
			list = append(list, place(h))
			if before != 0 {
				list = append(list, place(pair(before, h)))
			}
			before = h
		}
	}
	return list
}

// ErrTooFew is inside the error of Train when there are too few pages.
var ErrTooFew = errors.New("too few pages")
