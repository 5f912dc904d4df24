package urlfrontier

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"

	"crawlnode/crawl"
	"crawlnode/web/urlnorm"
	"crawlnode/workers/urlfrontier/wire"
)

// The metadata that this package reads and writes.
const (
	metaLease  = "crawlnode.lease"
	metaLeft   = "crawlnode.lease_seconds" // from when the URL was asked for
	metaDepth  = "depth"
	metaGap    = "crawlnode.delay_seconds"
	metaSource = "source_url"
	metaStatus = "fetch.statusCode" // as StormCrawler calls it
	metaError  = "fetch.exception"
	// the pages that led to a URL, the last one last; so are the next three StormCrawler's
	metaPath   = "url.path"
	metaCause  = "error.cause"
	metaErrors = "fetch.error.count"
	ourPrefix  = "crawlnode." // of what is never kept
)

const (
	nextWait   = time.Second // how long GetURLs waits for the first URL
	usualHosts = 100         // of GetURLs without max_queues
	mostHosts  = 1000        // a lease's bound
)

// GetURLs leases URLs, one of a host. Without a crawl's id they are of any crawl.
func (s *Server) GetURLs(p *wire.GetParams, stream grpc.ServerStreamingServer[wire.URLInfo]) error {
	q := crawl.NextQuery{
		Worker: "urlfrontier-" + crawl.CallerOf(stream.Context()).From,
		Wait:   nextWait,
		Life:   time.Duration(p.GetDelayRequestable()) * time.Second,
	}
	if q.Most = int(min(p.GetMaxQueues(), mostHosts)); q.Most == 0 {
		q.Most = usualHosts
	}
	if p.GetKey() != "" {
		host, err := hostOf(p.GetKey())
		if err != nil {
			return nil //nolint:nilerr // no queue has such a key
		}
		q.Host, q.Most = host, 1
	}
	if named, ok := p.GetItem().(*wire.GetParams_CrawlID); ok {
		if q.Crawl = crawlOf(named.CrawlID); q.Crawl != "" && !crawl.ValidCrawl(q.Crawl) {
			return nil
		}
	} else {
		q.Any = true
	}
	for _, q := range queries(q) {
		lease, err := s.backend.NextURLs(stream.Context(), q)
		if err != nil {
			return err
		}
		for i := range lease.URLs {
			info := infoOf(&lease, i)
			s.leases.put(leaseKey(info.GetCrawlID(), info.GetUrl()), lease.LeaseID)
			if err := stream.Send(info); err != nil {
				return err // what was not sent comes again when the lease ends
			}
		}
		if len(lease.URLs) > 0 {
			return nil
		}
	}
	return nil
}

// queries are what a query asks for: a queue of any crawl is first that of the cluster's own crawl,
// then those of others.
func queries(q crawl.NextQuery) []crawl.NextQuery {
	if !q.Any || q.Host == "" {
		return []crawl.NextQuery{q}
	}
	q.Any, q.Wait = false, q.Wait/2
	others := q
	others.Crawl = crawl.OtherCrawls
	return []crawl.NextQuery{q, others}
}

// crawlOf is the id of a crawl as it is kept; "": the cluster's own.
func crawlOf(id string) string {
	if id = strings.TrimSpace(id); id == crawl.OwnCrawl {
		return ""
	}
	return id
}

// leaseKey names a URL of a crawl among the leases that were given out.
func leaseKey(id, url string) string { return crawlOf(id) + "\x00" + url }

// infoOf is a leased URL with what its clients have said of it, and what they must know.
func infoOf(lease *crawl.WorkerLease, i int) *wire.URLInfo {
	u, note := &lease.URLs[i], crawl.LeaseNote{}
	if i < len(lease.Notes) {
		note = lease.Notes[i]
	}
	info := &wire.URLInfo{
		Url:      u.URL,
		Key:      string(u.Host),
		CrawlID:  cmp.Or(note.Crawl, defaultCrawl),
		Metadata: wireMetadata(note.Metadata),
	}
	if _, said := info.Metadata[metaDepth]; !said && note.Crawl == "" {
		info.Metadata[metaDepth] = one(strconv.Itoa(u.Depth))
	}
	info.Metadata[metaLease] = one(lease.LeaseID)
	info.Metadata[metaLeft] = one(number(lease.LeaseSeconds))
	info.Metadata[metaGap] = one(number(u.DelaySeconds))
	return info
}

// wireMetadata is metadata as the protocol has it.
func wireMetadata(m crawl.Metadata) map[string]*wire.StringList {
	out := make(map[string]*wire.StringList, len(m)+4)
	for k, vs := range m {
		out[k] = &wire.StringList{Values: vs}
	}
	return out
}

