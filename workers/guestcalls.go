package workers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/frontier/guests"
	"crawlnode/web/urlnorm"
)

// guestQuestion is what one node asks another about URLs of other crawls, and about what clients
// have said: one of its fields is set.
type guestQuestion struct {
	Put   []crawl.GuestPut `json:"put,omitempty"`
	Notes []crawl.NoteLine `json:"notes,omitempty"`
	// URLs of the cluster's own crawl whose notes are wanted
	Look   []string     `json:"look,omitempty"`
	Get    *oneGuest    `json:"get,omitempty"`
	Sums   *guestChoice `json:"sums,omitempty"`
	Queues *guestPage   `json:"queues,omitempty"`
	List   *guestPage   `json:"list,omitempty"`
	Delete *guestChoice `json:"delete,omitempty"`
	Rule   *guestRule   `json:"rule,omitempty"`
}

type oneGuest struct {
	Crawl string `json:"crawl"`
	URL   string `json:"url"`
}

type guestChoice struct {
	Crawl  string     `json:"crawl,omitempty"`
	Host   crawl.Host `json:"host,omitempty"`
	Before int64      `json:"before,omitempty"`
}

// guestPage asks for a page of a list, which goes on behind a place in a partition.
type guestPage struct {
	Crawl      string          `json:"crawl"`
	Host       crawl.Host      `json:"host,omitempty"`
	Contains   string          `json:"contains,omitempty"`
	IgnoreCase bool            `json:"ignore_case,omitempty"`
	Partition  crawl.Partition `json:"partition"`
	After      []byte          `json:"after,omitempty"`
	Most       int             `json:"most"`
}

type guestRule struct {
	Crawl string         `json:"crawl"`
	Host  crawl.Host     `json:"host,omitempty"`
	Block *time.Duration `json:"block,omitempty"` // what is left of it; 0: none
	Delay *time.Duration `json:"delay,omitempty"`
	Limit *int64         `json:"limit,omitempty"`
}

// guestAnswer is the answer to a guestQuestion. Held is how many partitions the node holds, of
// those that it was asked about.
type guestAnswer struct {
	Answers []crawl.GuestAnswer        `json:"answers,omitempty"`
	Why     []string                   `json:"why,omitempty"`
	Notes   []crawl.Note               `json:"notes,omitempty"`
	Guest   *crawl.GuestURL            `json:"guest,omitempty"`
	Sums    map[string]crawl.GuestSums `json:"sums,omitempty"`
	Queues  []crawl.GuestQueue         `json:"queues,omitempty"`
	Guests  []crawl.GuestURL           `json:"guests,omitempty"`
	Next    *guestPage                 `json:"next,omitempty"` // nil: this was the end of the list
	Deleted int64                      `json:"deleted,omitempty"`
	Known   bool                       `json:"known,omitempty"`
	Held    int                        `json:"held"`
}

// GuestStore is the frontier.
type GuestStore interface {
	GuestSums(p crawl.Partition, sums map[string]crawl.GuestSums) error
	GuestQueue(
		p crawl.Partition,
		id string,
		host crawl.Host,
	) (q crawl.GuestQueue, ok bool, err error)
	GuestQueues(p crawl.Partition, id string, after crawl.Host, n int) ([]crawl.GuestQueue, error)
	Guest(p crawl.Partition, id string, u urlnorm.URL) (g crawl.GuestURL, ok bool, err error)
	ListGuests(
		p crawl.Partition,
		id string,
		host crawl.Host,
		after guests.Position,
		n, budget int,
		want func(url string) bool,
	) ([]crawl.GuestURL, guests.Position, error)
	DeleteGuests(ctx context.Context, p crawl.Partition, c guests.Choice) (int, error)
	SetRule(
		ctx context.Context,
		p crawl.Partition,
		id string,
		host crawl.Host,
		r guests.Rule,
	) (known bool, err error)
}

const (
	// listMost and listBudget bound a page of a list, and the URLs that are read for it.
	listMost   = 200
	listBudget = 20_000
)

