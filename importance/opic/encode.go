package opic

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

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

// int31 reads a number, maybe negative, of which 31 bits are enough.
func (r *reader) int31() int {
	v := r.i()
	if v > math.MaxInt32 || v < -math.MaxInt32 {
		r.fail()
		return 0
	}
	return int(v)
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

// appendURLs appends the number of the first URLs that are of one host, the host and the URLs; it
// returns how many they are. URLs of one host stand together, but for no more than limit.
func appendURLs(b []byte, limit int, at func(int) URL) ([]byte, int) {
	n := 1
	for n < limit && at(n).Host() == at(0).Host() {
		n++
	}
	b = binary.AppendUvarint(b, uint64(n))
	host := uint32(at(0).Host())
	b = append(b, byte(host>>16), byte(host>>8), byte(host))
	for i := range n {
		u := at(i)
		b = append(b, byte(u>>32))
		b = binary.BigEndian.AppendUint32(b, uint32(u))
	}
	return b, n
}

// urls reads what appendURLs has written: the host in the place that it has in a URL's number, and
// the rest of each.
func (r *reader) urls() (host URL, rest []byte) {
	n := r.count()
	if n == 0 || len(r.b) < hostBits/8+n*urlBytes {
		r.fail()
		return 0, nil
	}
	h := r.take(hostBits / 8)
	return (URL(h[0])<<16 | URL(h[1])<<8 | URL(h[2])) << urlBits, r.take(n * urlBytes)
}

// urlBytes is what a URL takes beside its host, and LinkBytes what a link takes at least.
const (
	urlBytes  = urlBits / 8
	LinkBytes = urlBytes
)

// nextURL takes a URL off what reader.urls returned.
func nextURL(host URL, rest []byte) (URL, []byte) {
	return host | URL(rest[0])<<32 | URL(binary.BigEndian.Uint32(rest[1:])), rest[urlBytes:]
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
	accountIn
	accountFlags // these flags are below
)

// accountAt is a flag above the highest level.
const accountAt = crawl.Bands * accountFlags

// appendAccount appends an account: flags with the level above them, pending, of a fetched page
// settled and links, and the sites and the links to it and where its own links are, if there are
// any.
func appendAccount(b []byte, a *Account) []byte {
	flags := uint64(a.Level) * accountFlags
	if a.Fetched {
		flags |= accountFetched
	}
	if a.Sites != (Sites{}) {
		flags |= accountSites
	}
	if a.In != 0 {
		flags |= accountIn
	}
	if a.At != 0 {
		flags |= accountAt
	}
	b = binary.AppendUvarint(b, flags)
	b = binary.AppendVarint(b, int64(a.Pending))
	if a.Fetched {
		b = binary.AppendVarint(b, int64(a.Settled))
		b = binary.AppendUvarint(b, uint64(a.Links))
	}
	if a.Sites != (Sites{}) {
		b = append(b, a.Sites[:]...)
	}
	if a.In != 0 {
		b = binary.AppendVarint(b, int64(a.In))
	}
	if a.At != 0 {
		b = binary.AppendUvarint(b, a.At)
	}
	return b
}

// account reads what appendAccount has written.
func (r *reader) account() (a Account) {
	flags := r.below(2 * accountAt)
	a.Level = uint8(flags % accountAt / accountFlags)
	a.Fetched = flags&accountFetched != 0
	a.Pending = Cash(r.i())
	if a.Fetched {
		a.Settled = Cash(r.i())
		a.Links = int(r.below(math.MaxInt32))
	}
	if flags&accountSites != 0 {
		copy(a.Sites[:], r.take(len(a.Sites)))
	}
	if flags&accountIn != 0 {
		if a.In = r.int31(); a.In == 0 {
			r.fail()
		}
	}
	if flags&accountAt != 0 {
		if a.At = r.u(); a.At == 0 {
			r.fail()
		}
	}
	return a
}

// AppendLinks appends the links of a page, which are in order: for each host its partition and its
// URLs. A link takes 5 bytes, and 5 to 7 more for each host.
func AppendLinks(b []byte, links []Target) []byte {
	b = append(b, formatVersion)
	for len(links) > 0 {
		to, n := links[0].Partition, 1
		for n < len(links) && links[n].Partition == to {
			n++
		}
		b = binary.AppendUvarint(b, uint64(to))
		b, n = appendURLs(b, n, func(i int) URL { return links[i].URL })
		links = links[n:]
	}
	return b
}

// DecodeLinks reads what AppendLinks has written.
func DecodeLinks(b []byte) ([]Target, error) { return DecodeLinksInto(nil, b) }

// DecodeLinksInto reads what AppendLinks has written into the memory of dst, whose content is lost.
func DecodeLinksInto(dst []Target, b []byte) ([]Target, error) {
	r := reader{b: b}
	r.version()
	links := slices.Grow(dst[:0], len(r.b)/urlBytes)
	for len(r.b) > 0 {
		to := crawl.Partition(r.below(1 << 16))
		host, rest := r.urls()
		for len(rest) > 0 {
			var u URL
			u, rest = nextURL(host, rest)
			links = append(links, Target{to, u})
			if n := len(links); n > 1 && compareTargets(links[n-2], links[n-1]) >= 0 {
				r.fail()
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
		for n < len(credits) && credits[n].Amount == credits[0].Amount &&
			credits[n].Links == credits[0].Links {
			n++
		}
		b = binary.AppendVarint(b, int64(credits[0].Amount))
		b = binary.AppendVarint(b, int64(credits[0].Links))
		b, n = appendURLs(b, n, func(i int) URL { return credits[i].URL })
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
		amount, links := Cash(r.i()), int32(r.int31())
		host, rest := r.urls()
		for len(rest) > 0 {
			var u URL
			u, rest = nextURL(host, rest)
			credits = append(credits, Credit{u, amount, links})
		}
	}
	if len(credits) > n {
		r.fail()
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
	h := &Histogram{}
	return h, h.Decode(b)
}

// Decode adds what AppendHistogram has written. After an error the histogram has a part of it.
func (h *Histogram) Decode(b []byte) error {
	r := reader{b: b}
	r.version()
	at := -1
	for len(r.b) > 0 {
		distance := int(r.below(buckets + 1))
		n := r.i()
		if at += distance; distance == 0 || at >= buckets || n == 0 {
			r.fail()
			break
		}
		h.counts[at] += n
		h.total += n
	}
	return r.end("histogram")
}

// AppendDeltas appends deltas, which are in order.
func AppendDeltas(b []byte, deltas []Delta) []byte {
	b = append(b, formatVersion)
	var last URL
	for i := range deltas {
		d := &deltas[i]
		b = binary.AppendUvarint(b, uint64(d.URL-last))
		b = binary.AppendVarint(binary.AppendVarint(b, int64(d.Amount)), int64(d.Links))
		b = append(b, d.Sites[:]...)
		last = d.URL
	}
	return b
}

// DecodeDeltas reads what AppendDeltas has written.
func DecodeDeltas(b []byte) ([]Delta, error) {
	r := reader{b: b}
	r.version()
	var deltas []Delta
	var last URL
	for len(r.b) > 0 {
		d := Delta{URL: last + URL(r.u()), Amount: Cash(r.i()), Links: r.int31()}
		copy(d.Sites[:], r.take(len(d.Sites)))
		if d.URL < last || d.URL == last && len(deltas) > 0 {
			r.fail()
		}
		deltas, last = append(deltas, d), d.URL
	}
	if err := r.end("changes of accounts"); err != nil {
		return nil, err
	}
	return deltas, nil
}