// metadataOf is what is kept of an item's metadata: all but what this server has added. An error
// says why the item is refused.
func metadataOf(info *wire.URLInfo) (crawl.Metadata, error) {
	var m crawl.Metadata
	for k, vs := range info.GetMetadata() {
		if strings.HasPrefix(k, ourPrefix) {
			continue
		}
		if m == nil {
			m = crawl.Metadata{}
		}
		m[k] = vs.GetValues()
	}
	if n := m.Size(); n > crawl.MaxMetadata || m.ManyParts() {
		return nil, fmt.Errorf(
			"its metadata has %d bytes, more than the %d that are kept",
			n,
			crawl.MaxMetadata,
		)
	}
	return m, nil
}

// skip logs why an item is acknowledged as SKIPPED.
func (s *Server) skip(info *wire.URLInfo, why string) wire.AckMessage_Status {
	url := info.GetUrl()
	s.skips.Warn(
		"skipped a URL of a URLFrontier client",
		"url",
		url[:min(len(url), 200)],
		"crawl",
		info.GetCrawlID()[:min(len(info.GetCrawlID()), crawl.MaxCrawlID)],
		"why",
		why,
	)
	return wire.AckMessage_SKIPPED
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

// PutURLs stores URLs and results, and acknowledges each when it is durable, in their order. Those
// that came while others were being stored are stored together: the URLs first, so that a result is
// never stored before links that were sent before it.
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
	var ofURLs, ofResults, ofGuests []int
	for i, item := range items {
		known := item.GetKnown()
		switch info := infoIn(item); {
		case crawlOf(info.GetCrawlID()) != "":
			ofGuests = append(ofGuests, i)
		case known != nil:
			results, ofResults = append(results, known), append(ofResults, i)
		default:
			urls, ofURLs = append(urls, info), append(ofURLs, i)
		}
	}
	now := time.Now()
	for i, st := range s.store(ctx, urls) {
		sts[ofURLs[i]] = st
	}
	for i, st := range s.settle(ctx, results, now) {
		sts[ofResults[i]] = st
	}
	s.putGuests(ctx, items, ofGuests, sts, now)
	return sts
}

// putGuests stores the items of other crawls at the indexes, in their order, and writes the status
// of each into sts.
func (s *Server) putGuests(
	ctx context.Context,
	items []*wire.URLItem,
	at []int,
	sts []wire.AckMessage_Status,
	now time.Time,
) {
	var puts []crawl.GuestPut
	var of []int
	for _, i := range at {
		info, known := infoIn(items[i]), items[i].GetKnown()
		p := crawl.GuestPut{Crawl: crawlOf(info.GetCrawlID()), Known: known != nil}
		u, err := urlnorm.Parse(info.GetUrl())
		if err == nil {
			p.URL = u.String()
			p.Metadata, err = metadataOf(info)
		}
		if err == nil && !crawl.ValidCrawl(p.Crawl) {
			err = fmt.Errorf(
				"the id of its crawl is empty, longer than %d bytes, or no text",
				crawl.MaxCrawlID,
			)
		}
		if err != nil {
			sts[i] = s.skip(info, err.Error())
			continue
		}
		if known != nil {
			r := resultOf(known, now)
			p.Refetch, p.Result = int64(min(known.GetRefetchableFromDate(), maxDate)), &r
			p.Lease = first(info.GetMetadata(), metaLease)
			s.leases.take(leaseKey(p.Crawl, p.URL))
		}
		puts, of = append(puts, p), append(of, i)
	}
	if len(puts) == 0 {
		return
	}
	answers, why := s.backend.PutGuests(ctx, puts)
	for n, i := range of {
		switch answers[n] {
		case crawl.GuestStored:
		case crawl.GuestRefused:
			sts[i] = s.skip(infoIn(items[i]), why[n])
		default:
			sts[i] = wire.AckMessage_FAIL
		}
	}
}

// PutDiscovered stores batches of URLs, and acknowledges each batch when it is durable.
func (s *Server) PutDiscovered(
	stream grpc.BidiStreamingServer[wire.DiscoveredBatch, wire.BatchAck],
) error {
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
		if err := stream.Send(
			&wire.BatchAck{ID: batch.GetID(), Statuses: s.store(ctx, batch.GetItems())},
		); err != nil {
			return err
		}
	}
}

