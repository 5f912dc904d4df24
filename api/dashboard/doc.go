// Package dashboard is the part of a node's HTTP face that people look at: pages
// that show the whole cluster from any node, and the few orders that the API takes,
// as forms.
//
//	GET  /                overview: speed, queue, errors, hosts, alerts, what holds the crawl back
//	GET  /nodes           every node that was ever heard of
//	GET  /ring            who holds which partition, and what is on its way
//	GET  /hosts?sort=     the first hosts of those in memory; /hosts/{host} one in full
//	GET  /urls?url=       why a URL is, or is not, crawled
//	GET  /events          what happened lately
//	GET  /static/...      style, scripts, icon
//	POST /control/crawl   action=pause|resume|stop
//	POST /control/seeds   urls, one a line; again=on
//	POST /control/nodes   node=ID, order=drain|forget
//	POST /control/theme   theme=light|dark|system, kept in a cookie
//
// # Without JavaScript, and with it
//
// A page is complete as the server sends it. dashboard.js adds three things: it
// fetches the page anew every few seconds, and at once when something has happened,
// and puts the regions marked data-live in place of the old ones; it draws the
// curves with uPlot in place of the server's SVG; and it says when the node does not
// answer. So a fact is rendered in one place only, and whoever reads without scripts
// reads the same. An order is a form: it is answered with 303 and a page that says
// what became of it.
//
// # What others wrote
//
// URLs, robots.txt rules and reasons come from strangers. Everything goes through
// html/template, which escapes by context; control and invisible characters are
// shown by their numbers; only http and https URLs become links, with
// rel="noreferrer noopener". The pages' Content-Security-Policy allows scripts and
// styles from this node alone and none inline. Who may ask is not decided here: the
// API's guard stands before every path, and refuses changes that a browser sends from
// another site.
//
// # The curves
//
// The API's /api/v1/history is [Dashboard.Series], for uPlot and for programs.
// [History] keeps what the status said every 5 s for an hour and every minute for a
// day, of at most 32 nodes: less than a megabyte. One goroutine fills it; a status
// costs O(nodes) and calls nobody. A node that starts anew starts its curves anew.
//
//	queue      filled by      emptied by   bound                   when full
//	history    Run            age          720 and 1,440 samples   the oldest are forgotten
//	messages   POST /control  age          32                      the oldest are forgotten
//
// # What it does not do
//
// It decides nothing about the crawl and knows no more of it than the API tells.
package dashboard
