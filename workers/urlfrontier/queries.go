package urlfrontier

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"crawlnode/crawl"
	"crawlnode/workers/urlfrontier/wire"
)

// ListNodes names the members by the addresses of their API.
func (s *Server) ListNodes(ctx context.Context, _ *wire.Empty) (*wire.StringList, error) {
	st, err := s.backend.Status(ctx, false)
	if err != nil {
		return nil, err
	}
	list := &wire.StringList{}
	for i := range st.Nodes {
		if n := &st.Nodes[i]; n.State == crawl.NodeAlive || n.State == crawl.NodeDraining {
			list.Values = append(list.Values, n.HTTP)
		}
	}
	return list, nil
}

// ListCrawls names the cluster's own crawl, and those that have URLs.
func (s *Server) ListCrawls(ctx context.Context, _ *wire.Local) (*wire.StringList, error) {
	sums, err := s.backend.GuestSums(ctx, "", "")
	if err != nil {
		return nil, err
	}
	return &wire.StringList{
		Values: append([]string{defaultCrawl}, slices.Sorted(maps.Keys(sums))...),
	}, nil
}

// GetStats counts URLs of the cluster, or of one host.
func (s *Server) GetStats(
	ctx context.Context,
	p *wire.QueueWithinCrawlParams,
) (*wire.Stats, error) {
	out := &wire.Stats{CrawlID: defaultCrawl, Counts: map[string]uint64{}}
	switch {
	case !ours(p.GetCrawlID()):
		out.CrawlID = crawlOf(p.GetCrawlID())
		return out, s.guestStats(ctx, p.GetKey(), out)
	case p.GetKey() != "":
		h, err := s.backend.DescribeHost(ctx, p.GetKey())
		if errors.Is(err, crawl.ErrUnknownHost) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		out.Size, out.NumberOfQueues = count(h.Queued), 1
		out.Counts["completed"] = count(h.Pages)
		// Without queued URLs its visit is one of another crawl, or of a URL that was deleted.
		if h.Queued > 0 {
			out.Counts["active_queues"] = 1
			if h.State == crawl.HostInFlight {
				out.InProcess = 1 // a host has one URL at a time
			}
		} else if stored, err := s.stored(ctx, p.GetKey()); err != nil {
			return nil, err
		} else if !stored {
			out.NumberOfQueues = 0
		}
		return out, nil
	}
	st, err := s.backend.Status(ctx, false)
	if err != nil {
		return nil, err
	}
	f := &st.Frontier
	out.Size, out.NumberOfQueues = count(f.Queued), count(f.Hosts.Total)
	// The visits of guests are open in the same hosts' turns.
	inFlight, active := f.InFlight, f.Hosts.Ready+f.Hosts.Waiting+f.Hosts.InFlight
	if others, err := s.backend.GuestSums(ctx, "", ""); err == nil {
		for _, sum := range others {
			inFlight, active = inFlight-sum.InProcess, active-sum.InProcess
		}
	}
	// Visits of deleted URLs last until their leases end, and hosts stay in memory for a while.
	out.InProcess = uint32(min(count(inFlight), out.Size, math.MaxUint32))
	out.Counts["completed"] = count(f.SeenTotal - f.Queued)
	out.Counts["active_queues"] = min(count(active), out.Size)
	if f.SeenTotal == 0 {
		out.NumberOfQueues = 0 // its hosts are remembered for their politeness
	}
	return out, nil
}

// stored reports whether any URL of a host is stored.
func (s *Server) stored(ctx context.Context, host string) (found bool, err error) {
	err = s.each(ctx, host, "", false, func(ls []*crawl.URLLine) (bool, error) {
		found = len(ls) > 0
		return !found, nil
	})
	return found, err
}