// store stores discovered URLs and returns a status for each. Those of the cluster's own crawl go
// to the node together; when it refuses some of them, in halves, to learn which.
func (s *Server) store(ctx context.Context, infos []*wire.URLInfo) []wire.AckMessage_Status {
	sts := make([]wire.AckMessage_Status, len(infos))
	var found []crawl.FoundURL
	var notes []crawl.NoteLine
	var at, ofGuests []int
	var guests []*wire.URLItem
	for i, info := range infos {
		if crawlOf(info.GetCrawlID()) != "" {
			ofGuests = append(ofGuests, i)
			guests = append(
				guests,
				&wire.URLItem{
					Item: &wire.URLItem_Discovered{Discovered: &wire.DiscoveredURLItem{Info: info}},
				},
			)
			continue
		}
		if info.GetUrl() == "" {
			sts[i] = wire.AckMessage_SKIPPED
			continue
		}
		md, err := metadataOf(info)
		if err != nil {
			sts[i] = s.skip(info, err.Error())
			continue
		}
		found = append(found, foundOf(info))
		notes = append(notes, crawl.NoteLine{URL: info.GetUrl(), Metadata: md})
		at = append(at, i)
	}
	got := s.storeOwn(ctx, found, notes)
	for i, st := range got {
		sts[at[i]] = st
	}
	if len(guests) > 0 {
		all, of := make([]wire.AckMessage_Status, len(guests)), make([]int, len(guests))
		for i := range of {
			of[i] = i
		}
		s.putGuests(ctx, guests, of, all, time.Now())
		for i, st := range all {
			sts[ofGuests[i]] = st
		}
	}
	return sts
}

// foundOf is a discovered URL with its source: as source_url, or, as StormCrawler says it, the last
// of url.path.
func foundOf(info *wire.URLInfo) crawl.FoundURL {
	source := first(info.GetMetadata(), metaSource)
	if path := info.GetMetadata()[metaPath].GetValues(); source == "" && len(path) > 0 {
		source = path[len(path)-1]
	}
	if source == "" { // a seed, whatever depth the client keeps with it
		return crawl.FoundURL{URL: info.GetUrl()}
	}
	depth, _ := strconv.Atoi(first(info.GetMetadata(), metaDepth))
	return crawl.FoundURL{URL: info.GetUrl(), SourceURL: source, Depth: max(depth, 0)}
}

// storeOwn stores URLs of the cluster's own crawl. What is said of them comes first, so that nobody
// gets a URL without it.
func (s *Server) storeOwn(
	ctx context.Context,
	found []crawl.FoundURL,
	notes []crawl.NoteLine,
) []wire.AckMessage_Status {
	sts := make([]wire.AckMessage_Status, len(found))
	if len(found) == 0 {
		return sts
	}
	if err := s.backend.PutNotes(ctx, notes); err != nil {
		for i := range sts {
			sts[i] = wire.AckMessage_FAIL
		}
		return sts
	}
	s.storeIn(ctx, found, sts)
	stored := found[:0:0]
	var dropped []crawl.NoteLine
	for i, st := range sts {
		switch st {
		case wire.AckMessage_OK:
			stored = append(stored, found[i])
		case wire.AckMessage_SKIPPED:
			dropped = append(dropped, crawl.NoteLine{URL: notes[i].URL, Drop: true})
		}
	}
	if len(dropped) > 0 {
		_ = s.backend.PutNotes(ctx, dropped) // what is left says nothing of any URL
	}
	noteSeeds(ctx, stored)
	return sts
}

