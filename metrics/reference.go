package metrics

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Described is one metric as the reference lists it.
type Described struct {
	Name   string // in full; a histogram adds _bucket, _sum and _count
	Type   string // counter, gauge or histogram
	Labels []string
	Help   string
}

// Reference lists all metrics of crawlnode's own, by name.
func Reference() []Described {
	kinds := map[bool]string{true: "counter", false: "gauge"}
	full := func(name string) string { return namespace + "_" + name }
	out := []Described{{full(buildInfo), "gauge", buildLabels, buildHelp}}
	for _, s := range singles() {
		out = append(out, Described{full(s.name), kinds[s.kind == counter], nil, s.help})
	}
	for _, g := range groups() {
		out = append(out, Described{full(g.name), kinds[g.kind == counter], []string{g.label}, g.help})
	}
	for _, d := range distributions() {
		out = append(out, Described{full(d.name), "histogram", nil, d.help})
	}
	slices.SortFunc(out, func(a, b Described) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// opening is the part of docs/metrics.md before the table.
const opening = `# Metrics

Made from the tables of package metrics; ` + "`make generate`" + ` updates it.

` + "`GET /metrics`" +
	` of each node, in the text formats of Prometheus and OpenMetrics. With a cluster key it wants the API token as a bearer token, over TLS, like every
other path ([operations.md](operations.md#watch)).

- Units are base units: seconds, bytes, 1. Counters end in ` + "`_total`" +
	` and count from the start of the process; what lives in partitions is a gauge, because partitions move.
- Labels are classes that the program names itself. No label holds a host or a URL, so a node has the same few hundred series whatever it crawls.
- A node speaks for itself. ` + "`crawlnode_cluster_partitions`, `crawlnode_members`, " +
	"`crawlnode_crawl_state`" +
	` and ` + "`crawlnode_health_reason`" + ` say how it sees the whole cluster: take the ` +
	"`max`" + ` over the nodes, not the sum.
- ` + "`go_*` and `process_*`" + ` are those of the Prometheus client library.

| name | type | labels | what |
|---|---|---|---|
`

// WriteReference writes docs/metrics.md.
func WriteReference(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprint(out, opening)
	for _, d := range Reference() {
		labels := ""
		if len(d.Labels) > 0 {
			labels = "`" + strings.Join(d.Labels, "`, `") + "`"
		}
		fmt.Fprintf(out, "| `%s` | %s | %s | %s |\n", d.Name, d.Type, labels, d.Help)
	}
	return out.Flush()
}