// answerGuests answers a question.
func (d *Desk) answerGuests(ctx context.Context, q *guestQuestion) (a *guestAnswer, err error) {
	if d.o.Guests == nil || d.o.GuestStore == nil {
		return nil, errClosed
	}
	a = &guestAnswer{}
	switch {
	case q.Put != nil:
		a.Answers, a.Why = d.o.Guests.Put(ctx, q.Put)
	case q.Notes != nil:
		err = d.putNotes(ctx, q.Notes)
	case q.Look != nil:
		a.Notes, err = d.lookNotes(q.Look)
	case q.Get != nil:
		err = d.getGuest(q.Get, a)
	case q.Sums != nil:
		err = d.sumGuests(q.Sums, a)
	case q.Queues != nil:
		err = d.readPages(q.Queues, a, d.queuesOf)
	case q.List != nil:
		err = d.readPages(q.List, a, d.guestsOf)
	case q.Delete != nil:
		err = d.deleteGuests(ctx, q.Delete, a)
	case q.Rule != nil:
		err = d.setRule(ctx, q.Rule, a)
	default:
		err = errors.New("a question of a later version")
	}
	if errors.Is(err, frontier.ErrNotHolder) {
		err = crawl.ErrMoving
	}
	return a, err
}

// putNotes stores notes, and waits for the replicas.
func (d *Desk) putNotes(ctx context.Context, lines []crawl.NoteLine) error {
	var puts, drops []frontier.NotePut
	var of []crawl.Visit
	for i := range lines {
		u, err := urlnorm.ParseStored(lines[i].URL)
		if err != nil {
			return fmt.Errorf("a note of %.200q: %w", lines[i].URL, err)
		}
		l := &lines[i]
		n := frontier.NotePut{
			Partition: d.o.Node.Partition(crawl.Host(u.Host())),
			URL:       u,
			Metadata:  l.Metadata,
			Known:     l.Known,
			Refetch:   l.Refetch,
		}
		of = append(of, crawl.Visit{Lease: crawl.Lease{Partition: n.Partition}})
		if l.Drop {
			drops = append(drops, n)
		} else {
			puts = append(puts, n)
		}
	}
	copied := d.copied(of)
	err := d.o.Notes.PutNotes(ctx, puts)
	if err == nil {
		err = d.o.Notes.DropNotes(ctx, drops)
	}
	if err != nil || len(puts) == 0 {
		return err
	}
	return awaitCopied(ctx, copied, of)
}

// lookNotes reads notes; those that there are.
func (d *Desk) lookNotes(urls []string) (notes []crawl.Note, err error) {
	for _, raw := range urls {
		u, err := urlnorm.ParseStored(raw)
		if err != nil {
			continue
		}
		n, ok, err := d.o.Notes.NoteOf(d.o.Node.Partition(crawl.Host(u.Host())), u)
		if err != nil {
			return nil, err
		}
		if ok {
			notes = append(notes, n)
		}
	}
	return notes, nil
}

func (d *Desk) getGuest(q *oneGuest, a *guestAnswer) error {
	u, err := urlnorm.ParseStored(q.URL)
	if err != nil {
		return err
	}
	g, ok, err := d.o.GuestStore.Guest(d.o.Node.Partition(crawl.Host(u.Host())), q.Crawl, u)
	if ok {
		a.Guest = &g
	}
	return err
}

// sumGuests sums the crawls of this node, or what one crawl has of a host.
func (d *Desk) sumGuests(q *guestChoice, a *guestAnswer) error {
	a.Sums = map[string]crawl.GuestSums{}
	if q.Host != "" {
		a.Held = 1
		queue, ok, err := d.o.GuestStore.GuestQueue(d.o.Node.Partition(q.Host), q.Crawl, q.Host)
		if err != nil || !ok {
			return err
		}
		s := crawl.GuestSums{Queues: 1, URLs: queue.URLs, Active: queue.Active}
		if queue.Active > 0 {
			s.ActiveQueues = 1
		}
		a.Sums[q.Crawl] = s
	} else {
		held := d.o.Node.Held()
		a.Held = len(held)
		for _, p := range held {
			if err := d.o.GuestStore.GuestSums(p, a.Sums); err != nil {
				return err
			}
		}
	}
	for id, n := range d.o.Guests.InProcess(q.Host) {
		if s, ok := a.Sums[id]; ok {
			s.InProcess = n
			a.Sums[id] = s
		}
	}
	return nil
}

