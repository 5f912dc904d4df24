package layout

import (
	"encoding/binary"
	"fmt"

	"crawlnode/crawl"
	"crawlnode/importance/opic"
	"crawlnode/web/urlnorm"
)

// Importance has two tables of its own, which a crawl without importance never writes:
//
//	k a bound (8)          block of accounts; bound is the highest URL number that it may have
//	k g seq (8)            log: what was not folded into the accounts yet
//	k h host (3) name      a host by the number that its URLs have in common; no value
//	k i partition (2)      up to which number credits of that partition were taken
//	k l URL (8)            links of a page at its last fetch that was folded
//	k r                    histogram of the accounts
//	k s host (3)           sites that link to a host
//	k t                    sums
//	x target (2) seq (8)   credits that wait for the target's acknowledgement
//
// The numbers of k g and x are those of the outbox of links: PartState.OutboxNext. The table is
// in front of x in the order of keys, and both are part of the partition: they move, are copied
// and replicated as they are.
const (
	TableCash    = 'k'
	TableCredits = 'x'
)

// The second letter of the keys of TableCash.
const (
	CashAccounts = 'a'
	CashHosts    = 'h'
	CashLog      = 'g'
	CashInbox    = 'i'
	CashLinks    = 'l'
	CashSites    = 's'
)

// CashRanks and CashTotals are the relative keys of a partition's histogram and sums.
const (
	CashRanks  = string(TableCash) + "r"
	CashTotals = string(TableCash) + "t"
)

// AppendCashKey appends a relative key of TableCash with a number of 8 bytes: of a block, a log
// entry, or the links of a page.
func AppendCashKey(b []byte, what byte, number uint64) []byte {
	return binary.BigEndian.AppendUint64(append(b, TableCash, what), number)
}

// ParseCashKey reads the number of such a key.
func ParseCashKey(rel []byte, what byte) (number uint64, ok bool) {
	if len(rel) != 10 || rel[0] != TableCash || rel[1] != what {
		return 0, false
	}
	return binary.BigEndian.Uint64(rel[2:]), true
}

// AppendInboxKey appends the relative key of the mark of a sending partition.
func AppendInboxKey(b []byte, from crawl.Partition) []byte {
	return binary.BigEndian.AppendUint16(append(b, TableCash, CashInbox), uint16(from))
}

// AppendHostNumberKey appends the relative key of what is known of a host by its number: CashHosts,
// which the name of the host follows, or CashSites.
func AppendHostNumberKey(b []byte, what byte, u opic.URL) []byte {
	n := u.Host()
	return append(b, TableCash, what, byte(n>>16), byte(n>>8), byte(n))
}

// HostOfKey is the name in a relative key of CashHosts.
func HostOfKey(rel []byte) crawl.Host { return crawl.Host(rel[min(len(rel), 5):]) }

// AppendNumberedKey appends what the relative keys of all records begin with that a URL of a host
// with this number may have.
func AppendNumberedKey(b []byte, host crawl.Host, u opic.URL) []byte {
	b = append(AppendHost(b, TableRecords, host), 0)
	return append(b, byte(u>>32), byte(u>>24), byte(u>>16), byte(u>>8), byte(u))
}

// EncodeSites writes the sites that link to a host.
func EncodeSites(s *opic.Sites) []byte {
	w := newEncoder(16)
	w.bytes(s[:])
	return w.b
}

// DecodeSites reads them.
func DecodeSites(b []byte) (s opic.Sites, err error) {
	r := newDecoder(b)
	copy(s[:], r.take(uint64(len(s))))
	return s, r.end("sites that link to a host")
}

// AppendCreditsKey appends the relative key of waiting credits.
func AppendCreditsKey(b []byte, k OutboxKey) []byte {
	from := len(b)
	b = AppendOutboxKey(b, k)
	b[from] = TableCredits
	return b
}

// ParseCreditsKey reads a relative key of waiting credits.
func ParseCreditsKey(rel []byte) (OutboxKey, bool) {
	if len(rel) != 11 || rel[0] != TableCredits {
		return OutboxKey{}, false
	}
	return OutboxKey{
		Target: crawl.Partition(binary.BigEndian.Uint16(rel[1:])),
		Seq:    binary.BigEndian.Uint64(rel[3:]),
	}, true
}

