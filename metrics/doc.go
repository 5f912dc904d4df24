// Package metrics shows a node's figures to Prometheus.
//
// Nothing on the way of a page touches it. The parts of a node count for
// themselves, as things happen; when somebody scrapes, the registry asks the
// node for one Sample, a plain struct of numbers, and writes it out. So a scrape
// costs the same however fast the crawl is, and no scrape costs nothing.
//
// Rules for names (https://prometheus.io/docs/practices/naming/): everything of
// ours begins with crawlnode_, units are base units, counters end in _total.
// Labels are classes that the program itself names (a band, an error category);
// never a host, a URL or anything else that comes from outside, because every
// value of a label is a series for ever.
//
// Counters count what this process did since it started. The crawl's totals live
// in the partitions, which move between nodes; as counters they would fall when
// a partition leaves. The sum over the nodes is right either way.
//
// What the figures mean is said once, in the help texts of the tables in
// tables.go. Go's and the process's own figures (go_, process_) come from the
// client library.
package metrics
