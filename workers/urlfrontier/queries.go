package urlfrontier

import (
	"context"
	"errors"
	"math"
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

// ListCrawls names the one crawl.
func (s *Server) ListCrawls(context.Context, *wire.Local) (*wire.StringList, error) {
	return &wire.StringList{Values: []string{defaultCrawl}}, nil
}

// GetStats counts URLs of the cluster, or of one host.
func (s *Server) GetStats(ctx context.Context, p *wire.QueueWithinCrawlParams) (*wire.Stats, error) {
	out := &wire.Stats{CrawlID: defaultCrawl, Counts: map[string]uint64{}}
	switch {
	case !ours(p.GetCrawlID()):
		out.CrawlID = p.GetCrawlID()
		return out, nil
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
		if h.State == crawl.HostInFlight {
			out.InProcess = 1 // a host has one URL at a time
		}
		if h.Queued > 0 || h.State == crawl.HostInFlight {
			out.Counts["active_queues"] = 1
		}
		return out, nil
	}
	st, err := s.backend.Status(ctx, false)
	if err != nil {
		return nil, err
	}
	f := &st.Frontier
	out.Size, out.InProcess, out.NumberOfQueues = count(f.Queued), uint32(min(count(f.InFlight), math.MaxUint32)), count(f.Hosts.Total)
	out.Counts["completed"] = count(f.SeenTotal - f.Queued)
	out.Counts["active_queues"] = count(f.Hosts.Ready + f.Hosts.Waiting + f.Hosts.InFlight)
	return out, nil
}

func count(n int64) uint64 { return uint64(max(n, 0)) }

// ListQueues lists hosts in memory, those with the most queued URLs first. An active one has URLs and is not held back.
func (s *Server) ListQueues(ctx context.Context, p *wire.Pagination) (*wire.QueueList, error) {
	out := &wire.QueueList{Start: p.GetStart(), CrawlID: p.GetCrawlID()}
	if !ours(p.GetCrawlID()) {
		return out, nil
	}
	hosts, err := s.backend.Hosts(ctx, "queued", crawl.MaxHostLines)
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range hosts.Hosts {
		h := &hosts.Hosts[i]
		if h.Queued > 0 && h.State != crawl.HostBackoff && h.State != crawl.HostFrozen || p.GetIncludeInactive() {
			names = append(names, string(h.Host))
		}
	}
	from := min(int(p.GetStart()), len(names))
	to := min(from+sizeOf(p.GetSize()), len(names))
	out.Values, out.Size = names[from:to], uint32(to-from)
	return out, nil
}

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
		return nil, status.Error(codes.Unimplemented, "a node is not paused alone: send it without local, or start the node with --fetch off")
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
func (s *Server) GetURLStatus(ctx context.Context, p *wire.URLStatusRequest) (*wire.URLItem, error) {
	if !ours(p.GetCrawlID()) {
		return nil, status.Error(codes.NotFound, "the cluster has one crawl: leave the crawl's id empty")
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
	return itemOf(*r.URL, host, r.Record.State == crawl.Queued.String(), r.NextVisitAt), nil
}

// itemOf is a URL as a list shows it.
func itemOf(url string, host crawl.Host, queued bool, next *time.Time) *wire.URLItem {
	info := &wire.URLInfo{Url: url, Key: string(host), CrawlID: defaultCrawl}
	if queued && next == nil {
		return &wire.URLItem{Item: &wire.URLItem_Discovered{Discovered: &wire.DiscoveredURLItem{Info: info}}}
	}
	known := &wire.KnownURLItem{Info: info}
	if next != nil {
		known.RefetchableFromDate = count(next.Unix())
	}
	return &wire.URLItem{Item: &wire.URLItem_Known{Known: known}}
}

// ListURLs streams stored URLs.
func (s *Server) ListURLs(p *wire.ListUrlParams, stream grpc.ServerStreamingServer[wire.URLItem]) error {
	if !ours(p.GetCrawlID()) {
		return nil
	}
	skip, left := int64(p.GetStart()), sizeOf(p.GetSize())
	return s.each(stream.Context(), p.GetKey(), p.GetFilter(), p.GetIgnoreCase(), func(l *crawl.URLLine) (bool, error) {
		if skip > 0 {
			skip--
			return true, nil
		}
		left--
		return left > 0, stream.Send(itemOf(l.URL, l.Host, l.State == crawl.ListQueued, l.NotBefore))
	})
}

// CountURLs counts stored URLs.
func (s *Server) CountURLs(ctx context.Context, p *wire.CountUrlParams) (*wire.Long, error) {
	if !ours(p.GetCrawlID()) {
		return &wire.Long{}, nil
	}
	if p.GetKey() == "" && p.GetFilter() == "" {
		st, err := s.backend.Status(ctx, false)
		if err != nil {
			return nil, err
		}
		return &wire.Long{Value: count(st.Frontier.SeenTotal)}, nil
	}
	out := &wire.Long{}
	err := s.each(ctx, p.GetKey(), p.GetFilter(), p.GetIgnoreCase(), func(*crawl.URLLine) (bool, error) {
		out.Value++
		return true, nil
	})
	return out, err
}

// each calls fn with the stored URLs of a host, or of all, that contain filter, until it returns false. A partition that cannot be read
// ends it: half a list would look like a whole one.
func (s *Server) each(ctx context.Context, host, filter string, ignoreCase bool, fn func(*crawl.URLLine) (more bool, err error)) error {
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
		for i := range page.URLs {
			if l := &page.URLs[i]; ignoreCase || strings.Contains(l.URL, filter) {
				if more, err := fn(l); err != nil || !more {
					return err
				}
			}
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