// CashTotalsEntry are the sums of a partition's cash.
type CashTotalsEntry struct {
	Ledger opic.Ledger
	Least  opic.Cash // what must be pending for a page to settle
	Next   uint64    // OutboxNext, when credits were last posted
	// Accounts and Pages are the numbers of accounts and of those that were fetched.
	Accounts, Pages int64
	// Folds is the number of folds. What the log has up to the number Folded has been folded: these
	// are links of pages.
	Folds, Folded uint64
}

// EncodeCashTotals writes the sums.
//
//	version, i minted, i evaporated, i sent, i received, i least, u next, i accounts, i pages[, u folds, u folded]
func EncodeCashTotals(t *CashTotalsEntry) []byte {
	w := newEncoder(64)
	for _, c := range [...]opic.Cash{t.Ledger.Minted, t.Ledger.Evaporated, t.Ledger.Sent,
		t.Ledger.Received, t.Least} {
		w.i(int64(c))
	}
	w.u(t.Next)
	w.i(t.Accounts)
	w.i(t.Pages)
	if t.Folds != 0 || t.Folded != 0 {
		w.u(t.Folds)
		w.u(t.Folded)
	}
	return w.b
}

// DecodeCashTotals reads the sums; nil are those of a partition that has none yet.
func DecodeCashTotals(b []byte) (t CashTotalsEntry, err error) {
	if b == nil {
		return t, nil
	}
	r := newDecoder(b)
	for _, c := range [...]*opic.Cash{&t.Ledger.Minted, &t.Ledger.Evaporated, &t.Ledger.Sent,
		&t.Ledger.Received, &t.Least} {
		*c = opic.Cash(r.i())
	}
	t.Next, t.Accounts, t.Pages = r.u(), r.i(), r.i()
	if len(r.b) > 0 {
		t.Folds, t.Folded = r.u(), r.u()
	}
	return t, r.end("sums of a partition's cash")
}

// CashVisit is a page that was fetched, with its distinct links in order.
type CashVisit struct {
	URL   opic.URL
	Site  opic.Site
	Links []opic.Target
}

// CashLogEntry is an entry of the log: one of its fields is set.
type CashLogEntry struct {
	Visit   *CashVisit
	Credits []opic.Entry // that came from other partitions, or that a page has settled
	Deltas  []opic.Delta // that were put off
}

// Kinds of log entries.
const (
	logVisit = 1 + iota
	logCredits
	logDeltas
)

// EncodeCashVisit writes a log entry of a page.
//
//	version, byte kind, u URL, links as EncodeCashLinks
func EncodeCashVisit(v *CashVisit) []byte {
	w := newEncoder(24 + 6*len(v.Links))
	w.byte(logVisit)
	w.u(uint64(v.URL))
	w.b = appendLinks(w.b, v.Site, v.Links)
	return w.b
}

// EncodeCashCredits writes a log entry of credits, or credits that wait for their target.
//
//	version, byte kind, parcel with the entries numbered from 1
func EncodeCashCredits(entries []opic.Entry) []byte {
	credits := 0
	for i := range entries {
		entries[i].Seq = uint64(i + 1)
		credits += len(entries[i].Credits)
	}
	// of one host, and with one amount, they take so much
	w := newEncoder(64 + 12*len(entries) + 6*credits)
	w.byte(logCredits)
	w.b = opic.AppendParcel(w.b, &opic.Parcel{Entries: entries})
	return w.b
}

// EncodeCashDeltas writes a log entry of what was put off.
func EncodeCashDeltas(deltas []opic.Delta) []byte {
	w := newEncoder(16 * len(deltas))
	w.byte(logDeltas)
	w.b = opic.AppendDeltas(w.b, deltas)
	return w.b
}

// DecodeCashLog reads an entry of the log.
func DecodeCashLog(b []byte) (CashLogEntry, error) { return DecodeCashLogInto(nil, b) }

// DecodeCashLogInto reads an entry of the log. The links of a page go into the memory of dst, whose
// content is lost, if there is enough.
func DecodeCashLogInto(dst []opic.Target, b []byte) (e CashLogEntry, err error) {
	r := newDecoder(b)
	switch r.byte() {
	case logVisit:
		e.Visit = &CashVisit{URL: opic.URL(r.u())}
		if r.bad {
			break
		}
		e.Visit.Site, e.Visit.Links, err = readLinks(dst, &r)
		return e, corruptCash(err)
	case logCredits:
		p, err := opic.DecodeParcel(r.b)
		e.Credits = p.Entries
		return e, corruptCash(err)
	case logDeltas:
		e.Deltas, err = opic.DecodeDeltas(r.b)
		return e, corruptCash(err)
	}
	return e, fmt.Errorf("%w: log of credits", ErrCorrupt)
}

