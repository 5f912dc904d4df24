package mcp

import (
	"context"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"crawlnode/api/plaintext"
)

const maxNodes, maxReasons = 50, 20

type statusArguments struct{}

type statusOutput struct {
	Cluster        string         `json:"cluster"`
	AsOf           time.Time      `json:"as_of"`
	State          string         `json:"state" jsonschema:"of the cluster: joining, running, rebalancing, paused, paused_minority, draining or finished"`
	Health         string         `json:"health" jsonschema:"ok, warn or critical"`
	Reasons        []statusReason `json:"reasons" jsonschema:"why the health is not ok"`
	CrawlState     string         `json:"crawl_state" jsonschema:"idle, running, paused or finished"`
	FinishReason   string         `json:"finish_reason,omitempty"`
	Pages          int64          `json:"pages" jsonschema:"URLs that got an HTTP response"`
	PagesPerSecond float64        `json:"pages_per_second" jsonschema:"now"`
	Queued         int64          `json:"queued" jsonschema:"URLs that wait"`
	InFlight       int64          `json:"in_flight" jsonschema:"open requests"`
	Hosts          int64          `json:"hosts" jsonschema:"hosts ever seen"`
	Indexed        int64          `json:"indexed" jsonschema:"pages that search can find"`
	Bottleneck     string         `json:"bottleneck" jsonschema:"what limits the speed, in one sentence"`
	Nodes          []statusNode   `json:"nodes" jsonschema:"at most 50"`
}

type statusReason struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

type statusNode struct {
	Name   string `json:"name"`
	State  string `json:"state"`
	Pages  *int64 `json:"pages,omitempty"`
	Queued *int64 `json:"queued,omitempty"`
}

func (t *tools) addStatus(s *sdk.Server) error {
	tool := &sdk.Tool{
		Name: "status", Title: "How the crawl goes",
		Description: "Tells the state and health of the cluster and its crawl: pages, speed, queue," +
			" nodes, and what is wrong.",
		Annotations: reads("How the crawl goes", false),
	}
	return add(s, tool, func(map[string]*jsonschema.Schema) {}, t.status, t.calls)
}

func (t *tools) status(ctx context.Context, _ statusArguments) (string, statusOutput, error) {
	var out statusOutput
	st, err := t.node.Status(ctx, false)
	if err != nil {
		return "", out, err
	}
	out = statusOutput{
		Cluster: cleanLine(st.Cluster.Name, 100), AsOf: st.AsOf, State: cleanLine(st.Cluster.State, 100),
		Health: cleanLine(st.Cluster.Health.Level, 100), Reasons: []statusReason{},
		CrawlState: cleanLine(st.Crawl.State, 100), FinishReason: textOf(st.Crawl.FinishReason, 100),
		Pages: st.Throughput.PagesTotal, PagesPerSecond: st.Throughput.PagesPerSecond.Now,
		Queued: st.Frontier.Queued, InFlight: st.Frontier.InFlight, Hosts: st.Frontier.Hosts.Total,
		Indexed: st.Index.Documents, Bottleneck: cleanLine(st.Bottleneck.Message, 500),
		Nodes: []statusNode{},
	}
	reasons, nodes := st.Cluster.Health.Reasons, st.Nodes
	for _, r := range reasons[:min(len(reasons), maxReasons)] {
		out.Reasons = append(out.Reasons, statusReason{cleanLine(r.Code, 100), cleanLine(r.Message, 500)})
	}
	st.Nodes = nodes[:min(len(nodes), maxNodes)]
	for i := range st.Nodes {
		n := &st.Nodes[i]
		out.Nodes = append(
			out.Nodes,
			statusNode{cleanLine(n.Name, 100), cleanLine(n.State, 100), n.PagesTotal, n.Queued},
		)
	}
	var b strings.Builder
	if err := plaintext.WriteStatus(&b, st); err != nil {
		return "", out, err
	}
	text, _ := cutAt(clean(b.String()), maxWhy)
	return text, out, nil
}
