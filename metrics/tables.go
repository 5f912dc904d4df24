package metrics

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// single is a metric without labels.
type single struct {
	name, help string
	kind       prometheus.ValueType
	// read returns the value; false when it is unknown.
	read func(*Sample) (float64, bool)
}

// group is a metric with one label.
type group struct {
	name, help, label string
	kind              prometheus.ValueType
	read              func(*Sample) Counts
}

// distribution is a histogram.
type distribution struct {
	name, help string
	read       func(*Sample) *Histogram
}

const (
	counter = prometheus.CounterValue
	gauge   = prometheus.GaugeValue
)

// count makes a reader of a number that is always known.
func count(field func(*Sample) int64) func(*Sample) (float64, bool) {
	return func(s *Sample) (float64, bool) { return float64(field(s)), true }
}

// ratio makes a reader of a fraction that is always known.
func ratio(field func(*Sample) float64) func(*Sample) (float64, bool) {
	return func(s *Sample) (float64, bool) { return field(s), true }
}

// yes makes a reader of a yes or no.
func yes(field func(*Sample) bool) func(*Sample) (float64, bool) {
	return func(s *Sample) (float64, bool) {
		if field(s) {
			return 1, true
		}
		return 0, true
	}
}

// known makes a reader of a number that may be missing.
func known[N int64 | float64](field func(*Sample) *N) func(*Sample) (float64, bool) {
	return func(s *Sample) (float64, bool) {
		if n := field(s); n != nil {
			return float64(*n), true
		}
		return 0, false
	}
}

// singles are all metrics without labels.
func singles() []single {
	return slices.Concat(engineSingles(), revisitSingles(), indexSingles(), uploadSingles(),
		webhookSingles(), renderSingles(), workerSingles(), nodeSingles())
}

// engineSingles are the figures of fetching and of the frontier.
func engineSingles() []single {
	return []single{
		{"pages_total", "Queued URLs that got an HTTP response, of any status.", counter, count(func(s *Sample) int64 { return s.Pages })},
		{"body_bytes_total", "Bytes of response bodies read.", counter, count(func(s *Sample) int64 { return s.Bytes })},
		{"robots_fetches_total", "Requests for robots.txt.", counter, count(func(s *Sample) int64 { return s.RobotsFetches })},
		{"urls_seen", "URLs known to the partitions that this node holds.", gauge, count(func(s *Sample) int64 { return s.Seen })},
		{"urls_failed", "URLs given up after their last attempt, in the partitions that this node holds.", gauge, count(func(s *Sample) int64 { return s.Failed })},
		{"urls_duplicate", "Already known URLs offered to the partitions that this node holds.", gauge, count(func(s *Sample) int64 { return s.Duplicates })},
		{"requests_retried", "Requests that failed and were, or will be, made again, in the partitions that this node holds.", gauge, count(func(s *Sample) int64 { return s.Retries })},
		{"urls_raised_total", "Queued URLs that this node has moved to better bands, because links say more of them than when they were found.", counter, count(func(s *Sample) int64 { return s.Raised })},
		{"outbox_links", "Links that wait for the acknowledgement of their owner.", gauge, count(func(s *Sample) int64 { return s.Outbox })},
		{"visits_in_flight", "Visits handed out and not yet completed.", gauge, count(func(s *Sample) int64 { return s.InFlight })},
		{"hosts_known", "Hosts with a URL in the partitions that this node holds.", gauge, count(func(s *Sample) int64 { return s.HostsKnown })},
		{"links_found_total", "Links found on pages, before any rule.", counter, count(func(s *Sample) int64 { return s.LinksFound })},
		{"fetchers", "Fetchers that are busy.", gauge, count(func(s *Sample) int64 { return s.Fetchers })},
		{"fetchers_limit", "Fetchers that may be busy at once.", gauge, count(func(s *Sample) int64 { return s.FetchersMax })},
		{"dns_lookups_total", "Host name look-ups.", counter, count(func(s *Sample) int64 { return s.DNS.Lookups })},
		{"dns_hits_total", "Look-ups answered from memory.", counter, count(func(s *Sample) int64 { return s.DNS.Hits })},
		{"dns_negative_hits_total", "Look-ups answered from memory that the name does not exist.", counter, count(func(s *Sample) int64 { return s.DNS.NegativeHits })},
		{"dns_stale_served_total", "Look-ups answered with an expired entry because the servers failed.", counter, count(func(s *Sample) int64 { return s.DNS.StaleServed })},
		{"dns_failures_total", "Look-ups that failed because the name servers failed.", counter, count(func(s *Sample) int64 { return s.DNS.Failures })},
		{"dns_queries_total", "Messages sent to name servers.", counter, count(func(s *Sample) int64 { return s.DNS.Queries })},
	}
}

