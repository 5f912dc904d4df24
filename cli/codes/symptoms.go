package codes

import (
	"slices"
	"strings"

	"crawlnode/api/codes"
)

// symptom is a chapter of docs/troubleshooting.md: what a person sees, and the codes that may
// stand behind it. A code is named by its anchor in docs/codes.md.
type symptom struct {
	title string
	codes []string
}

// symptoms are the chapters in their order.
var symptoms = []symptom{
	{"Nothing is fetched", []string{"exit-1", "fetch-dns", "fetch-connect", "fetch-tls",
		"fetch-timeout", "fetch-protocol", "fetch-other", "fetch-proxy", "fetch-rate_limited", "dns_down",
		"keeper_silent", "bot_key_differs", "secret_missing", "proxy_failing", "source_address_missing"}},
	{"An address is blocked", []string{"fetch-blocked_address", "addresses_refused"}},
	{"A site keeps the crawler out", []string{"fetch-blocked", "hosts_block_us"}},
	{"robots.txt forbids it", []string{"skip-robots", "skip-nofollow"}},
	{"Pages are missing", []string{"skip-out_of_scope", "skip-depth", "skip-trap", "skip-too_long",
		"skip-host_budget", "skip-scheme", "skip-invalid", "skip-focus", "fetch-truncated",
		"scope_behind", "sink_fails", "no_browser", "browser_no_sandbox"}},
	{"The crawl does not end", []string{"trap"}},
	{"The crawl is slow", []string{"domain_fails", "revisits_overdue", "bottleneck-politeness",
		"bottleneck-fetchers", "bottleneck-cpu", "bottleneck-dns", "bottleneck-disk",
		"bottleneck-handoff", "bottleneck-none", "bottleneck-nothing_due", "bottleneck-index",
		"bottleneck-render"}},
	{"The crawl stops", []string{"exit-0", "exit-5", "exit-130", "finish-frontier_exhausted",
		"finish-max_pages", "finish-max_duration", "finish-stopped"}},
	{"A node does not start", []string{"exit-2", "exit-3"}},
	{"A node does not join", []string{"exit-4", "join_address_silent", "join_address_wrong",
		"not_admitted", "calls_unanswered", "waits_for_members", "insecure"}},
	{"The cluster pauses", []string{"paused_minority", "partitions_unserved", "taking_over", "node_failed"}},
	{"Partitions are offline or have too few copies", []string{"offline", "under_replicated",
		"partitions_stuck", "partitions_lost", "copies_not_deleted"}},
	{"The disk is full or slow", []string{"exit-6", "low_disk", "disk_full", "disk_stalled", "upload_fails", "index_fails"}},
	{"Events do not arrive", []string{"webhook_fails", "webhook_full"}},
}

// symptomOf is the title of the chapter that has an entry, or "".
func symptomOf(e *codes.Entry) string {
	for _, s := range symptoms {
		if slices.Contains(s.codes, e.Anchor()) {
			return s.title
		}
	}
	return ""
}

// chapterAnchor is the anchor of a heading in a rendered Markdown file.
func chapterAnchor(title string) string {
	return strings.NewReplacer(" ", "-", ".", "").Replace(strings.ToLower(title))
}
