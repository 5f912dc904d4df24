package opic

import (
	"errors"
	"fmt"

	"crawlnode/crawl"
)

// URL is the number of a URL in its partition: 24 bits of a hash of its host, above 40 bits of its
// fingerprint. So the URLs of a host stand together, as do the credits that its pages give each
// other. Two URLs of one partition hardly ever have the same number; then they have one account.
type URL uint64

// URLOf makes it of two hashes, of which all bits must be good.
func URLOf(host, url uint64) URL { return URL(host>>(64-hostBits)<<urlBits | url>>(64-urlBits)) }

const (
	hostBits = 24
	urlBits  = 40
)

// Host is the part that URLs of one host have in common, of 24 bits.
func (u URL) Host() uint64 { return uint64(u >> urlBits) }

// Target is what a link leads to.
type Target struct {
	Partition crawl.Partition
	URL       URL
}

// Credit changes the account of one URL.
type Credit struct {
	URL    URL
	Amount Cash
	Links  int32 // links to the URL that are new; negative: links that are gone
}

// Entry is what one page passes to one other partition, in the outbox of the page's partition.
type Entry struct {
	Seq     uint64 // grows within the partition of the page; some numbers go to other targets
	Site    Site   // of the page
	Credits []Credit
}

// Parcel is a piece of an outbox, as it is sent: all entries for one partition behind After.
type Parcel struct {
	From, To crawl.Partition
	After    uint64 // the last number that To acknowledged
	Entries  []Entry
}

// errGap says that entries are missing that the receiver had acknowledged.
var errGap = errors.New("entries are missing before the parcel")

// Inbox remembers, for each partition that sends, up to which entry was applied. It is part of the
// receiving partition: it is stored with the accounts in one write, and moves with them.
type Inbox map[crawl.Partition]uint64

// Admit returns the entries of a parcel that were not applied yet, and counts them as applied.
func (in Inbox) Admit(p *Parcel) ([]Entry, error) {
	applied := in[p.From]
	if applied < p.After {
		return nil, fmt.Errorf("partition %d from %d: %w: has %d, the sender knows of %d", p.To, p.From,
			errGap, applied, p.After)
	}
	for i := range p.Entries {
		if p.Entries[i].Seq > applied {
			in[p.From] = p.Entries[len(p.Entries)-1].Seq
			return p.Entries[i:], nil
		}
	}
	return nil, nil
}

// Outbox holds what a partition's pages pass to other partitions, until it is acknowledged. It is
// part of the sending partition.
type Outbox struct {
	Next    uint64 // the number of the next entry
	acked   map[crawl.Partition]uint64
	entries map[crawl.Partition][]Entry
}

// Post appends an entry for a partition.
func (o *Outbox) Post(to crawl.Partition, site Site, credits []Credit) {
	if o.entries == nil {
		o.acked, o.entries = map[crawl.Partition]uint64{}, map[crawl.Partition][]Entry{}
	}
	o.Next++
	o.entries[to] = append(o.entries[to], Entry{Seq: o.Next, Site: site, Credits: credits})
}

// Parcel returns up to n entries for a partition; false: there is none.
func (o *Outbox) Parcel(from, to crawl.Partition, n int) (Parcel, bool) {
	all := o.entries[to]
	return Parcel{
		From:    from,
		To:      to,
		After:   o.acked[to],
		Entries: all[:min(n, len(all))],
	}, len(all) > 0
}

// Acknowledge drops the entries for a partition up to a number. An older acknowledgement, repeated
// or late, drops nothing.
func (o *Outbox) Acknowledge(to crawl.Partition, seq uint64) {
	all := o.entries[to]
	for len(all) > 0 && all[0].Seq <= seq {
		o.acked[to] = all[0].Seq
		all = all[1:]
	}
	if len(all) == 0 {
		delete(o.entries, to)
		return
	}
	o.entries[to] = all
}

// Waiting is the cash and the number of the entries.
func (o *Outbox) Waiting() (sum Cash, entries int) {
	for _, all := range o.entries {
		entries += len(all)
		for i := range all {
			for _, c := range all[i].Credits {
				sum += c.Amount
			}
		}
	}
	return sum, entries
}
