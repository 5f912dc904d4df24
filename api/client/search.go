package client

import (
	"context"
	"net/url"
	"strconv"

	"crawlnode/crawl"
)

// Search asks for pages by their text.
func (c *Client) Search(ctx context.Context, q crawl.SearchQuery) (*crawl.SearchReport, error) {
	query := url.Values{
		"query": {q.Query},
		"page":  {strconv.Itoa(max(q.Page, 1))},
		"size":  {strconv.Itoa(min(max(q.Size, 1), crawl.MaxSearchSize))},
	}
	report := new(crawl.SearchReport)
	return report, c.get(ctx, "/api/v1/search?"+query.Encode(), report)
}