// storeIn stores URLs and writes the status of each into sts.
func (s *Server) storeIn(
	ctx context.Context,
	found []crawl.FoundURL,
	sts []wire.AckMessage_Status,
) {
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
		why := "it is no URL that may be fetched, or outside of the crawl's scope (crawlnode urls " +
			"why tells)"
		if err != nil {
			why = err.Error()
		}
		for i := range found {
			sts[i] = s.skip(&wire.URLInfo{Url: found[i].URL}, why)
		}
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

// settle reports results of URLs of the cluster's own crawl to the node and returns a status for
// each. Those of one lease go together.
func (s *Server) settle(
	ctx context.Context,
	known []*wire.KnownURLItem,
	now time.Time,
) []wire.AckMessage_Status {
	sts := make([]wire.AckMessage_Status, len(known))
	notes := make([]crawl.NoteLine, len(known))
	of := map[string][]int{}
	for i, k := range known {
		info := k.GetInfo()
		md, err := metadataOf(info)
		if err != nil {
			sts[i] = s.skip(info, err.Error())
			continue
		}
		notes[i] = crawl.NoteLine{
			URL:      info.GetUrl(),
			Metadata: md,
			Known:    true,
			Refetch:  int64(min(k.GetRefetchableFromDate(), maxDate)),
		}
		lease := s.leases.take(leaseKey("", info.GetUrl()))
		if told := first(info.GetMetadata(), metaLease); told != "" {
			lease = told
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
			if st == wire.AckMessage_SKIPPED {
				st = s.settleNew(ctx, known[at[i]], results[i])
			}
			sts[at[i]] = st
		}
	}
	s.noteResults(ctx, notes, sts)
	return sts
}

// noteResults keeps what clients say in results that count.
func (s *Server) noteResults(
	ctx context.Context,
	notes []crawl.NoteLine,
	sts []wire.AckMessage_Status,
) {
	var lines []crawl.NoteLine
	for i, st := range sts {
		if st == wire.AckMessage_OK && notes[i].Known {
			lines = append(lines, notes[i])
		}
	}
	if len(lines) == 0 || s.backend.PutNotes(ctx, lines) == nil {
		return
	}
	for i, st := range sts {
		if st == wire.AckMessage_OK && notes[i].Known {
			sts[i] = wire.AckMessage_FAIL // sent again, the result counts as a repeat
		}
	}
}

// settleNew takes the result of a URL that was never admitted: it is admitted first. Any other is
// refused: somebody else has the URL now.
func (s *Server) settleNew(
	ctx context.Context,
	known *wire.KnownURLItem,
	result crawl.WorkerResult,
) wire.AckMessage_Status {
	info := known.GetInfo()
	r, err := s.backend.ExplainURL(ctx, info.GetUrl(), -1)
	switch {
	case err != nil || r.URL == nil:
		return wire.AckMessage_SKIPPED // it is no URL
	case r.Unanswered != nil:
		return wire.AckMessage_FAIL
	case r.Record != nil:
		return s.skip(info, "another client has it now, or the nodes fetch it")
	}
	sts := make([]wire.AckMessage_Status, 1)
	if s.storeIn(ctx, []crawl.FoundURL{foundOf(info)}, sts); sts[0] != wire.AckMessage_OK {
		return sts[0]
	}
	s.settleIn(ctx, "", []crawl.WorkerResult{result}, sts)
	return sts[0]
}

// settleIn reports the results of a lease and writes the status of each into sts. When only some
// count, it sends halves again, to learn which: a result that has counted is acknowledged again.
func (s *Server) settleIn(
	ctx context.Context,
	lease string,
	results []crawl.WorkerResult,
	sts []wire.AckMessage_Status,
) {
	report, err := s.backend.SettleLate(ctx, crawl.WorkerResults{LeaseID: lease, Results: results})
	ended := errors.Is(err, crawl.ErrLeaseEnded) || err == nil && report.Processed == 0
	switch half := len(results) / 2; {
	case err == nil && report.Processed == len(results):
		for i := range sts {
			sts[i] = wire.AckMessage_OK
		}
	case ended || len(results) == 1 && refusedForGood(err):
		for i := range sts {
			sts[i] = wire.AckMessage_SKIPPED
		}
	case err == nil || refusedForGood(err):
		s.settleIn(ctx, lease, results[:half], sts[:half])
		s.settleIn(ctx, lease, results[half:], sts[half:])
	default:
		for i := range sts {
			if lease != "" {
				s.leases.put(leaseKey("", results[i].URL), lease) // it may be sent again
			}
			sts[i] = wire.AckMessage_FAIL
		}
	}
}

// resultOf is what a known item says of its URL at this time.
func resultOf(known *wire.KnownURLItem, now time.Time) crawl.WorkerResult {
	info := known.GetInfo()
	md := info.GetMetadata()
	r := crawl.WorkerResult{URL: info.GetUrl(), Status: crawl.WorkerSuccess}
	code, err := strconv.Atoi(first(md, metaStatus))
	told := err == nil && code >= 100 && code < 600
	date := known.GetRefetchableFromDate()
	why := cmp.Or(first(md, metaError), first(md, metaCause))
	if _, counted := md[metaErrors]; counted && why == "" {
		why = "the client counts errors of it"
	}
	switch {
	case told && first(md, metaError) == "":
		r.HTTPStatus = code
		if wait := time.Unix(int64(min(date, maxDate)), 0).
			Sub(now); date > 0 && wait > 0 &&
			code >= 400 {
			r.RetryAfter = wait.Seconds()
		}
	case why != "" && date > 0: // it is wanted again then, and not before
		r.Status, r.Error = crawl.WorkerPostponed, why
	case why != "":
		r.Status, r.Error = crawl.WorkerError, why
	default: // StormCrawler keeps no status of a success
		r.HTTPStatus = 200
	}
	return r
}

// maxDate is the last second of the year 9999.
const maxDate = 253402300799
