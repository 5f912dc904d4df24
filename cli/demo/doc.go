// Package demo shows a cluster at work: three nodes on loopback crawl a synthetic
// web, one is killed half-way and another one joins. The web server judges
// the result. Then one more node shows an application of a few pages to a browser, if there is one.
//
// The nodes are processes of their own; the web runs in this process. The run owns both and waits
// for their end. watch.go observes every request; each node resolves names with a name server of
// its own, from which the observer knows which node asked. The package has no queue.
package demo
