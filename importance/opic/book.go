package opic

import (
	"cmp"
	"maps"
	"slices"

	"crawlnode/crawl"
)

// Book is the accounts of one partition, in memory. It is the model of what a store does in its
// writes: each method is one of them.
type Book struct {
	ID       crawl.Partition
	Accounts map[URL]*Account
	Ledger   Ledger
	Inbox    Inbox
	Outbox   Outbox
	// Ranks counts the accounts by importance.
	Ranks Histogram

	links map[URL][]Target // of fetched pages, in order
	sites map[URL]Site     // of fetched pages
	// OnCredit is called for each URL of the partition whose cash has changed, before and now. Nil:
	// nobody asks.
	OnCredit func(u URL, a *Account)
}

// NewBook makes the book of a partition without accounts.
func NewBook(id crawl.Partition) *Book {
	return &Book{
		ID:       id,
		Accounts: map[URL]*Account{},
		Inbox:    Inbox{},
		links:    map[URL][]Target{},
		sites:    map[URL]Site{},
	}
}

// Visit notes that a page was fetched, with its distinct links in any order.
func (b *Book) Visit(u URL, site Site, links []Target) {
	links = slices.Clone(links)
	links = SortTargets(links)
	a := b.account(u)
	before := a.Total()
	old := b.links[u]
	b.links[u], b.sites[u] = links, site
	var f Flow
	fresh := int32(0)
	if a.Fetched && slices.Equal(old, links) {
		f = a.Settle()
	} else {
		fresh = 1
		f = a.Visit(len(links))
		b.pass(site, old, f.Back, -1)
	}
	b.Ranks.Move(before, a.Total())
	b.Ledger.Minted += f.Minted
	b.Ledger.Evaporated += f.Evaporated
	b.pass(site, links, f.Each, fresh)
}

// Settle passes on what is pending for a page.
func (b *Book) Settle(u URL) {
	f := b.Accounts[u].Settle()
	b.Ledger.Evaporated += f.Evaporated
	b.pass(b.sites[u], b.links[u], f.Each, 0)
}

// Apply takes a parcel from another partition, as often as it comes. It returns the number to
// acknowledge.
func (b *Book) Apply(p *Parcel) (uint64, error) {
	entries, err := b.Inbox.Admit(p)
	if err != nil {
		return 0, err
	}
	for i := range entries {
		for _, c := range entries[i].Credits {
			b.Ledger.Received += c.Amount
			b.credit(c, entries[i].Site)
		}
	}
	return b.Inbox[p.From], nil
}

// pass gives each link the same amount. A zero amount makes the URL and the site known all the
// same. fresh is 1 when the links are new, -1 when they are gone.
func (b *Book) pass(site Site, links []Target, each Cash, fresh int32) {
	for len(links) > 0 {
		to := links[0].Partition
		n := 0
		for n < len(links) && links[n].Partition == to {
			n++
		}
		credits := make([]Credit, n)
		for i, t := range links[:n] {
			credits[i] = Credit{t.URL, each, fresh}
		}
		links = links[n:]
		if to != b.ID {
			b.Outbox.Post(to, site, credits)
			b.Ledger.Sent += each * Cash(n)
			continue
		}
		for _, c := range credits {
			b.credit(c, site)
		}
	}
}

// credit changes one account.
func (b *Book) credit(c Credit, site Site) {
	a := b.account(c.URL)
	before := a.Total()
	a.Pending += c.Amount
	a.In = AddLinks(a.In, int(c.Links))
	a.Sites.Add(site)
	b.Ranks.Move(before, a.Total())
	if b.OnCredit != nil {
		b.OnCredit(c.URL, a)
	}
}

// account finds or makes an account.
func (b *Book) account(u URL) *Account {
	a := b.Accounts[u]
	if a == nil {
		a = &Account{}
		b.Accounts[u] = a
		b.Ranks.Add(0, 1)
	}
	return a
}

// Pending sums what waits in the accounts; by conservation it is Ledger.Held.
func (b *Book) Pending() (sum Cash) {
	for _, a := range b.Accounts {
		sum += a.Pending
	}
	return sum
}

// Clone copies the book: what a replica has, or what a crash leaves.
func (b *Book) Clone() *Book {
	c := *b
	c.Accounts = make(map[URL]*Account, len(b.Accounts))
	for u, a := range b.Accounts {
		account := *a
		c.Accounts[u] = &account
	}
	c.Inbox, c.links, c.sites = maps.Clone(b.Inbox), maps.Clone(b.links), maps.Clone(b.sites)
	c.Outbox.acked, c.Outbox.entries = maps.Clone(b.Outbox.acked), make(map[crawl.Partition][]Entry,
		len(b.Outbox.entries))
	if c.Outbox.acked == nil {
		c.Outbox.acked = map[crawl.Partition]uint64{}
	}
	for to, all := range b.Outbox.entries {
		c.Outbox.entries[to] = slices.Clone(all)
	}
	return &c
}

// SortTargets puts targets in order, each once. It changes the slice.
func SortTargets(links []Target) []Target {
	slices.SortFunc(links, compareTargets)
	return slices.Compact(links)
}

func compareTargets(a, b Target) int {
	if a.Partition != b.Partition {
		return cmp.Compare(a.Partition, b.Partition)
	}
	return cmp.Compare(a.URL, b.URL)
}
