// Package metrics exposes a node's figures to Prometheus.
//
// Metrics add no cost to a page. The parts of a node keep their own counters. When Prometheus
// scrapes, the registry asks the node for one Sample, a plain struct of numbers, and writes it out.
// So the cost of a scrape does not depend on the speed of the crawl, and without scrapes there is
// no cost.
//
// Rules for names (https://prometheus.io/docs/practices/naming/): all of our
// metrics begin with crawlnode_, units are base units, counters end in _total.
// Labels are classes that the program itself names (a band, an error category),
// never a host, a URL or anything else that comes from outside, because every
// value of a label is a series of its own.
//
// Counters count from the start of this process. The crawl's totals are stored
// in the partitions, which move between nodes; as counters they would fall when
// a partition leaves. The sum over the nodes is right either way.
//
// The help texts of the tables in tables.go are the only place that explains the
// figures. Go's and the process's own figures (go_, process_) come from the
// client library.
package metrics
