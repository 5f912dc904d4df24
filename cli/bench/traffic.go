package bench

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// traffic is what goes between the nodes of a cluster for a page, by method, as the nodes count it:
// messages without gossip, the answers of calls in their bytes, no headers.
type traffic struct {
	Calls map[string]float64 `json:"calls"`
	Bytes map[string]float64 `json:"bytes"`
}

const (
	callsMetric = "crawlnode_peer_calls_total"
	bytesMetric = "crawlnode_peer_bytes_total"
)

// add adds the samples of a node's metrics, each times factor. A crawlnode of another day may have
// none.
func (t *traffic) add(exposition []byte, factor float64) {
	if t.Calls == nil {
		t.Calls, t.Bytes = map[string]float64{}, map[string]float64{}
	}
	for line := range bytes.Lines(exposition) {
		for name, into := range map[string]map[string]float64{
			callsMetric: t.Calls,
			bytesMetric: t.Bytes,
		} {
			sample, ok := strings.CutPrefix(strings.TrimSpace(string(line)), name+`{method="`)
			if !ok {
				continue
			}
			method, value, _ := strings.Cut(sample, `"} `)
			if v, err := strconv.ParseFloat(value, 64); err == nil {
				into[method] += factor * v
			}
		}
	}
}

// text is the sum, and the methods with the most messages first.
func (t *traffic) text() string {
	calls, size := 0.0, 0.0
	var methods []string
	for method, n := range t.Calls {
		calls, size = calls+n, size+t.Bytes[method]
		if n >= 0.005 {
			methods = append(methods, method)
		}
	}
	slices.SortFunc(methods,
		func(a, b string) int {
			return cmp.Or(cmp.Compare(t.Calls[b], t.Calls[a]), strings.Compare(a, b))
		})
	for i, m := range methods {
		methods[i] = fmt.Sprintf("%s %.2f and %.0f", m, t.Calls[m], t.Bytes[m])
	}
	return fmt.Sprintf("between nodes %.2f calls and %.0f bytes a page (%s)", calls, size,
		strings.Join(methods, ", "))
}
