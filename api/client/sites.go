package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"crawlnode/crawl"
)

// Sites asks for the rules for sites, as YAML; "": there are none.
func (c *Client) Sites(ctx context.Context) (string, error) {
	text, err := c.do(ctx, http.MethodGet, "/api/v1/sites", nil)
	return string(text), err
}

// SetSites replaces the rules for sites on all nodes. tag, if not "", is the crawl.SitesTag of the
// rules that the change is based on; with others nothing is changed.
func (c *Client) SetSites(ctx context.Context, text, tag string) (
	report crawl.SitesReport, err error) {
	header := http.Header{"Content-Type": {"application/yaml"}}
	if tag != "" {
		header.Set("If-Match", `"`+tag+`"`)
	}
	err = c.sendRules(ctx, http.MethodPut, "/api/v1/sites", text, header, &report)
	return report, err
}

// TestSites asks which rules for sites apply to a URL, and what follows: those that are set, or
// with a text those of the text.
func (c *Client) TestSites(ctx context.Context, of string, text *string) (
	report crawl.SiteReport, err error) {
	path := "/api/v1/sites/test?url=" + url.QueryEscape(of)
	if text == nil {
		err = c.get(ctx, path, &report)
		return report, err
	}
	header := http.Header{"Content-Type": {"application/yaml"}}
	err = c.sendRules(ctx, http.MethodPost, path, *text, header, &report)
	return report, err
}

// sendRules sends rules and reads the JSON of the answer into a value.
func (c *Client) sendRules(ctx context.Context, method, path, text string, header http.Header,
	into any) error {
	resp, err := c.sendWith(ctx, c.http, method, path, []byte(text), header)
	if err != nil {
		return err
	}
	answer, err := c.whole(resp)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return fmt.Errorf("%s%s did not answer like a crawlnode: is --addr right? %w",
			c.addr, path, err)
	}
	return nil
}
