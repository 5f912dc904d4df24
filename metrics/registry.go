package metrics

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

const (
	namespace = "crawlnode"
	// maxScrapes bounds the scrapes at once; more get 503.
	maxScrapes = 4
)

// build_info is defined apart: it has several labels.
const (
	buildInfo = "build_info"
	buildHelp = "Always 1; the labels say which program this is, and what it speaks and writes."
)

// buildLabels are in the order of the fields of Build.
var buildLabels = []string{"version", "go_version", "protocol", "data_format"}

// Registry answers scrapes. It may be used from any number of goroutines.
type Registry struct {
	handler http.Handler
}

// New makes a registry that calls read once per scrape. read may be called from several goroutines
// at once and must be fast: no I/O, nothing that grows with the number of URLs.
func New(read func() Sample) *Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		newCollector(read),
	)
	return &Registry{handler: promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: maxScrapes, EnableOpenMetrics: true,
	})}
}

// Handler answers in the text formats of Prometheus and OpenMetrics, as the
// client asks.
func (r *Registry) Handler() http.Handler { return r.handler }

// collector turns Samples into series. It is immutable.
type collector struct {
	read    func() Sample
	singles []single
	groups  []group
	spreads []distribution
	descs   map[string]*prometheus.Desc // by short name
}

func newCollector(read func() Sample) *collector {
	c := &collector{
		read:    read,
		singles: singles(),
		groups:  groups(),
		spreads: distributions(),
		descs:   make(map[string]*prometheus.Desc),
	}
	describe := func(name, help string, labels ...string) {
		c.descs[name] = prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, labels, nil)
	}
	for _, s := range c.singles {
		describe(s.name, s.help)
	}
	for _, g := range c.groups {
		describe(g.name, g.help, g.label)
	}
	for _, d := range c.spreads {
		describe(d.name, d.help)
	}
	describe(buildInfo, buildHelp, buildLabels...)
	return c
}

// Describe lists every series that Collect can give.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		out <- d
	}
}

// Collect reads one Sample and gives its series.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	sample := c.read()
	for _, s := range c.singles {
		if v, known := s.read(&sample); known {
			out <- prometheus.MustNewConstMetric(c.descs[s.name], s.kind, v)
		}
	}
	for _, g := range c.groups {
		for label, n := range g.read(&sample) {
			out <- prometheus.MustNewConstMetric(c.descs[g.name], g.kind, float64(n), label)
		}
	}
	b := sample.Build
	out <- prometheus.MustNewConstMetric(c.descs[buildInfo], gauge, 1, b.Version, b.GoVersion,
		b.Protocol, b.Format)
	for _, d := range c.spreads {
		if h := d.read(&sample); len(h.Bounds) > 0 && len(h.Counts) == len(h.Bounds)+1 {
			total, buckets, sum := h.cumulative()
			out <- prometheus.MustNewConstHistogram(c.descs[d.name], total, sum, buckets)
		}
	}
}

// cumulative converts h into the form of Prometheus: each bucket counts everything up to its bound.
func (h *Histogram) cumulative() (total uint64, buckets map[float64]uint64, sum float64) {
	buckets = make(map[float64]uint64, len(h.Bounds))
	lower, estimate := 0.0, 0.0
	for i, n := range h.Counts {
		n = max(n, 0)
		total += uint64(n)
		if i == len(h.Bounds) {
			estimate += float64(n) * lower
			break
		}
		buckets[h.Bounds[i]] = total
		estimate += float64(n) * (lower + h.Bounds[i]) / 2
		lower = h.Bounds[i]
	}
	if h.Sum != 0 {
		return total, buckets, h.Sum
	}
	return total, buckets, estimate
}