// revisitSingles are the figures of visits of known pages.
func revisitSingles() []single {
	return []single{
		{"revisits_total", "Visits of pages that were visited before and were due.", counter, count(func(s *Sample) int64 { return s.Revisits.Total })},
		{"revisits_due", "Pages of the partitions that this node holds whose next visit is due: in a queue, or waiting for a place in it. Missing while known pages are not visited again, as those below.", gauge, known(func(s *Sample) *int64 { return s.Revisits.Due })},
		{"revisits_late_seconds", "For how long the first of the due pages has waited for a place in the queue.", gauge, known(func(s *Sample) *float64 { return s.Revisits.Late })},
		{"revisits_price_seconds", "What a visit must bring at this node, in seconds of freshness of a page of weight 1. With adaptive only.", gauge, known(func(s *Sample) *float64 { return s.Revisits.Price })},
		{"revisits_capacity", "Visits of known pages a second that this node could make.", gauge, known(func(s *Sample) *float64 { return s.Revisits.Capacity })},
		{"freshness_expected_ratio", "Share of the cluster's known pages, weighted by importance, whose copy is as the page is now, as the model believes. With adaptive only.", gauge, known(func(s *Sample) *float64 { return s.Revisits.Expected })},
	}
}

// webhookSingles are the figures of the events that are sent.
func webhookSingles() []single {
	return []single{
		{"webhook_queued_events", "Events that wait on this node's disk for receivers of --webhook; each counts once for every receiver. Missing without --webhook, as the next one.", gauge, known(func(s *Sample) *int64 { return s.Webhooks.Queued })},
		{"webhook_behind_seconds", "Age of the event that is sent next, of the receiver that is most behind.", gauge, known(func(s *Sample) *float64 { return s.Webhooks.Behind })},
		{"webhook_events_total", "Events that receivers have taken.", counter, count(func(s *Sample) int64 { return s.Webhooks.Taken })},
		{"webhook_lost_total", "Events that a receiver will never get, because it was away for too long.", counter, count(func(s *Sample) int64 { return s.Webhooks.Lost })},
		{"webhook_failed_total", "Attempts to send an event that failed.", counter, count(func(s *Sample) int64 { return s.Webhooks.Failed })},
	}
}

// uploadSingles are the figures of the copies in an object store.
func uploadSingles() []single {
	return []single{
		{"upload_queued_files", "Finished files of this node that the object store has not got yet. Missing without --upload, as those below.", gauge, known(func(s *Sample) *int64 { return s.Upload.Queued })},
		{"upload_stored_bytes", "Bytes of this node's files that the object store has, verified.", gauge, known(func(s *Sample) *int64 { return s.Upload.Bytes })},
		{"upload_behind_seconds", "For how long the oldest of the queued files has been finished.", gauge, known(func(s *Sample) *float64 { return s.Upload.Behind })},
		{"upload_failed_total", "Attempts to copy a file to the object store that failed.", counter, count(func(s *Sample) int64 { return s.Upload.Failed })},
	}
}

// indexSingles are the figures of the index.
func indexSingles() []single {
	return []single{
		{"index_documents", "Pages of the partitions that this node holds that are in its index. Missing while the index is off, as those below.", gauge, known(func(s *Sample) *int64 { return s.Index.Documents })},
		{"index_bytes", "Size of this node's index on disk, with copies of other nodes' partitions.", gauge, known(func(s *Sample) *int64 { return s.Index.Bytes })},
		{"index_waiting", "Changes of pages that are not in this node's index yet, with copies.", gauge, known(func(s *Sample) *int64 { return s.Index.Waiting })},
		{"index_behind_seconds", "For how long not everything has been in this node's index.", gauge, known(func(s *Sample) *float64 { return s.Index.Behind })},
		{"search_questions_total", "Questions that people have asked this node.", counter, count(func(s *Sample) int64 { return s.Index.Questions })},
	}
}