// guestStats fills in the figures of another crawl, or of one of its queues.
func (s *Server) guestStats(ctx context.Context, key string, out *wire.Stats) error {
	out.Counts["completed"], out.Counts["active_queues"] = 0, 0
	var host crawl.Host
	if key != "" {
		var err error
		if host, err = hostOf(key); err != nil {
			return nil //nolint:nilerr // no queue has such a key
		}
	}
	if !crawl.ValidCrawl(out.CrawlID) {
		return nil
	}
	sums, err := s.backend.GuestSums(ctx, out.CrawlID, host)
	sum := sums[out.CrawlID]
	out.Size, out.NumberOfQueues = count(sum.Active), count(sum.Queues)
	out.InProcess = uint32(min(count(sum.InProcess), math.MaxUint32))
	out.Counts["completed"] = count(sum.URLs - sum.Active)
	out.Counts["active_queues"] = count(sum.ActiveQueues)
	return err
}

func count(n int64) uint64 { return uint64(max(n, 0)) }

// ListQueues lists hosts in memory, those with the most queued URLs first. An active one has URLs
// and is not held back.
func (s *Server) ListQueues(ctx context.Context, p *wire.Pagination) (*wire.QueueList, error) {
	out := &wire.QueueList{Start: p.GetStart(), CrawlID: p.GetCrawlID()}
	if !ours(p.GetCrawlID()) {
		return out, s.guestQueues(ctx, p, out)
	}
	hosts, err := s.backend.Hosts(ctx, "queued", crawl.MaxHostLines)
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range hosts.Hosts {
		h := &hosts.Hosts[i]
		if h.Queued > 0 && h.State != crawl.HostBackoff && h.State != crawl.HostFrozen ||
			p.GetIncludeInactive() {
			names = append(names, string(h.Host))
		}
	}
	from := min(int(p.GetStart()), len(names))
	to := min(from+sizeOf(p.GetSize()), len(names))
	out.Values, out.Size = names[from:to], uint32(to-from)
	return out, nil
}

// guestQueues lists queues of another crawl, by node and host. An active one has URLs that are not
// completed, and is not blocked.
func (s *Server) guestQueues(ctx context.Context, p *wire.Pagination, out *wire.QueueList) error {
	id := crawlOf(p.GetCrawlID())
	if !crawl.ValidCrawl(id) {
		return nil
	}
	skip, most := int64(p.GetStart()), min(sizeOf(p.GetSize()), maxQueues)
	err := s.backend.EachGuestQueue(ctx, id, func(q *crawl.GuestQueue) bool {
		if (q.Active <= 0 || q.Blocked > 0) && !p.GetIncludeInactive() {
			return true
		}
		if skip > 0 {
			skip--
			return true
		}
		out.Values = append(out.Values, string(q.Host))
		return len(out.Values) < most
	})
	out.Size = uint32(len(out.Values))
	return err
}

// maxQueues bounds one answer of ListQueues.
const maxQueues = 10_000

// sizeOf is the number of values asked for.
func sizeOf(n uint32) int {
	if n == 0 {
		return 100
	}
	return int(min(n, math.MaxInt32))
}

// GetActive reports whether URLs are given out.
func (s *Server) GetActive(ctx context.Context, _ *wire.Local) (*wire.Boolean, error) {
	st, err := s.backend.Status(ctx, true)
	if err != nil {
		return nil, err
	}
	return &wire.Boolean{State: st.Crawl.State != crawl.CrawlPaused}, nil
}

// SetActive resumes or pauses the crawl on all nodes.
func (s *Server) SetActive(ctx context.Context, p *wire.Active) (*wire.Empty, error) {
	if p.GetLocal() {
		return nil, status.Error(
			codes.Unimplemented,
			"a node is not paused alone: send it without local, or start the node with --fetch off",
		)
	}
	action := crawl.ActionPause
	if p.GetState() {
		action = crawl.ActionResume
	}
	_, err := s.backend.ControlCrawl(ctx, action)
	s.note(ctx, "SetActive", action, err)
	if err != nil && !errors.Is(err, crawl.ErrRefused) {
		return nil, err
	}
	return &wire.Empty{}, nil // it is so already, or there is no crawl yet
}

