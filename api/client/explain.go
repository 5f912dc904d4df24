package client

import (
	"context"
	"net/url"
	"strconv"

	"crawlnode/crawl"
)

// ExplainURL asks what the cluster knows of a URL and how the rules judge it. A negative depth
// means the record's own.
func (c *Client) ExplainURL(ctx context.Context, u string, depth int) (*crawl.URLReport, error) {
	query := url.Values{"url": {u}}
	if depth >= 0 {
		query.Set("depth", strconv.Itoa(depth))
	}
	report := new(crawl.URLReport)
	return report, c.get(ctx, "/api/v1/urls?"+query.Encode(), report)
}

// DescribeHost asks what delays a host and what waits for it.
func (c *Client) DescribeHost(ctx context.Context, host string) (*crawl.HostReport, error) {
	report := new(crawl.HostReport)
	return report, c.get(ctx, "/api/v1/hosts/"+url.PathEscape(host), report)
}
