package importance

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"crawlnode/crawl"
)

// Values begin with this byte. What is new in a value stands behind a flag.
const formatVersion = 1

// errDamaged says that bytes are not what they should be.
var errDamaged = errors.New("importance: damaged value")

// reader takes pieces off a value. After the first that cannot be read all others are zero.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) fail() { r.bad, r.b = true, nil }

func (r *reader) u() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) i() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return v
}

// below reads a number that must be below limit.
func (r *reader) below(limit uint64) uint64 {
	v := r.u()
	if v >= limit {
		r.fail()
		return 0
	}
	return v
}

// count reads the number of things of which each takes at least a byte.
func (r *reader) count() int { return int(r.below(uint64(len(r.b)) + 1)) }

func (r *reader) take(n int) []byte {
	if n > len(r.b) {
		r.fail()
		return make([]byte, n)
	}
	v := r.b[:n]
	r.b = r.b[n:]
	return v
}

// appendURL appends the number of a URL.
func appendURL(b []byte, u URL) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(b, uint16(u>>32)), uint32(u))
}

func (r *reader) url() URL {
	b := r.take(urlBits / 8)
	return URL(binary.BigEndian.Uint16(b))<<32 | URL(binary.BigEndian.Uint32(b[2:]))
}

// version reads the first byte.
func (r *reader) version() {
	if r.take(1)[0] != formatVersion {
		r.fail()
	}
}

func (r *reader) end(what string) error {
	if r.bad || len(r.b) > 0 {
		return fmt.Errorf("%w: %s", errDamaged, what)
	}
	return nil
}

const (
	accountFetched = 1 << iota
	accountSites
	accountFlags // the flags that are known are below
)

// AppendAccount appends an account: version, flags with moves above them, pending, and what is not
// zero of settled, links and sites. A URL with one link to it takes 13 bytes, of which 8 are its
// sites.
func AppendAccount(b []byte, a *Account) []byte {
	flags := uint64(a.Moves) * accountFlags
	if a.Fetched {
		flags |= accountFetched
	}
	if a.Sites != (Sites{}) {
		flags |= accountSites
	}
	b = binary.AppendUvarint(append(b, formatVersion), flags)
	b = binary.AppendVarint(b, int64(a.Pending))
	if a.Fetched {
		b = binary.AppendVarint(b, int64(a.Settled))
		b = binary.AppendUvarint(b, uint64(a.Links))
	}
	if a.Sites != (Sites{}) {
		b = append(b, a.Sites[:]...)
	}
	return b
}

// DecodeAccount reads what AppendAccount has written.
func DecodeAccount(b []byte) (a Account, err error) {
	r := reader{b: b}
	r.version()
	flags := r.below((MaxMoves + 1) * accountFlags)
	a.Moves = uint8(flags / accountFlags)
	a.Fetched = flags&accountFetched != 0
	a.Pending = Cash(r.i())
	if a.Fetched {
		a.Settled = Cash(r.i())
		a.Links = int(r.below(math.MaxInt32))
	}
	if flags&accountSites != 0 {
		copy(a.Sites[:], r.take(len(a.Sites)))
	}
	return a, r.end("account")
}

// AppendLinks appends the links of a page, which are in order: for each partition its number and
// count, then the URLs. A link takes 6 bytes, and 2 or 3 more for each partition.
func AppendLinks(b []byte, links []Target) []byte {
	b = append(b, formatVersion)
	for len(links) > 0 {
		to, n := links[0].Partition, 0
		for n < len(links) && links[n].Partition == to {
			n++
		}
		b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(to)), uint64(n))
		for _, l := range links[:n] {
			b = appendURL(b, l.URL)
		}
		links = links[n:]
	}
	return b
}

// DecodeLinks reads what AppendLinks has written.
func DecodeLinks(b []byte) ([]Target, error) {
	r := reader{b: b}
	r.version()
	var links []Target
	for len(r.b) > 0 {
		to := crawl.Partition(r.below(1 << 16))
		for range r.count() {
			links = append(links, Target{to, r.url()})
			if n := len(links); n > 1 && compareTargets(links[n-2], links[n-1]) >= 0 {
				r.fail()
			}
			if r.bad {
				break
			}
		}
	}
	if err := r.end("links"); err != nil {
		return nil, err
	}
	return links, nil
}

// AppendParcel appends a parcel. Amounts of one entry are mostly equal, so each stands with the
// number of credits that have it.
func AppendParcel(b []byte, p *Parcel) []byte {
	b = append(b, formatVersion)
	for _, v := range [...]uint64{uint64(p.From), uint64(p.To), p.After, uint64(len(p.Entries))} {
		b = binary.AppendUvarint(b, v)
	}
	seq := p.After
	for i := range p.Entries {
		e := &p.Entries[i]
		b = binary.AppendUvarint(binary.AppendUvarint(b, e.Seq-seq), uint64(e.Site))
		seq = e.Seq
		b = appendCredits(b, e.Credits)
	}
	return b
}

func appendCredits(b []byte, credits []Credit) []byte {
	b = binary.AppendUvarint(b, uint64(len(credits)))
	for len(credits) > 0 {
		n := 1
		for n < len(credits) && credits[n].Amount == credits[0].Amount {
			n++
		}
		b = binary.AppendVarint(binary.AppendUvarint(b, uint64(n)), int64(credits[0].Amount))
		for _, c := range credits[:n] {
			b = appendURL(b, c.URL)
		}
		credits = credits[n:]
	}
	return b
}

// DecodeParcel reads what AppendParcel has written.
func DecodeParcel(b []byte) (p Parcel, err error) {
	r := reader{b: b}
	r.version()
	p.From, p.To = crawl.Partition(r.below(1<<16)), crawl.Partition(r.below(1<<16))
	p.After = r.u()
	seq := p.After
	for range r.count() {
		e := Entry{Seq: seq + r.u(), Site: Site(r.below(1 << 10))}
		if e.Seq <= seq {
			r.fail() // numbers grow
		}
		seq = e.Seq
		e.Credits = r.credits()
		if r.bad {
			break
		}
		p.Entries = append(p.Entries, e)
	}
	return p, r.end("parcel")
}

func (r *reader) credits() []Credit {
	n := r.count()
	credits := make([]Credit, 0, min(n, 1024))
	for len(credits) < n && !r.bad {
		same, amount := r.below(uint64(n-len(credits))+1), Cash(r.i())
		if same == 0 {
			r.fail()
		}
		for range same {
			credits = append(credits, Credit{r.url(), amount})
			if r.bad {
				break
			}
		}
	}
	return credits
}

// AppendHistogram appends the buckets that are not empty: the distance from the one before, and
// the count.
func AppendHistogram(b []byte, h *Histogram) []byte {
	b = append(b, formatVersion)
	last := -1
	for i, n := range h.counts {
		if n != 0 {
			b = binary.AppendVarint(binary.AppendUvarint(b, uint64(i-last)), n)
			last = i
		}
	}
	return b
}

// DecodeHistogram reads what AppendHistogram has written.
func DecodeHistogram(b []byte) (*Histogram, error) {
	r := reader{b: b}
	r.version()
	h, at := &Histogram{}, -1
	for len(r.b) > 0 {
		distance := int(r.below(buckets + 1))
		n := r.i()
		if at += distance; distance == 0 || at >= buckets || n == 0 {
			r.fail()
			break
		}
		h.counts[at] = n
		h.total += n
	}
	return h, r.end("histogram")
}