// GetURLStatus reports what is stored of a URL.
func (s *Server) GetURLStatus(
	ctx context.Context,
	p *wire.URLStatusRequest,
) (*wire.URLItem, error) {
	if !ours(p.GetCrawlID()) {
		return s.guestStatus(ctx, crawlOf(p.GetCrawlID()), p.GetUrl())
	}
	r, err := s.backend.ExplainURL(ctx, p.GetUrl(), -1)
	switch {
	case err != nil:
		return nil, err
	case r.Unanswered != nil:
		return nil, status.Error(codes.Unavailable, *r.Unanswered)
	case r.URL == nil || r.Record == nil:
		return nil, status.Error(codes.NotFound, "this URL was never admitted: "+r.Summary)
	}
	var host crawl.Host
	if r.Host != nil {
		host = *r.Host
	}
	notes, err := s.backend.Notes(ctx, []string{*r.URL})
	if err != nil {
		return nil, err
	}
	return itemOf(
		*r.URL,
		host,
		r.Record.State == crawl.Queued.String(),
		r.NextVisitAt,
		notes[*r.URL],
	), nil
}

// guestStatus reports what is stored of a URL of another crawl.
func (s *Server) guestStatus(ctx context.Context, id, url string) (*wire.URLItem, error) {
	var g *crawl.GuestURL
	if crawl.ValidCrawl(id) {
		var err error
		if g, err = s.backend.Guest(ctx, id, url); err != nil {
			return nil, err
		}
	}
	if g == nil {
		return nil, status.Errorf(codes.NotFound, "the crawl %.128q does not have this URL", id)
	}
	return guestItem(g), nil
}

// guestItem is a URL of another crawl as a list shows it: known, with the date from which it may be
// given out; 0: it is completed.
func guestItem(g *crawl.GuestURL) *wire.URLItem {
	known := &wire.KnownURLItem{
		Info: &wire.URLInfo{
			Url:      g.URL,
			Key:      string(g.Host),
			CrawlID:  g.Crawl,
			Metadata: wireMetadata(g.Metadata),
		},
	}
	if g.Active {
		known.RefetchableFromDate = count(g.Refetch)
	}
	return &wire.URLItem{Item: &wire.URLItem_Known{Known: known}, CreationDate: count(g.Created)}
}

// itemOf is a URL as a list shows it.
func itemOf(url string, host crawl.Host, queued bool, next *time.Time, n crawl.Note) *wire.URLItem {
	info := &wire.URLInfo{
		Url:      url,
		Key:      string(host),
		CrawlID:  defaultCrawl,
		Metadata: wireMetadata(n.Metadata),
	}
	if queued && next == nil {
		return &wire.URLItem{
			Item:         &wire.URLItem_Discovered{Discovered: &wire.DiscoveredURLItem{Info: info}},
			CreationDate: count(n.Created),
		}
	}
	known := &wire.KnownURLItem{Info: info, RefetchableFromDate: count(n.Refetch)}
	if next != nil && (n.Refetch == 0 || next.Unix() < n.Refetch) {
		known.RefetchableFromDate = count(next.Unix())
	}
	return &wire.URLItem{Item: &wire.URLItem_Known{Known: known}, CreationDate: count(n.Created)}
}

// ListURLs streams stored URLs.
func (s *Server) ListURLs(
	p *wire.ListUrlParams,
	stream grpc.ServerStreamingServer[wire.URLItem],
) error {
	skip, left := int64(p.GetStart()), sizeOf(p.GetSize())
	if !ours(p.GetCrawlID()) {
		return s.eachGuest(
			stream.Context(),
			crawlOf(p.GetCrawlID()),
			p.GetKey(),
			p.GetFilter(),
			p.GetIgnoreCase(),
			func(g *crawl.GuestURL) (bool, error) {
				if skip > 0 {
					skip--
					return true, nil
				}
				left--
				return left > 0, stream.Send(guestItem(g))
			},
		)
	}
	return s.each(
		stream.Context(),
		p.GetKey(),
		p.GetFilter(),
		p.GetIgnoreCase(),
		func(ls []*crawl.URLLine) (bool, error) {
			n := min(skip, int64(len(ls)))
			skip -= n
			ls = ls[n:]
			ls = ls[:min(len(ls), left)]
			if left -= len(ls); len(ls) == 0 {
				return left > 0, nil
			}
			urls := make([]string, len(ls))
			for i, l := range ls {
				urls[i] = l.URL
			}
			notes, err := s.backend.Notes(stream.Context(), urls)
			if err != nil {
				return false, err
			}
			for _, l := range ls {
				if err := stream.Send(
					itemOf(l.URL, l.Host, l.State == crawl.ListQueued, l.NotBefore, notes[l.URL]),
				); err != nil {
					return false, err
				}
			}
			return left > 0, nil
		},
	)
}

