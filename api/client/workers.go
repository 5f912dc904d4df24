package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"crawlnode/crawl"
)

// NextURLs leases URLs to a worker. The wait must be shorter than requestTimeout.
func (c *Client) NextURLs(
	ctx context.Context,
	q crawl.NextQuery,
) (lease crawl.WorkerLease, err error) {
	v := url.Values{
		"worker_id":  {q.Worker},
		"batch_size": {strconv.Itoa(q.Most)},
		"timeout_ms": {strconv.FormatInt(q.Wait.Milliseconds(), 10)},
	}
	err = c.get(ctx, "/api/v1/frontier/next?"+v.Encode(), &lease)
	return lease, err
}

// SendResults sends results of a lease.
func (c *Client) SendResults(
	ctx context.Context,
	r crawl.WorkerResults,
) (report crawl.ResultsReport, err error) {
	body, err := json.Marshal(r)
	if err != nil {
		return report, err
	}
	err = c.call(ctx, http.MethodPost, "/api/v1/frontier/results", body, &report)
	return report, err
}
