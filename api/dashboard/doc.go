// Package dashboard is the part of a node's HTTP interface for people: pages
// that show the whole cluster from any node, and the few orders that the API takes,
// as forms.
//
//	GET  /                overview: speed, queue, errors, hosts, alerts, the bottleneck of the crawl
//	GET  /nodes           every known node, present or past
//	GET  /ring            which node holds which partition, and which partitions move
//	GET  /hosts?sort=     the first hosts of those in memory; /hosts/{host} one in full
//	GET  /urls?url=       why a URL is, or is not, crawled
//	GET  /events          recent events
//	GET  /static/...      style, scripts, icon
//	POST /control/crawl   action=pause|resume|stop
//	POST /control/seeds   urls, one a line; again=on
//	POST /control/nodes   node=ID, order=drain|forget
//	POST /control/theme   theme=light|dark|system, kept in a cookie
//
// # Without JavaScript, and with it
//
// A page is complete as the server sends it. dashboard.js adds three things: it reloads the page
// every few seconds, and at once after an event, and replaces the regions marked data-live; it
// draws the curves with uPlot in place of the server's SVG; and it shows when the node does not
// answer. So each fact is rendered in one place only, and clients without scripts show the same. An
// order is a form: it is answered with 303 and a page with its result.
//
// # Text from others
//
// URLs, robots.txt rules and reasons come from strangers. Everything goes through
// html/template, which escapes by context; control and invisible characters are
// shown by their numbers; only http and https URLs become links, with
// rel="noreferrer noopener". The pages' Content-Security-Policy allows scripts and
// styles from this node only and none inline. This package checks no access: the
// API's guard runs before every path, and refuses changes that a browser sends from
// another site.
//
// # The curves
//
// The API's /api/v1/history is [Dashboard.Series], for uPlot and for programs.
// [History] keeps the status figures of every 5 s for an hour and of every minute for a
// day, of at most 32 nodes: less than a megabyte. One goroutine fills it; a status
// costs O(nodes) and calls no other node. After a restart the curves start again.
//
//	queue      filled by      emptied by   bound                   when full
//	history    Run            age          720 and 1,440 samples   the oldest are dropped
//	messages   POST /control  age          32                      the oldest are dropped
//
// # What it does not do
//
// It decides nothing about the crawl and knows only what the API returns.
package dashboard