// maxCreditLinks is far above the links that the pages of one site, in one fold, have to one URL.
const maxCreditLinks = 1 << 20

// DecodeCashCredits reads credits that another partition has sent.
func DecodeCashCredits(b []byte) ([]opic.Entry, error) {
	e, err := DecodeCashLog(b)
	if err == nil && (e.Visit != nil || e.Deltas != nil) {
		err = fmt.Errorf("%w: credits", ErrCorrupt)
	}
	for i := range e.Credits {
		for _, c := range e.Credits[i].Credits {
			if c.Links > maxCreditLinks || c.Links < -maxCreditLinks {
				return nil, fmt.Errorf("%w: credits of %d links to one URL", ErrCorrupt, c.Links)
			}
		}
	}
	return e.Credits, err
}

// EncodeCashLinks writes the links of a page.
//
//	version, site (2), links
func EncodeCashLinks(site opic.Site, links []opic.Target) []byte {
	return appendLinks(newEncoder(8+6*len(links)).b, site, links)
}

// DecodeCashLinks reads the links of a page into the memory of dst, whose content is lost; nil is
// good.
func DecodeCashLinks(dst []opic.Target, b []byte) (opic.Site, []opic.Target, error) {
	r := newDecoder(b)
	site, links, err := readLinks(dst, &r)
	return site, links, corruptCash(err)
}

// DecodeCashVisitOf reads the links of a page as DecodeCashLinks does, from its log entry.
func DecodeCashVisitOf(
	dst []opic.Target,
	page opic.URL,
	b []byte,
) (opic.Site, []opic.Target, error) {
	r := newDecoder(b)
	if r.byte() != logVisit || opic.URL(r.u()) != page {
		return 0, nil, fmt.Errorf("%w: links of a page in the log of credits", ErrCorrupt)
	}
	site, links, err := readLinks(dst, &r)
	return site, links, corruptCash(err)
}

func appendLinks(b []byte, site opic.Site, links []opic.Target) []byte {
	return opic.AppendLinks(binary.BigEndian.AppendUint16(b, uint16(site)), links)
}

func readLinks(dst []opic.Target, r *decoder) (opic.Site, []opic.Target, error) {
	var site opic.Site
	if two := r.take(2); two != nil {
		site = opic.Site(binary.BigEndian.Uint16(two))
	}
	if r.bad || site > opic.MaxSite {
		return 0, nil, fmt.Errorf("%w: site of a page", ErrCorrupt)
	}
	links, err := opic.DecodeLinksInto(dst, r.b)
	return site, links, err
}

func corruptCash(err error) error {
	if err != nil {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return nil
}

// NumberOf is the number of a URL in its partition.
func NumberOf(u urlnorm.URL) opic.URL {
	var n Numberer
	return n.Of(u)
}

// Numberer makes numbers of URLs as NumberOf does. It remembers the host of the URL before, which
// is that of most links of a page.
type Numberer struct {
	host string
	hash uint64
}

// Of is the number of a URL in its partition.
func (n *Numberer) Of(u urlnorm.URL) opic.URL {
	if h := u.Host(); h != n.host {
		fp := FingerprintOf(h)
		n.host, n.hash = h, binary.BigEndian.Uint64(fp[:])
	}
	fp := FingerprintOf(u.String())
	return opic.URLOf(n.hash, binary.BigEndian.Uint64(fp[:]))
}

// SiteOf is what sketches need of a linking site, by its registered domain.
func SiteOf(domain string) opic.Site {
	fp := FingerprintOf(domain)
	return opic.SiteOf(binary.BigEndian.Uint64(fp[:]))
}

// EncodeMark writes up to which number credits of a partition were taken.
func EncodeMark(seq uint64) []byte {
	w := newEncoder(10)
	w.u(seq)
	return w.b
}

// DecodeMark reads such a number.
func DecodeMark(b []byte) (uint64, error) {
	r := newDecoder(b)
	seq := r.u()
	return seq, r.end("mark of credits")
}
