package urlfrontier

import (
	"context"
	"errors"
	"io"
	"strconv"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"crawlnode/api/urlfrontier/wire"
	"crawlnode/crawl"
)

// The metadata that this package reads and writes.
const (
	metaLease      = "crawlnode.lease"
	metaLeft       = "crawlnode.lease_seconds" // from when the URL was asked for
	metaDepth      = "depth"
	metaGap        = "crawlnode.delay_seconds"
	metaSource     = "source_url"
	metaStatus     = "fetch.statusCode" // as StormCrawler calls it
	metaError      = "fetch.exception"
	metaRetryAfter = "retry_after"
)

const (
	nextWait   = time.Second // how long GetURLs waits for the first URL
	usualHosts = 100         // of GetURLs without max_queues
	mostHosts  = 1000        // a lease's bound
)

// GetURLs leases URLs, one of a host.
func (s *Server) GetURLs(p *wire.GetParams, stream grpc.ServerStreamingServer[wire.URLInfo]) error {
	if _, any := p.GetItem().(*wire.GetParams_AnyCrawlID); !any && !ours(p.GetCrawlID()) {
		return nil
	}
	if p.GetKey() != "" {
		return status.Error(codes.Unimplemented, "queues are chosen by politeness and importance: leave the key empty")
	}
	most := int(min(p.GetMaxQueues(), mostHosts))
	if most == 0 {
		most = usualHosts
	}
	lease, err := s.backend.NextURLs(stream.Context(), crawl.NextQuery{Worker: "urlfrontier-" + crawl.AskerOf(stream.Context()).From, Most: most, Wait: nextWait})
	if err != nil {
		return err
	}
	for i := range lease.URLs {
		u := &lease.URLs[i]
		s.given.put(u.URL, lease.LeaseID)
		if err := stream.Send(infoOf(u, &lease)); err != nil {
			return err // what was not sent comes again when the lease ends
		}
	}
	return nil
}

func infoOf(u *crawl.LeasedURL, lease *crawl.WorkerLease) *wire.URLInfo {
	return &wire.URLInfo{Url: u.URL, Key: string(u.Host), CrawlID: defaultCrawl, Metadata: map[string]*wire.StringList{
		metaLease: one(lease.LeaseID), metaLeft: one(number(lease.LeaseSeconds)), metaDepth: one(strconv.Itoa(u.Depth)), metaGap: one(number(u.DelaySeconds)),
	}}
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func one(v string) *wire.StringList { return &wire.StringList{Values: []string{v}} }

// first is the first value of a key; "" without one.
func first(md map[string]*wire.StringList, key string) string {
	if vs := md[key].GetValues(); len(vs) > 0 {
		return vs[0]
	}
	return ""
}

// PutURLs stores URLs and results, and acknowledges each when it is durable.
func (s *Server) PutURLs(stream grpc.BidiStreamingServer[wire.URLItem, wire.AckMessage]) error {
	for {
		item, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		info := item.GetDiscovered().GetInfo()
		var st wire.AckMessage_Status
		if known := item.GetKnown(); known != nil {
			info = known.GetInfo()
			st = s.settle(stream.Context(), known, time.Now())
		} else {
			st = s.store(stream.Context(), []*wire.URLInfo{info})[0]
		}
		id := item.GetID()
		if id == "" {
			id = info.GetUrl()
		}
		if err := stream.Send(&wire.AckMessage{ID: id, Status: st}); err != nil {
			return err
		}
	}
}

// PutDiscovered stores batches of URLs, and acknowledges each batch when it is durable.
func (s *Server) PutDiscovered(stream grpc.BidiStreamingServer[wire.DiscoveredBatch, wire.BatchAck]) error {
	for {
		batch, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := stream.Send(&wire.BatchAck{ID: batch.GetID(), Statuses: s.store(stream.Context(), batch.GetItems())}); err != nil {
			return err
		}
	}
}

// store stores discovered URLs and returns a status for each. They go to the node together; when it refuses some of them, one by one,
// to learn which.
func (s *Server) store(ctx context.Context, infos []*wire.URLInfo) []wire.AckMessage_Status {
	sts := make([]wire.AckMessage_Status, len(infos))
	var found crawl.FoundURLs
	var at []int
	for i, info := range infos {
		if !ours(info.GetCrawlID()) || info.GetUrl() == "" {
			sts[i] = wire.AckMessage_SKIPPED
			continue
		}
		depth, _ := strconv.Atoi(first(info.GetMetadata(), metaDepth))
		found.URLs = append(found.URLs, crawl.FoundURL{URL: info.GetUrl(), SourceURL: first(info.GetMetadata(), metaSource), Depth: max(depth, 0)})
		at = append(at, i)
	}
	if len(at) == 0 {
		return sts
	}
	report, err := s.backend.AddFound(ctx, found)
	switch {
	case err != nil && !refusedForGood(err):
		for _, i := range at {
			sts[i] = wire.AckMessage_FAIL
		}
	case err == nil && report.Rejected == 0:
	case len(at) == 1:
		sts[at[0]] = wire.AckMessage_SKIPPED
	default:
		for _, i := range at {
			sts[i] = s.store(ctx, infos[i:i+1])[0]
		}
	}
	return sts
}

// refusedForGood reports whether the same URLs would be refused again.
func refusedForGood(err error) bool {
	fields := (*crawl.FieldErrors)(nil)
	return errors.Is(err, crawl.ErrRefused) || errors.As(err, &fields)
}

// settle reports the result of a leased URL to the node.
func (s *Server) settle(ctx context.Context, known *wire.KnownURLItem, now time.Time) wire.AckMessage_Status {
	info := known.GetInfo()
	lease := s.given.take(info.GetUrl())
	if told := first(info.GetMetadata(), metaLease); told != "" {
		lease = told
	}
	if lease == "" || !ours(info.GetCrawlID()) {
		return wire.AckMessage_SKIPPED
	}
	report, err := s.backend.SettleURLs(ctx, crawl.WorkerResults{LeaseID: lease, Results: []crawl.WorkerResult{resultOf(known, now)}})
	switch {
	case err == nil && report.Processed > 0:
		return wire.AckMessage_OK
	case err == nil || errors.Is(err, crawl.ErrLeaseEnded) || refusedForGood(err):
		return wire.AckMessage_SKIPPED
	}
	s.given.put(info.GetUrl(), lease) // it may be sent again
	return wire.AckMessage_FAIL
}

// resultOf is what a known item says of its URL at this time.
func resultOf(known *wire.KnownURLItem, now time.Time) crawl.WorkerResult {
	info := known.GetInfo()
	r := crawl.WorkerResult{URL: info.GetUrl(), Status: crawl.WorkerSuccess}
	code, err := strconv.Atoi(first(info.GetMetadata(), metaStatus))
	told := err == nil && code >= 100 && code < 600
	if told {
		r.HTTPStatus = code
	}
	again := known.GetRefetchableFromDate() > 0
	why := first(info.GetMetadata(), metaError)
	switch {
	case told && why == "":
	case why != "" || again:
		r.Status, r.Error, r.HTTPStatus = crawl.WorkerError, why, 0
		if why == "" {
			r.Error = "the client wants to try again"
		}
	default:
		r.HTTPStatus = 200
	}
	if wait := time.Unix(int64(min(known.GetRefetchableFromDate(), maxDate)), 0).Sub(now); again && wait > 0 && (r.Status == crawl.WorkerError || code >= 400) {
		r.RetryAfter = wait.Seconds()
	}
	return r
}

// maxDate is the last second of the year 9999.
const maxDate = 253402300799
