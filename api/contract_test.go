package api

import (
	"strings"
	"testing"
)

// contractPaths are the operations that the public interface fixes, each with statuses of its
// answers and fields of the good one.
const contractPaths = `
get /status 200: api_version as_of served_by version cluster ring crawl throughput frontier fetch dns links bottleneck output nodes freshness render index workers
get /livez 200
get /readyz 200,503
get /healthz 200
get /.well-known/http-message-signatures-directory 200
get /metrics 200
get /openapi.json 200
post /api/v1/seeds 200,503: accepted duplicates out_of_scope invalid
get /api/v1/stats 200
get /api/v1/nodes 200
post /api/v1/nodes/{id}/drain 200
post /api/v1/nodes/{id}/forget 200
get /api/v1/ring 200: partitions
get /api/v1/hosts 200
get /api/v1/hosts/{host} 200
get /api/v1/urls 200
get /api/v1/crawl 200
put /api/v1/crawl 200
post /api/v1/crawl/pause 200
post /api/v1/crawl/resume 200
post /api/v1/crawl/stop 200
get /api/v1/events 200
get /api/v1/analysis/url 200: url normalizedUrl status fetchHistory robotsStatus linkAnalysis
get /api/v1/analysis/host 200: host urlsDiscovered urlsFetched urlsBlocked avgResponseTime errorRate robots throughputHistory
get /api/v1/search 200,400,409: query interpreted did_you_mean total total_exact seconds coverage results
get /cdx 200
get /api/v1/captures 200: captures
get /api/v1/audit 200
post /api/v1/frontier/urls 202: accepted rejected duplicates
get /api/v1/frontier/next 200: urls lease_id lease_expires_at
post /api/v1/frontier/results 200,410: processed retries_scheduled
`

// TestContractPaths checks the names that the public interface fixes.
func TestContractPaths(t *testing.T) {
	t.Parallel()
	d := describedStrictly(t)
	for line := range strings.Lines(strings.TrimSpace(contractPaths)) {
		head, fields, _ := strings.Cut(strings.TrimSpace(line), ":")
		words := strings.Fields(head)
		method, path, statuses := words[0], words[1], strings.Split(words[2], ",")
		for _, status := range statuses {
			if d.at("paths", path, method, "responses", status) == nil {
				t.Errorf("%s %s answers no %s", method, path, status)
			}
		}
		ref, _ := d.at("paths", path, method, "responses", statuses[0], "content", "application/json",
			"schema", "$ref").(string)
		name := strings.TrimPrefix(ref, "#/components/schemas/")
		for field := range strings.FieldsSeq(fields) {
			if d.at("components", "schemas", name, "properties", field) == nil {
				t.Errorf("%s %s: %q has no field %s", method, path, name, field)
			}
		}
	}
}