// renderSingles are the figures of the browser.
func renderSingles() []single {
	return []single{
		{"render_queued", "Pages that wait for this node's browser. Missing while no page is shown to one, as the next two.", gauge, known(func(s *Sample) *int64 { return s.Render.Queued })},
		{"render_busy", "Pages in this node's browser.", gauge, known(func(s *Sample) *int64 { return s.Render.Busy })},
		{"render_max", "Pages that can be in this node's browser at one time.", gauge, known(func(s *Sample) *int64 { return s.Render.Max })},
		{"render_pages_total", "Pages that this node's browser has shown.", counter, count(func(s *Sample) int64 { return s.Render.Pages })},
		{"render_failed_total", "Pages that it could not show; they were taken as they were fetched.", counter, count(func(s *Sample) int64 { return s.Render.Failed })},
		{"render_timeouts_total", "Pages that were read at their time limit, or could not be read then.", counter, count(func(s *Sample) int64 { return s.Render.Timeouts })},
		{"render_restarts_total", "Browsers that were started after the first one.", counter, count(func(s *Sample) int64 { return s.Render.Restarts })},
		{"render_refused_requests_total", "Requests of pages in the browser that were refused.", counter, count(func(s *Sample) int64 { return s.Render.Refused })},
		{"render_cache_hits_total", "Requests of pages in the browser that were answered without a request to a web server.", counter, count(func(s *Sample) int64 { return s.Render.Hits })},
	}
}

// workerSingles are the figures of programs that fetch for the cluster.
func workerSingles() []single {
	return []single{
		{"workers_active", "Workers that have a URL of this node without a result.", gauge, count(func(s *Sample) int64 { return s.Workers.Active })},
		{"workers_leases", "Leases with a URL of this node without a result.", gauge, count(func(s *Sample) int64 { return s.Workers.Leases })},
		{"workers_leased_urls", "URLs of this node that workers have without a result.", gauge, count(func(s *Sample) int64 { return s.Workers.URLs })},
		{"workers_expired_total", "Leases that ended with a URL of this node without a result.", counter, count(func(s *Sample) int64 { return s.Workers.Expired })},
		{"workers_results_total", "Results of URLs of this node that counted.", counter, count(func(s *Sample) int64 { return s.Workers.Results })},
	}
}

// nodeSingles are the figures of the node in its cluster and of its disk.
func nodeSingles() []single {
	return []single{
		{"ready", "1 while the node takes part in the crawl, as /readyz says.", gauge, yes(func(s *Sample) bool { return s.Ready })},
		{"paused", "1 while the node may not fetch or is paused.", gauge, yes(func(s *Sample) bool { return s.Paused })},
		{"lease_remaining_seconds", "How long the node may continue to fetch without its lease being renewed.", gauge, known(func(s *Sample) *float64 { return s.LeaseRemaining })},
		{"ring_view", "Number of the node's current view.", gauge, count(func(s *Sample) int64 { return s.View })},
		{"partitions_moving", "Partitions being moved in or out.", gauge, count(func(s *Sample) int64 { return s.Moving })},
		{"handoff_bytes_total", "Bytes of partitions' copies sent and received.", counter, count(func(s *Sample) int64 { return s.HandoffBytes })},
		{"catch_up_bytes", "Size of the changes that are kept on disk for silent members.", gauge, count(func(s *Sample) int64 { return s.CatchUpBytes })},
		{"warc_files", "WARC files in the archive folder.", gauge, count(func(s *Sample) int64 { return s.WARCFiles })},
		{"warc_bytes", "Size of the WARC files in the archive folder.", gauge, count(func(s *Sample) int64 { return s.WARCBytes })},
		{"warc_records_total", "Response and revisit records written.", counter, count(func(s *Sample) int64 { return s.Records })},
		{"content_duplicates_total", "Captures whose payload was already stored.", counter, count(func(s *Sample) int64 { return s.ContentDuplicates })},
		{"content_unanswered_total", "Payloads stored whole because the node that knows earlier copies did not answer.", counter, count(func(s *Sample) int64 { return s.ContentUnanswered })},
		{"warc_written_bytes_total", "Bytes written to WARC files.", counter, count(func(s *Sample) int64 { return s.WARCWritten })},
		{"warc_index_bytes", "Size of the CDXJ indexes in the archive folder.", gauge, count(func(s *Sample) int64 { return s.WARCIndexBytes })},
		{"warc_bytes_per_second", "Bytes a second written to WARC files, in the last seconds.", gauge, ratio(func(s *Sample) float64 { return s.WARCByteRate })},
		{"warc_records_per_second", "Response and revisit records a second, in the last seconds.", gauge, ratio(func(s *Sample) float64 { return s.RecordRate })},
		{"derived_files", "Files of derived outputs.", gauge, count(func(s *Sample) int64 { return s.DerivedFiles })},
		{"derived_bytes", "Size of the files of derived outputs.", gauge, count(func(s *Sample) int64 { return s.DerivedBytes })},
		{"disk_free_bytes", "Space left for the data directory.", gauge, known(func(s *Sample) *int64 { return s.DiskFree })},
		{"warc_disk_free_bytes", "Space left for WARC files, which may have a volume of their own.", gauge, known(func(s *Sample) *int64 { return s.WARCDiskFree })},
	}
}

