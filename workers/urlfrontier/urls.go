package urlfrontier

import (
	"context"
	"errors"
	"io"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"crawlnode/crawl"
	"crawlnode/workers/urlfrontier/wire"
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
	lease, err := s.backend.NextURLs(stream.Context(), crawl.NextQuery{Worker: "urlfrontier-" + crawl.CallerOf(stream.Context()).From, Most: most, Wait: nextWait})
	if err != nil {
		return err
	}
	for i := range lease.URLs {
		u := &lease.URLs[i]
		s.leases.put(u.URL, lease.LeaseID)
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

// PutURLs stores URLs and results, and acknowledges each when it is durable, in their order. Those that came while others were being stored are
// stored together: the URLs first, so that a result is never stored before links that were sent before it.
func (s *Server) PutURLs(stream grpc.BidiStreamingServer[wire.URLItem, wire.AckMessage]) error {
	b := newInbox()
	counted, done := s.tally(stream.Context(), "PutURLs")
	defer done()
	ctx, cancel := context.WithCancel(counted)
	var filling sync.WaitGroup
	defer filling.Wait() // a stream that cannot be sent to has ended for its receiver too
	defer cancel()
	filling.Go(func() { b.fill(ctx, stream.Recv) })
	for {
		items, err := b.take()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for i, st := range s.put(ctx, items) {
			id := items[i].GetID()
			if id == "" {
				id = infoIn(items[i]).GetUrl()
			}
			if err := stream.Send(&wire.AckMessage{ID: id, Status: st}); err != nil {
				return err
			}
		}
	}
}

// infoIn is the URL of an item; nil: it has none.
func infoIn(item *wire.URLItem) *wire.URLInfo {
	if known := item.GetKnown(); known != nil {
		return known.GetInfo()
	}
	return item.GetDiscovered().GetInfo()
}

// put stores items and returns a status for each.
func (s *Server) put(ctx context.Context, items []*wire.URLItem) []wire.AckMessage_Status {
	sts := make([]wire.AckMessage_Status, len(items))
	var urls []*wire.URLInfo
	var results []*wire.KnownURLItem
	var ofURLs, ofResults []int
	for i, item := range items {
		if known := item.GetKnown(); known != nil {
			results, ofResults = append(results, known), append(ofResults, i)
		} else {
			urls, ofURLs = append(urls, infoIn(item)), append(ofURLs, i)
		}
	}
	for i, st := range s.store(ctx, urls) {
		sts[ofURLs[i]] = st
	}
	for i, st := range s.settle(ctx, results, time.Now()) {
		sts[ofResults[i]] = st
	}
	return sts
}

// PutDiscovered stores batches of URLs, and acknowledges each batch when it is durable.
func (s *Server) PutDiscovered(stream grpc.BidiStreamingServer[wire.DiscoveredBatch, wire.BatchAck]) error {
	ctx, done := s.tally(stream.Context(), "PutDiscovered")
	defer done()
	for {
		batch, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := stream.Send(&wire.BatchAck{ID: batch.GetID(), Statuses: s.store(ctx, batch.GetItems())}); err != nil {
			return err
		}
	}
}

// store stores discovered URLs and returns a status for each. They go to the node together; when it refuses some of them, in halves, to learn
// which.
func (s *Server) store(ctx context.Context, infos []*wire.URLInfo) []wire.AckMessage_Status {
	sts := make([]wire.AckMessage_Status, len(infos))
	var found []crawl.FoundURL
	var at []int
	for i, info := range infos {
		if !ours(info.GetCrawlID()) || info.GetUrl() == "" {
			sts[i] = wire.AckMessage_SKIPPED
			continue
		}
		depth, _ := strconv.Atoi(first(info.GetMetadata(), metaDepth))
		found = append(found, crawl.FoundURL{URL: info.GetUrl(), SourceURL: first(info.GetMetadata(), metaSource), Depth: max(depth, 0)})
		at = append(at, i)
	}
	got := make([]wire.AckMessage_Status, len(found))
	s.storeIn(ctx, found, got)
	stored := found[:0:0]
	for i, st := range got {
		if st == wire.AckMessage_OK {
			stored = append(stored, found[i])
		}
	}
	noteSeeds(ctx, stored)
	for i, st := range got {
		sts[at[i]] = st
	}
	return sts
}

// storeIn stores URLs and writes the status of each into sts.
func (s *Server) storeIn(ctx context.Context, found []crawl.FoundURL, sts []wire.AckMessage_Status) {
	if len(found) == 0 {
		return
	}
	all := func(st wire.AckMessage_Status) {
		for i := range sts {
			sts[i] = st
		}
	}
	report, err := s.backend.AddFound(ctx, crawl.FoundURLs{URLs: found})
	switch half := len(found) / 2; {
	case err != nil && !refusedForGood(err):
		all(wire.AckMessage_FAIL)
	case err == nil && report.Rejected == 0:
	case len(found) == 1, err == nil && report.Rejected == len(found):
		all(wire.AckMessage_SKIPPED)
	default:
		s.storeIn(ctx, found[:half], sts[:half])
		s.storeIn(ctx, found[half:], sts[half:])
	}
}

// refusedForGood reports whether the same URLs would be refused again.
func refusedForGood(err error) bool {
	fields := (*crawl.FieldErrors)(nil)
	return errors.Is(err, crawl.ErrRefused) || errors.As(err, &fields)
}

// settle reports results of leased URLs to the node and returns a status for each. Those of one lease go together.
func (s *Server) settle(ctx context.Context, known []*wire.KnownURLItem, now time.Time) []wire.AckMessage_Status {
	sts := make([]wire.AckMessage_Status, len(known))
	of := map[string][]int{}
	for i, k := range known {
		info := k.GetInfo()
		lease := s.leases.take(info.GetUrl())
		if told := first(info.GetMetadata(), metaLease); told != "" {
			lease = told
		}
		if lease == "" || !ours(info.GetCrawlID()) {
			sts[i] = wire.AckMessage_SKIPPED
			continue
		}
		of[lease] = append(of[lease], i)
	}
	for lease, at := range of {
		var results []crawl.WorkerResult
		for _, i := range at {
			results = append(results, resultOf(known[i], now))
		}
		got := make([]wire.AckMessage_Status, len(at))
		s.settleIn(ctx, lease, results, got)
		for i, st := range got {
			sts[at[i]] = st
		}
	}
	return sts
}

// settleIn reports the results of a lease and writes the status of each into sts. When only some count, it sends halves again, to learn which: a
// result that has counted is acknowledged again.
func (s *Server) settleIn(ctx context.Context, lease string, results []crawl.WorkerResult, sts []wire.AckMessage_Status) {
	report, err := s.backend.SettleURLs(ctx, crawl.WorkerResults{LeaseID: lease, Results: results})
	ended := errors.Is(err, crawl.ErrLeaseEnded) || err == nil && report.Processed == 0
	switch half := len(results) / 2; {
	case err == nil && report.Processed == len(results):
	case ended || len(results) == 1 && refusedForGood(err):
		for i := range sts {
			sts[i] = wire.AckMessage_SKIPPED
		}
	case err == nil || refusedForGood(err):
		s.settleIn(ctx, lease, results[:half], sts[:half])
		s.settleIn(ctx, lease, results[half:], sts[half:])
	default:
		for i := range sts {
			s.leases.put(results[i].URL, lease) // it may be sent again
			sts[i] = wire.AckMessage_FAIL
		}
	}
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
