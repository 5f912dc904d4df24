package metrics

import "github.com/prometheus/client_golang/prometheus"

// single is a figure without labels.
type single struct {
	name, help string
	kind       prometheus.ValueType
	// read returns the figure; false when it is not known.
	read func(*Sample) (float64, bool)
}

// group is a figure by one label.
type group struct {
	name, help, label string
	kind              prometheus.ValueType
	read              func(*Sample) Counts
}

const (
	counter = prometheus.CounterValue
	gauge   = prometheus.GaugeValue
)

// count makes a reader of a number that is always known.
func count(field func(*Sample) int64) func(*Sample) (float64, bool) {
	return func(s *Sample) (float64, bool) { return float64(field(s)), true }
}

// known makes a reader of a number that may be missing.
func known(field func(*Sample) *int64) func(*Sample) (float64, bool) {
	return func(s *Sample) (float64, bool) {
		if n := field(s); n != nil {
			return float64(*n), true
		}
		return 0, false
	}
}

// engineSingles are the figures of fetching and of the frontier.
func engineSingles() []single {
	return []single{
		{"pages_total", "Queued URLs that got an HTTP response, of any status.", counter, count(func(s *Sample) int64 { return s.Pages })},
		{"body_bytes_total", "Bytes of response bodies read.", counter, count(func(s *Sample) int64 { return s.Bytes })},
		{"robots_fetches_total", "Requests for robots.txt.", counter, count(func(s *Sample) int64 { return s.RobotsFetches })},
		{"urls_failed_total", "URLs given up after their last attempt.", counter, count(func(s *Sample) int64 { return s.Failed })},
		{"urls_seen", "URLs known to the partitions that this node holds.", gauge, count(func(s *Sample) int64 { return s.Seen })},
		{"urls_duplicate_total", "URLs offered that were known already.", counter, count(func(s *Sample) int64 { return s.Duplicates })},
		{"outbox_links", "Links that wait for the acknowledgement of their owner.", gauge, count(func(s *Sample) int64 { return s.Outbox })},
		{"visits_in_flight", "Visits handed out and not yet settled.", gauge, count(func(s *Sample) int64 { return s.InFlight })},
		{"hosts_known", "Hosts of which the partitions held have a URL.", gauge, count(func(s *Sample) int64 { return s.HostsKnown })},
		{"links_found_total", "Links found on pages, before any rule.", counter, count(func(s *Sample) int64 { return s.LinksFound })},
		{"fetchers", "Fetchers that are busy.", gauge, count(func(s *Sample) int64 { return s.Fetchers })},
		{"fetchers_limit", "Fetchers that may be busy at once.", gauge, count(func(s *Sample) int64 { return s.FetchersMax })},
		{"dns_lookups_total", "Host names asked for.", counter, count(func(s *Sample) int64 { return s.DNS.Lookups })},
		{"dns_hits_total", "Look-ups answered from memory.", counter, count(func(s *Sample) int64 { return s.DNS.Hits })},
		{"dns_negative_hits_total", "Look-ups answered from memory with: not found.", counter, count(func(s *Sample) int64 { return s.DNS.NegativeHits })},
		{"dns_stale_served_total", "Look-ups answered with an expired entry because the servers failed.", counter, count(func(s *Sample) int64 { return s.DNS.StaleServed })},
		{"dns_failures_total", "Look-ups that failed because the servers did.", counter, count(func(s *Sample) int64 { return s.DNS.Failures })},
		{"dns_queries_total", "Messages sent to name servers.", counter, count(func(s *Sample) int64 { return s.DNS.Queries })},
	}
}

// nodeSingles are the figures of the node in its cluster and of its disk.
func nodeSingles() []single {
	return []single{
		{"ring_view", "Number of the view that the node follows.", gauge, count(func(s *Sample) int64 { return s.View })},
		{"partitions_moving", "Partitions on their way in or out.", gauge, count(func(s *Sample) int64 { return s.Moving })},
		{"paused", "1 while the node may not fetch or was told not to.", gauge, func(s *Sample) (float64, bool) {
			if s.Paused {
				return 1, true
			}
			return 0, true
		}},
		{"lease_remaining_seconds", "How long the node may go on fetching without hearing from its peers.", gauge, func(s *Sample) (float64, bool) {
			if s.LeaseRemaining == nil {
				return 0, false
			}
			return *s.LeaseRemaining, true
		}},
		{"warc_files", "WARC files in the archive folder.", gauge, count(func(s *Sample) int64 { return s.WARCFiles })},
		{"warc_bytes", "Size of the WARC files in the archive folder.", gauge, count(func(s *Sample) int64 { return s.WARCBytes })},
		{"warc_records_total", "Response and revisit records written.", counter, count(func(s *Sample) int64 { return s.Records })},
		{"content_duplicates_total", "Captures whose payload had been stored before.", counter, count(func(s *Sample) int64 { return s.ContentDuplicates })},
		{"warc_written_bytes_total", "Bytes written to WARC files.", counter, count(func(s *Sample) int64 { return s.WARCWritten })},
		{"warc_index_bytes", "Size of the CDXJ indexes in the archive folder.", gauge, count(func(s *Sample) int64 { return s.WARCIndexBytes })},
		{"warc_bytes_per_second", "Bytes a second written to WARC files, in the last seconds.", gauge, func(s *Sample) (float64, bool) { return s.WARCByteRate, true }},
		{"warc_records_per_second", "Response and revisit records a second, in the last seconds.", gauge, func(s *Sample) (float64, bool) { return s.RecordRate, true }},
		{"disk_free_bytes", "Space left for the data directory.", gauge, known(func(s *Sample) *int64 { return s.DiskFree })},
		{"warc_disk_free_bytes", "Space left for WARC files, which may have a volume of their own.", gauge, known(func(s *Sample) *int64 { return s.WARCDiskFree })},
	}
}

// groups are the figures with a label.
func groups() []group {
	return []group{
		{"responses_total", "HTTP responses by class of status.", "class", counter, func(s *Sample) Counts { return s.Responses }},
		{"fetch_errors_total", "Requests that failed, by category.", "category", counter, func(s *Sample) Counts { return s.Errors }},
		{"urls_skipped_total", "URLs not queued or not fetched, by reason.", "reason", counter, func(s *Sample) Counts { return s.Skipped }},
		{"links_total", "Links that passed the rules, by where they went.", "route", counter, func(s *Sample) Counts { return s.Links }},
		{"queued_urls", "URLs that wait in the partitions held, by band; 0 is served first.", "band", gauge, func(s *Sample) Counts { return s.Queued }},
		{"hosts", "Hosts in memory by state.", "state", gauge, func(s *Sample) Counts { return s.Hosts }},
		{"partitions", "Partitions by the node's role.", "role", gauge, func(s *Sample) Counts { return s.Partitions }},
		{"members", "Nodes of the cluster by state, as this node sees them.", "state", gauge, func(s *Sample) Counts { return s.Members }},
	}
}