// CountURLs counts stored URLs.
func (s *Server) CountURLs(ctx context.Context, p *wire.CountUrlParams) (*wire.Long, error) {
	out := &wire.Long{}
	whole := p.GetKey() == "" && p.GetFilter() == ""
	switch {
	case !ours(p.GetCrawlID()) && whole:
		st := &wire.Stats{CrawlID: crawlOf(p.GetCrawlID()), Counts: map[string]uint64{}}
		err := s.guestStats(ctx, "", st)
		return &wire.Long{Value: st.Size + st.Counts["completed"]}, err
	case !ours(p.GetCrawlID()):
		err := s.eachGuest(
			ctx,
			crawlOf(p.GetCrawlID()),
			p.GetKey(),
			p.GetFilter(),
			p.GetIgnoreCase(),
			func(*crawl.GuestURL) (bool, error) {
				out.Value++
				return true, nil
			},
		)
		return out, err
	case whole:
		st, err := s.backend.Status(ctx, false)
		if err != nil {
			return nil, err
		}
		return &wire.Long{Value: count(st.Frontier.SeenTotal)}, nil
	}
	err := s.each(
		ctx,
		p.GetKey(),
		p.GetFilter(),
		p.GetIgnoreCase(),
		func(ls []*crawl.URLLine) (bool, error) {
			out.Value += uint64(len(ls))
			return true, nil
		},
	)
	return out, err
}

// eachGuest calls fn with the URLs of another crawl, of one queue or of all, that contain filter,
// until it returns false.
func (s *Server) eachGuest(
	ctx context.Context,
	id, key, filter string,
	ignoreCase bool,
	fn func(*crawl.GuestURL) (more bool, err error),
) error {
	l := crawl.GuestList{Crawl: id, Contains: filter, IgnoreCase: ignoreCase}
	if key != "" {
		var err error
		if l.Host, err = hostOf(key); err != nil {
			return nil //nolint:nilerr // no queue has such a key
		}
	}
	if !crawl.ValidCrawl(id) {
		return nil
	}
	return s.backend.EachGuest(ctx, l, fn)
}

// each calls fn with the stored URLs of a host, or of all, that contain filter, a page of them at a
// time, until it returns false. A partition that cannot be read ends it: half a list would look
// like a whole one.
func (s *Server) each(
	ctx context.Context,
	host, filter string,
	ignoreCase bool,
	fn func([]*crawl.URLLine) (more bool, err error),
) error {
	q := crawl.URLQuery{Contains: filter}
	if host != "" {
		name, err := hostOf(host)
		if err != nil {
			return nil //nolint:nilerr // no queue has such a key
		}
		q.Host = string(name)
	}
	for {
		page, err := s.backend.ListURLs(ctx, q)
		if err != nil {
			return err
		}
		var wanted []*crawl.URLLine
		for i := range page.URLs {
			if l := &page.URLs[i]; ignoreCase || strings.Contains(l.URL, filter) {
				wanted = append(wanted, l)
			}
		}
		if more, err := fn(wanted); err != nil || !more {
			return err
		}
		switch {
		case len(page.Unread) > 0:
			return status.Error(codes.Unavailable, page.Unread[0].Why)
		case page.Next == nil:
			return nil
		}
		q.After = *page.Next
	}
}
