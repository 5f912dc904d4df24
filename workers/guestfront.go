package workers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"crawlnode/crawl"
	"crawlnode/peer/fanout"
	"crawlnode/ring"
	"crawlnode/web/urlnorm"
)

// guestPieceBytes bounds the URLs and metadata in one question, about.
const guestPieceBytes = 1 << 20

// guestPatience bounds a question to another node. Deleting takes longer.
const (
	guestPatience  = 10 * time.Second
	deletePatience = 5 * time.Minute
)

// errPartly says that a part of the frontier is on its way.
var errPartly = fmt.Errorf(
	"not every partition is held by a node that answers: %w",
	crawl.ErrMoving,
)

// askGuests asks one node.
func (f *Front) askGuests(
	ctx context.Context,
	to crawl.NodeID,
	q *guestQuestion,
) (*guestAnswer, error) {
	switch to {
	case f.o.Self:
		return f.o.Cluster.Desk().answerGuests(ctx, q)
	case "":
		return nil, crawl.ErrMoving
	}
	a, err := f.call(ctx, to, encode(question{Guests: q}))
	if err = errors.Join(err, a.err()); err != nil {
		return nil, fmt.Errorf("node %s: %w", to, err)
	}
	if a.Guests == nil {
		return nil, fmt.Errorf("node %s does not know of other crawls yet", to)
	}
	return a.Guests, nil
}

// holderOf is the node that holds a host; "": none that is known, as before this node has joined.
func (f *Front) holderOf(host crawl.Host) crawl.NodeID {
	partitions := f.o.Cluster.Partitions()
	if partitions == 0 {
		return ""
	}
	return f.o.Cluster.Holder(ring.PartitionOf(host, partitions))
}