// readPages reads a page of a list, over the partitions of this node in their order.
func (d *Desk) readPages(
	q *guestPage,
	a *guestAnswer,
	read func(p crawl.Partition, q *guestPage, left int, a *guestAnswer) (after []byte, err error),
) error {
	held := d.o.Node.Held()
	if q.Host != "" {
		held = []crawl.Partition{d.o.Node.Partition(q.Host)}
	}
	a.Held = len(held)
	most := min(max(q.Most, 1), listMost)
	for _, p := range held {
		if p < q.Partition {
			continue
		}
		at := *q
		if at.Partition != p {
			at.Partition, at.After = p, nil
		}
		after, err := read(p, &at, most-len(a.Queues)-len(a.Guests), a)
		if err != nil {
			return err
		}
		if after != nil {
			at.After = after
			a.Next = &at
			return nil
		}
	}
	return nil
}

func (d *Desk) queuesOf(
	p crawl.Partition,
	q *guestPage,
	left int,
	a *guestAnswer,
) (after []byte, err error) {
	queues, err := d.o.GuestStore.GuestQueues(p, q.Crawl, crawl.Host(q.After), max(left, 1))
	if a.Queues = append(a.Queues, queues...); err == nil && len(queues) >= max(left, 1) {
		after = []byte(queues[len(queues)-1].Host)
	}
	return after, err
}

func (d *Desk) guestsOf(
	p crawl.Partition,
	q *guestPage,
	left int,
	a *guestAnswer,
) (after []byte, err error) {
	gs, after, err := d.o.GuestStore.ListGuests(
		p,
		q.Crawl,
		q.Host,
		q.After,
		max(left, 1),
		listBudget,
		func(url string) bool { return contains(url, q.Contains, q.IgnoreCase) },
	)
	a.Guests = append(a.Guests, gs...)
	return after, err
}

// contains reports whether a URL has a part.
func contains(url, part string, ignoreCase bool) bool {
	if ignoreCase {
		url, part = strings.ToLower(url), strings.ToLower(part)
	}
	return strings.Contains(url, part)
}

func (d *Desk) deleteGuests(ctx context.Context, q *guestChoice, a *guestAnswer) error {
	if q.Crawl == "" {
		return d.forget(ctx, q, a)
	}
	ps := d.o.Node.Held()
	if q.Host != "" {
		ps = []crawl.Partition{d.o.Node.Partition(q.Host)}
	}
	a.Held = len(ps)
	for _, p := range ps {
		n, err := d.o.GuestStore.DeleteGuests(
			ctx,
			p,
			guests.Choice{Crawl: q.Crawl, Host: q.Host, Before: q.Before},
		)
		if a.Deleted += int64(n); err != nil {
			return err
		}
	}
	d.o.Guests.Forget(q.Crawl, q.Host)
	return nil
}

func (d *Desk) setRule(ctx context.Context, q *guestRule, a *guestAnswer) error {
	r := guests.Rule{Delay: q.Delay, Limit: q.Limit}
	if q.Block != nil {
		until := time.Time{}
		if *q.Block > 0 {
			until = time.Now().Add(min(*q.Block, maxBlock))
		}
		r.Block = &until
	}
	ps := d.o.Node.Held()
	if q.Host != "" {
		ps = []crawl.Partition{d.o.Node.Partition(q.Host)}
	}
	a.Held = len(ps)
	of := make([]crawl.Visit, len(ps))
	for i, p := range ps {
		of[i].Partition = p
	}
	copied := d.copied(of)
	for _, p := range ps {
		known, err := d.o.GuestStore.SetRule(ctx, p, q.Crawl, q.Host, r)
		if a.Known = a.Known || known; err != nil {
			return err
		}
	}
	if a.Known {
		return awaitCopied(ctx, copied, of)
	}
	return nil
}

// forget deletes URLs of the cluster's own crawl. Every node is asked: each forgets as well what it
// knows to be stored at others.
func (d *Desk) forget(ctx context.Context, q *guestChoice, a *guestAnswer) error {
	held := d.o.Node.Held()
	a.Held = len(held)
	for _, p := range held {
		if q.Host != "" && p != d.o.Node.Partition(q.Host) {
			continue
		}
		n, err := d.o.Notes.Forget(
			ctx,
			p,
			frontier.Forgotten{
				Host:   q.Host,
				Before: q.Before,
				Delete: func(host crawl.Host, url string) {
					_ = d.o.Source.Delete(ctx, host, url) // who visits it brings nothing
				},
			},
		)
		if a.Deleted += int64(n); err != nil {
			return err
		}
	}
	d.o.Node.Forgotten()
	return nil
}
