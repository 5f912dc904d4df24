// Package demo shows a cluster at work: three nodes on loopback crawl a synthetic
// web, one is killed half-way and another one joins. The web server judges
// the result. Then one more node shows an application of a few pages to a browser, if there is one.
//
// The nodes are processes, the web runs in this one. The run owns both and waits for
// their end. watch.go sees every request; each node reaches the web through a name
// server of its own, which tells the watch which node asked. The package has no queue.
package demo
