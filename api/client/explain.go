package client

import (
	"context"
	"net/url"
	"strconv"
	"time"

	"crawlnode/crawl"
)

// ExplainURL asks what the cluster knows of a URL and how the rules judge it. A negative depth
// means the record's own. The capture is not read: the report has no metadata.
func (c *Client) ExplainURL(ctx context.Context, u string, depth int) (*crawl.URLReport, error) {
	return c.explain(ctx, url.Values{"url": {u}, "metadata": {"false"}}, depth)
}

// DescribeURL is ExplainURL with what the newest capture says of itself.
func (c *Client) DescribeURL(ctx context.Context, u string, depth int) (*crawl.URLReport, error) {
	return c.explain(ctx, url.Values{"url": {u}}, depth)
}

func (c *Client) explain(
	ctx context.Context,
	query url.Values,
	depth int,
) (*crawl.URLReport, error) {
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

// ListURLs asks for a page of the stored URLs that a query wants.
func (c *Client) ListURLs(ctx context.Context, q crawl.URLQuery) (*crawl.URLPage, error) {
	query := url.Values{}
	for name, value := range map[string]string{
		"state":    q.State,
		"host":     q.Host,
		"contains": q.Contains,
		"match":    q.Match,
		"status":   q.Status,
		"after":    q.After,
	} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if q.Changed {
		query.Set("changed", "true")
	}
	if !q.Since.IsZero() {
		query.Set("since", q.Since.UTC().Format(time.RFC3339Nano))
	}
	if q.Referrer {
		query.Set("referrer", "true")
	}
	if q.Limit > 0 {
		query.Set("limit", strconv.Itoa(min(q.Limit, crawl.MaxURLLines)))
	}
	if q.Partition != nil {
		query.Set("partition", strconv.Itoa(int(*q.Partition)))
	}
	page := new(crawl.URLPage)
	return page, c.get(ctx, "/api/v1/urls?"+query.Encode(), page)
}
