package segment

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"crawlnode/search/analyse"
	"crawlnode/search/rank"
)

// Document is what a Builder is given.
type Document struct {
	Card   Card
	URL    string
	Stored []byte // the record: what it means is the caller's
	// Fields are the texts of the fields; pieces of one field, such as anchors, are no neighbours.
	Fields   [rank.Fields][]string
	Language analyse.Language
	// Labels are terms without positions, such as that of the host. They begin with a lower-case
	// letter, terms of words never do.
	Labels []string
}

// gap separates the pieces of a field, so that no phrase reaches from one to the next.
const gap = 8

// Builder gathers the documents of one segment.
type Builder struct {
	stem    *analyse.Stemmer
	scanner analyse.Scanner

	cards  []Card
	urls   []string
	stored [][]byte

	terms map[string]uint32
	names []string   // of terms
	forms [][]string // of terms: the words as they are written; none of labels
	words map[string]*word
	known map[analyse.Language]map[string]known
	key   []byte // of known

	postings  []posting
	positions []byte  // each less the one before, and the number of its form
	hits      []hit   // of the current document
	chains    []chain // of terms, by number; those of other documents count for nothing
}

type word struct {
	documents uint32
	last      uint32 // document counted last, plus 1
}

// known is what is remembered of a word as it is written in a language. inText is what it is in a
// text: stop words have a term of their own there.
type known struct {
	spot, inText spot
	word         *word
}

// spot is a term and the number of one of its forms.
type spot struct{ term, form uint32 }

// hit is a word of the current document. next is the next hit of its term, plus 1; 0: there is
// none.
type hit struct {
	spot
	position, next uint32
}

// chain is the hits of a term in the document doc-1, by their places in Builder.hits.
type chain struct{ doc, first, last uint32 }

type posting struct {
	term, doc    uint32
	from         uint32 // in Builder.positions
	size         uint32
	impact, mask byte
}

// NewBuilder makes an empty Builder. The Stemmer may be used again after Write.
func NewBuilder(stem *analyse.Stemmer) *Builder {
	return &Builder{
		stem:  stem,
		terms: map[string]uint32{},
		words: map[string]*word{},
		known: map[analyse.Language]map[string]known{},
	}
}

// Len is the number of documents so far.
func (b *Builder) Len() int { return len(b.cards) }

// Add adds a document. Keys must differ.
func (b *Builder) Add(d *Document) {
	doc := uint32(len(b.cards))
	var lengths [rank.Fields]uint32
	b.hits = b.hits[:0]
	for f := range rank.Fields {
		lengths[f] = b.field(d, f, doc)
	}
	d.Card.Words = lengths[rank.Text]
	b.cards = append(b.cards, d.Card)
	b.urls = append(b.urls, d.URL)
	b.stored = append(b.stored, d.Stored)
	b.postAll(doc, &lengths)
	for _, label := range d.Labels {
		b.postings = append(b.postings, posting{term: b.term(label), doc: doc})
	}
}

// field takes the words of a field, and returns how many it has.
func (b *Builder) field(d *Document, f rank.Field, doc uint32) uint32 {
	position, count := f.Start(), uint32(0)
	cache := b.known[d.Language]
	if cache == nil {
		cache = map[string]known{}
		b.known[d.Language] = cache
	}
	for _, text := range d.Fields[f] {
		b.scanner.Reset(text)
		for position < f.End()-gap && b.scanner.Next() {
			w, form := b.scanner.Word(), b.scanner.Form()
			key := form
			if len(form) != len(w) { // "a't" is the word "a" or "t"
				b.key = append(append(append(b.key[:0], w...), 0), form...)
				key = b.key
			}
			k, ok := cache[string(key)]
			if !ok {
				k = b.learn(d.Language, w, string(form))
				cache[string(key)] = k
			}
			at := k.spot
			if f == rank.Text {
				at = k.inText
			}
			b.hits = append(b.hits, hit{spot: at, position: position})
			if k.word != nil && k.word.last != doc+1 {
				k.word.last = doc + 1
				k.word.documents++
			}
			position++
			count++
		}
		position += gap
	}
	return count
}

func (b *Builder) learn(l analyse.Language, w []byte, form string) known {
	stem := b.stem.Stem(l, w)
	k := known{spot: b.spot(stem.Term, form)}
	k.inText = k.spot
	if stem.Stop {
		k.inText = b.spot(analyse.Common(l, string(w)), form)
	}
	k.word = b.words[string(w)]
	if k.word == nil {
		k.word = &word{}
		b.words[string(w)] = k.word
	}
	return k
}

func (b *Builder) term(name string) uint32 {
	t, ok := b.terms[name]
	if !ok {
		t = uint32(len(b.names))
		b.terms[name] = t
		b.names = append(b.names, name)
		b.forms = append(b.forms, nil)
	}
	return t
}

// spot is the term of a name and the number of one of its forms.
func (b *Builder) spot(name, form string) spot {
	s := spot{term: b.term(name)}
	i := slices.Index(b.forms[s.term], form)
	if i < 0 {
		i = len(b.forms[s.term])
		b.forms[s.term] = append(b.forms[s.term], form)
	}
	s.form = uint32(i)
	return s
}