// askAll asks all nodes, or for a host the one that holds it. It fails unless all partitions are in
// the answers.
func (f *Front) askAll(
	ctx context.Context,
	host crawl.Host,
	patience time.Duration,
	q *guestQuestion,
) ([]*guestAnswer, error) {
	if err := f.o.Cluster.Ready(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if host != "" {
		a, err := f.askGuests(ctx, f.holderOf(host), q)
		return []*guestAnswer{a}, err
	}
	var all []*guestAnswer
	held := 0
	for _, a := range fanout.Ask(f.nodes(),
		func(to crawl.NodeID) (*guestAnswer, error) { return f.askGuests(ctx, to, q) }) {
		if a.Err != nil {
			return nil, a.Err
		}
		held += a.Value.Held
		all = append(all, a.Value)
	}
	if held < f.o.Cluster.Partitions() {
		return nil, errPartly
	}
	return all, nil
}

// nodes are this node and the others, in their order.
func (f *Front) nodes() []crawl.NodeID {
	nodes := append([]crawl.NodeID{f.o.Self}, f.o.Cluster.Others()...)
	slices.Sort(nodes)
	return nodes
}

// PutGuests stores URLs of other crawls and results of them, and says what became of each; why has
// a sentence where it was not stored.
func (f *Front) PutGuests(
	ctx context.Context,
	items []crawl.GuestPut,
) (answers []crawl.GuestAnswer, why []string) {
	answers, why = make([]crawl.GuestAnswer, len(items)), make([]string, len(items))
	later := func(at []int, err error) {
		for _, i := range at {
			answers[i], why[i] = crawl.GuestLater, err.Error()
		}
	}
	all := make([]int, 0, len(items))
	hosts := make([]crawl.Host, len(items))
	ports := map[uint16]bool{}
	for i := range items {
		u, err := urlnorm.ParseRouted(items[i].URL)
		if err != nil {
			answers[i], why[i] = crawl.GuestRefused, err.Error()
			continue
		}
		items[i].URL = u.String()
		all = append(all, i)
		hosts[i] = crawl.Host(u.Host())
		ports[u.Port()] = true
	}
	err := f.mayStore(ctx) // there are no partitions before
	if err == nil {
		err = f.o.Cluster.OpenPorts(ctx, slices.Sorted(maps.Keys(ports)))
	}
	if err != nil {
		later(all, err)
		return answers, why
	}
	by := map[crawl.NodeID][]int{}
	for _, i := range all {
		to := f.holderOf(hosts[i])
		by[to] = append(by[to], i)
	}
	type part struct {
		to crawl.NodeID
		at []int
	}
	var parts []part
	for to, at := range by {
		for len(at) > 0 {
			n, size := 0, 0
			for n < len(at) && (n == 0 || size < guestPieceBytes) {
				size += len(items[at[n]].URL) + 2*items[at[n]].Metadata.Size() + 300
				n++
			}
			parts = append(parts, part{to, at[:n]})
			at = at[n:]
		}
	}
	ctx, cancel := context.WithTimeout(ctx, guestPatience)
	defer cancel()
	ids := make([]int, len(parts))
	for i := range parts {
		ids[i] = i
	}
	for _, a := range fanout.Ask(ids, func(i int) (*guestAnswer, error) {
		some := make([]crawl.GuestPut, len(parts[i].at))
		for n, at := range parts[i].at {
			some[n] = items[at]
		}
		return f.askGuests(ctx, parts[i].to, &guestQuestion{Put: some})
	}) {
		at := parts[a.Node].at
		if a.Err == nil && (len(a.Value.Answers) != len(at) || len(a.Value.Why) != len(at)) {
			a.Err = errors.New("a node answered what cannot be read")
		}
		if a.Err != nil {
			later(at, a.Err)
			continue
		}
		for n, i := range at {
			answers[i], why[i] = a.Value.Answers[n], a.Value.Why[n]
		}
	}
	return answers, why
}

// mayStore says why nothing can be stored now, and starts a crawl that waits for its first URLs.
func (f *Front) mayStore(ctx context.Context) error {
	if err := f.o.Cluster.Ready(); err != nil {
		return err
	}
	if f.o.Start == nil {
		return nil
	}
	if err := f.o.Start.May(); err != nil {
		return err
	}
	return f.o.Start.Run(ctx)
}

// PutNotes stores what clients say of URLs of the cluster's own crawl.
func (f *Front) PutNotes(ctx context.Context, lines []crawl.NoteLine) error {
	if err := f.o.Cluster.Ready(); err != nil {
		return err
	}
	by := map[crawl.NodeID][][]crawl.NoteLine{}
	sizes := map[crawl.NodeID]int{}
	for i := range lines {
		u, err := urlnorm.Parse(lines[i].URL)
		if err != nil {
			continue
		}
		if !lines[i].Known { // as the URL itself will be
			u = f.o.Cluster.Normalize(u)
		}
		lines[i].URL = u.String()
		to := f.holderOf(crawl.Host(u.Host()))
		size := len(lines[i].URL) + 2*lines[i].Metadata.Size() + 100
		if pieces := by[to]; len(pieces) == 0 || sizes[to]+size > guestPieceBytes {
			by[to], sizes[to] = append(pieces, nil), 0
		}
		last := len(by[to]) - 1
		by[to][last] = append(by[to][last], lines[i])
		sizes[to] += size
	}
	ctx, cancel := context.WithTimeout(ctx, guestPatience)
	defer cancel()
	nodes := make([]crawl.NodeID, 0, len(by))
	for to := range by {
		nodes = append(nodes, to)
	}
	var errs []error
	for _, a := range fanout.Ask(nodes, func(to crawl.NodeID) (struct{}, error) {
		for _, piece := range by[to] {
			if _, err := f.askGuests(ctx, to, &guestQuestion{Notes: piece}); err != nil {
				return struct{}{}, err
			}
		}
		return struct{}{}, nil
	}) {
		errs = append(errs, a.Err)
	}
	return errors.Join(errs...)
}

// Notes reads what clients have said of URLs of the cluster's own crawl, by URL; without an entry
// they have said nothing.
func (f *Front) Notes(ctx context.Context, urls []string) (map[string]crawl.Note, error) {
	if err := f.o.Cluster.Ready(); err != nil {
		return nil, err
	}
	by := map[crawl.NodeID][]string{}
	var nodes []crawl.NodeID
	for _, raw := range urls {
		u, err := urlnorm.ParseStored(raw)
		if err != nil {
			continue
		}
		to := f.holderOf(crawl.Host(u.Host()))
		if by[to] == nil {
			nodes = append(nodes, to)
		}
		by[to] = append(by[to], raw)
	}
	ctx, cancel := context.WithTimeout(ctx, guestPatience)
	defer cancel()
	notes := map[string]crawl.Note{}
	for _, a := range fanout.Ask(nodes, func(to crawl.NodeID) (*guestAnswer, error) {
		return f.askGuests(ctx, to, &guestQuestion{Look: by[to]})
	}) {
		if a.Err != nil {
			return nil, a.Err
		}
		for _, n := range a.Value.Notes {
			notes[n.URL] = n
		}
	}
	return notes, nil
}

// Guest reads a URL of another crawl; nil: it is not known.
func (f *Front) Guest(ctx context.Context, id, url string) (*crawl.GuestURL, error) {
	u, err := urlnorm.Parse(url)
	if err != nil {
		return nil, nil //nolint:nilerr,nilnil // there is no such URL
	}
	all, err := f.askAll(
		ctx,
		crawl.Host(u.Host()),
		guestPatience,
		&guestQuestion{Get: &oneGuest{Crawl: id, URL: u.String()}},
	)
	if err != nil {
		return nil, err
	}
	return all[0].Guest, nil
}

// GuestSums sums the other crawls over all nodes, by crawl; with a host what one crawl has of it.
func (f *Front) GuestSums(
	ctx context.Context,
	id string,
	host crawl.Host,
) (map[string]crawl.GuestSums, error) {
	all, err := f.askAll(
		ctx,
		host,
		guestPatience,
		&guestQuestion{Sums: &guestChoice{Crawl: id, Host: host}},
	)
	if err != nil {
		return nil, err
	}
	sums := map[string]crawl.GuestSums{}
	for _, a := range all {
		for id, s := range a.Sums {
			sum := sums[id]
			sum.Add(s)
			sums[id] = sum
		}
	}
	return sums, nil
}

// EachGuest calls fn with URLs of another crawl, node by node, until it returns false.
func (f *Front) EachGuest(
	ctx context.Context,
	l crawl.GuestList,
	fn func(*crawl.GuestURL) (more bool, err error),
) error {
	first := &guestQuestion{
		List: &guestPage{
			Crawl:      l.Crawl,
			Host:       l.Host,
			Contains:   l.Contains,
			IgnoreCase: l.IgnoreCase,
			Most:       listMost,
		},
	}
	next := func(a *guestAnswer) *guestQuestion { return &guestQuestion{List: a.Next} }
	return f.eachPage(ctx, l.Host, first, next, func(a *guestAnswer) (bool, error) {
		for i := range a.Guests {
			if more, err := fn(&a.Guests[i]); err != nil || !more {
				return false, err
			}
		}
		return true, nil
	})
}

// EachGuestQueue calls fn with the queues of another crawl, until it returns false.
func (f *Front) EachGuestQueue(
	ctx context.Context,
	id string,
	fn func(*crawl.GuestQueue) (more bool),
) error {
	next := func(a *guestAnswer) *guestQuestion { return &guestQuestion{Queues: a.Next} }
	return f.eachPage(
		ctx,
		"",
		&guestQuestion{Queues: &guestPage{Crawl: id, Most: listMost}},
		next,
		func(a *guestAnswer) (bool, error) {
			for i := range a.Queues {
				if !fn(&a.Queues[i]) {
					return false, nil
				}
			}
			return true, nil
		},
	)
}

// eachPage reads the pages of a list, node by node.
func (f *Front) eachPage(
	ctx context.Context,
	host crawl.Host,
	first *guestQuestion,
	next func(*guestAnswer) *guestQuestion,
	fn func(*guestAnswer) (bool, error),
) error {
	if err := f.o.Cluster.Ready(); err != nil {
		return err
	}
	nodes := f.nodes()
	if host != "" {
		nodes = []crawl.NodeID{f.holderOf(host)}
	}
	held := 0
	for _, to := range nodes {
		for q := first; ; {
			one, cancel := context.WithTimeout(ctx, guestPatience)
			a, err := f.askGuests(one, to, q)
			cancel()
			if err != nil {
				return err
			}
			more, err := fn(a)
			if err != nil || !more {
				return err
			}
			if a.Next == nil {
				held += a.Held
				break
			}
			q = next(a)
		}
	}
	if host == "" && held < f.o.Cluster.Partitions() {
		return errPartly
	}
	return nil
}

// DeleteGuests deletes URLs of a crawl, "" is the cluster's own: of one host or, for "", of all,
// those that were stored before a time in seconds since 1970 or, for 0, all. It returns how many.
func (f *Front) DeleteGuests(
	ctx context.Context,
	id string,
	host crawl.Host,
	before int64,
) (int64, error) {
	to := host
	if id == "" {
		to = "" // what other nodes know of it must be forgotten too
	}
	all, err := f.askAll(
		ctx,
		to,
		deletePatience,
		&guestQuestion{Delete: &guestChoice{Crawl: id, Host: host, Before: before}},
	)
	if err != nil {
		return 0, err
	}
	var n int64
	for _, a := range all {
		n += a.Deleted
	}
	return n, nil
}

// SetGuestRule sets a rule for a queue of another crawl, or, for the host "", for all its queues.
// It reports whether there is such a queue.
func (f *Front) SetGuestRule(
	ctx context.Context,
	id string,
	host crawl.Host,
	r crawl.GuestRule,
) (known bool, err error) {
	all, err := f.askAll(
		ctx,
		host,
		guestPatience,
		&guestQuestion{
			Rule: &guestRule{Crawl: id, Host: host, Block: r.Block, Delay: r.Delay, Limit: r.Limit},
		},
	)
	for _, a := range all {
		known = known || a != nil && a.Known
	}
	return known, err
}