// groups are the figures with a label.
func groups() []group {
	return []group{
		{"responses_total", "HTTP responses by class of status.", "class", counter, func(s *Sample) Counts { return s.Responses }},
		{"fetch_errors_total", "Failed requests, by category.", "category", counter, func(s *Sample) Counts { return s.Errors }},
		{"urls_given_up", "URLs given up after their last attempt, by reason, in the partitions that this node holds; without those that another URL replaces.", "reason", gauge, func(s *Sample) Counts { return s.GivenUp }},
		{"urls_skipped_total", "URLs not queued or not fetched, by reason.", "reason", counter, func(s *Sample) Counts { return s.Skipped }},
		{"links_total", "Links that passed the rules, by route.", "route", counter, func(s *Sample) Counts { return s.Links }},
		{"peer_calls_total", "Messages sent to other nodes, by method: calls, and the messages of streams. Without gossip.", "method", counter, func(s *Sample) Counts { return s.PeerCalls }},
		{"peer_bytes_total", "Bytes of these messages and of the answers, by method, without headers.", "method", counter, func(s *Sample) Counts { return s.PeerBytes }},
		{"queued_urls", "Queued URLs in the partitions that this node holds, by band; band 0 is fetched first.", "band", gauge, func(s *Sample) Counts { return s.Queued }},
		{"hosts", "Hosts in memory by state.", "state", gauge, func(s *Sample) Counts { return s.Hosts }},
		{"partitions", "Partitions by the node's role.", "role", gauge, func(s *Sample) Counts { return s.Partitions }},
		{"members", "Nodes of the cluster by state, as this node sees them.", "state", gauge, func(s *Sample) Counts { return s.Members }},
		{"cluster_partitions", "Partitions of the whole cluster by state, as this node sees them; a partition may be in several states.", "state", gauge, func(s *Sample) Counts { return s.ClusterPartitions }},
		{"crawl_state", "1 for the state of the crawl, 0 for the others.", "state", gauge, func(s *Sample) Counts { return s.CrawlState }},
		{"revisit_results", "Answered visits of due pages, by result, in the partitions that this node holds; not_modified is a part of unchanged.", "result", gauge, func(s *Sample) Counts { return s.Revisits.Results }},
		{"health_reason", "1 for each reason of health in /status, by its code, 0 for the others.", "code", gauge, func(s *Sample) Counts { return s.Health }},
	}
}

// distributions are the histograms.
func distributions() []distribution {
	return []distribution{
		{"response_duration_seconds", "Time from a request to the end of its response; the sum is estimated from the buckets.", func(s *Sample) *Histogram { return &s.Latency }},
		{"dns_lookup_duration_seconds", "Time of a name look-up that was not answered from memory.", func(s *Sample) *Histogram { return &s.DNSLatency }},
		{"frontier_commit_duration_seconds", "Time to write one group of changes to the store.", func(s *Sample) *Histogram { return &s.Commit }},
		{"render_duration_seconds", "Time that a page took in this node's browser. Missing while no page is shown to one.", func(s *Sample) *Histogram { return &s.Render.Seconds }},
		{"handoff_pause_duration_seconds", "Time during which no node crawled the hosts of a partition that this node handed over.", func(s *Sample) *Histogram { return &s.HandoffPause }},
	}
}