// postAll makes the postings of a document, in the order in which its terms come first. The hits
// come in the order of their positions, so those of a term only need to be chained; to sort them
// took a quarter of the time of an index.
func (b *Builder) postAll(doc uint32, lengths *[rank.Fields]uint32) {
	b.chains = append(b.chains, make([]chain, len(b.names)-len(b.chains))...)
	for i := range b.hits {
		c := &b.chains[b.hits[i].term]
		if c.doc == doc+1 {
			b.hits[c.last].next = uint32(i) + 1
			c.last = uint32(i)
			continue
		}
		*c = chain{doc: doc + 1, first: uint32(i), last: uint32(i)}
	}
	for i := range b.hits {
		if b.chains[b.hits[i].term].first == uint32(i) {
			b.post(doc, i, lengths)
		}
	}
}

// post makes the posting of one term in one document, whose hits begin with the one at first.
func (b *Builder) post(doc uint32, first int, lengths *[rank.Fields]uint32) {
	var frequency [rank.Fields]uint32
	p := posting{term: b.hits[first].term, doc: doc, from: uint32(len(b.positions))}
	last := uint32(0)
	for i := uint32(first) + 1; i > 0; i = b.hits[i-1].next {
		h := &b.hits[i-1]
		if p.mask != 0 && h.position == last {
			continue // two words with one stem never share a place
		}
		f := rank.FieldOf(h.position)
		frequency[f]++
		p.mask |= 1 << f
		b.positions = binary.AppendUvarint(b.positions, uint64(h.position-last))
		b.positions = binary.AppendUvarint(b.positions, uint64(h.form))
		last = h.position
	}
	p.size = uint32(len(b.positions)) - p.from
	p.impact = rank.Impact(&frequency, lengths)
	b.postings = append(b.postings, p)
}

// Write writes the segment to a new file, which is durable afterwards; its folder may not be. After
// an error there is no file.
func (b *Builder) Write(path string) (err error) {
	w, err := newWriter(path)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			w.abandon()
		}
	}()
	stored, err := newStoredWriter(w)
	if err != nil {
		return err
	}
	for _, record := range b.stored {
		stored.add(record)
	}
	stored.finish()
	w.section([]byte(joined(b.urls)))
	cards, keys, end := []byte(nil), make([]uint32, len(b.cards)), uint64(0)
	for i := range b.cards {
		end += uint64(len(b.urls[i]))
		cards = appendCard(cards, &b.cards[i], end)
		keys[i] = uint32(i)
	}
	w.section(cards)
	slices.SortFunc(keys,
		func(i, j uint32) int { return bytes.Compare(b.cards[i].Key[:], b.cards[j].Key[:]) })
	w.section(appendNumbers(nil, keys))
	terms := b.writePostings(w)
	w.end()
	w.section(terms)
	w.section(b.wordTable())
	return w.finish(len(b.cards))
}

func joined(parts []string) string {
	var out bytes.Buffer
	for _, p := range parts {
		out.WriteString(p)
	}
	return out.String()
}

func appendNumbers(dst []byte, numbers []uint32) []byte {
	for _, n := range numbers {
		dst = binary.LittleEndian.AppendUint32(dst, n)
	}
	return dst
}

// sortPostings brings the postings into the order of their terms' places, and those of a term into
// that of the documents. They come document by document, so counting the postings of each term is
// enough; a sort that compares took a third of the time of a crawl with an index.
func (b *Builder) sortPostings(place []uint32) {
	next := make([]int, len(place)+1) // where the next posting of a term goes
	for i := range b.postings {
		next[place[b.postings[i].term]+1]++
	}
	for i := 1; i < len(next); i++ {
		next[i] += next[i-1]
	}
	sorted := make([]posting, len(b.postings))
	for _, p := range b.postings {
		at := &next[place[p.term]]
		sorted[*at] = p
		*at++
	}
	b.postings = sorted
	byDoc := func(x, y posting) int { return cmp.Compare(x.doc, y.doc) }
	for from := 0; from < len(sorted); {
		to := from
		for to < len(sorted) && sorted[to].term == sorted[from].term {
			to++
		}
		if !slices.IsSortedFunc(sorted[from:to], byDoc) {
			slices.SortStableFunc(sorted[from:to], byDoc)
		}
		from = to
	}
}

// writePostings writes the postings and returns the table of terms.
func (b *Builder) writePostings(w *writer) []byte {
	order := make([]uint32, len(b.names)) // terms by name
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(x, y uint32) int { return cmp.Compare(b.names[x], b.names[y]) })
	place := make([]uint32, len(order))
	for i, t := range order {
		place[t] = uint32(i)
	}
	b.sortPostings(place)
	var terms tableWriter
	var list postingsWriter
	var coded []byte
	for i := 0; i < len(b.postings); {
		term := b.postings[i].term
		forms := slices.Sorted(slices.Values(b.forms[term]))
		list.begin(b.names[term], forms)
		renumbered := renumber(b.forms[term], forms)
		for ; i < len(b.postings) && b.postings[i].term == term; i++ {
			p := &b.postings[i]
			coded = codePositions(coded[:0], b.positions[p.from:p.from+p.size], renumbered)
			list.add(p.doc, p.impact, p.mask, coded)
		}
		list.flush()
		w.write(list.out)
		terms.add([]byte(b.names[term]), list.count, uint64(len(list.out)))
	}
	return terms.finish()
}

func (b *Builder) wordTable() []byte {
	names := make([]string, 0, len(b.words))
	for name := range b.words {
		names = append(names, name)
	}
	slices.Sort(names)
	var words tableWriter
	for _, name := range names {
		words.add([]byte(name), uint64(b.words[name].documents), 0)
	}
	return words.finish()
}
