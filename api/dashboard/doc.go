// Package dashboard is the part of a node's HTTP interface for people: pages
// that show the whole cluster from any node, and the few orders that the API takes,
// as forms.
//
//	GET  /                overview: whether all is well, speed, queue, errors, hosts, alerts
//	GET  /start           the form that starts a crawl: seeds, scope, limits
//	GET  /pages           filters the stored URLs: contains=, state=, status=, host=, after=
//	GET  /nodes           every known node, present or past
//	GET  /ring            which node holds which partition, and which partitions move
//	GET  /hosts?sort=     the first hosts of those in memory; /hosts/{host} one in full
//	GET  /urls?url=       why a URL is, or is not, crawled, and what is archived of it:
//	                      view=text|headers|page
//	GET  /archive?url=    the archived page for its sandboxed frame
//	GET  /events          recent events: level=, code=, node=, text=
//	GET  /search          pages by their text, with their archived copies
//	GET  /freshness       visits of known pages: due, late, what they found, over time
//	GET  /settings        the settings of the crawl
//	GET  /sites           the rules for sites: contains=, rule=NUMBER in the form, url= to test
//	GET  /static/...      style, scripts, icon
//	POST /control/crawl   action=pause|resume|stop
//	POST /control/seeds   urls, one a line; again=on
//	POST /control/start   settings and seeds: changes the settings, then adds the seeds
//	POST /control/settings  the settings that differ from the current ones
//	POST /control/sites   action=text|rule|remove: the whole text, or one rule
//	POST /control/sites/test  what a text that is not set makes of a URL
//	POST /control/nodes   node=ID, order=drain|forget
//	POST /control/theme   theme=light|dark|system, kept in a cookie
//
// # Without JavaScript, and with it
//
// A page is complete as the server sends it. dashboard.js adds three things: it reloads the page
// every few seconds, and at once after an event, and replaces the regions marked data-live; it
// draws the curves with uPlot in place of the server's SVG; and it shows when the node does not
// answer. So each fact is rendered in one place only, and clients without scripts show the same. An
// order is a form: the answer is a 303 to a page with the result.
//
// # Text from others
//
// URLs, robots.txt rules and reasons come from strangers. Everything goes through
// html/template, which escapes by context; control and invisible characters are
// shown by their numbers; only http and https URLs become links, with
// rel="noreferrer noopener". The pages' Content-Security-Policy allows scripts and
// styles from this node only and none inline. This package checks no access: the
// API's guard runs before every handler, and refuses changes that a browser sends from
// another site.
//
// # Archived pages
//
// An archived page is shown as text, or in a frame. The frame is sandboxed without any permission,
// and the response has a Content-Security-Policy that says the same and allows no source but the
// page itself. So a page has an origin of its own, runs no script, sends no form, loads nothing and
// leads nowhere, also when its address is opened alone. Before that the page is made passive
// (package readback), because no policy stops the connections that a link element may ask for. At
// most four archived pages are in memory, each no longer than --max-body.
//
// # Settings
//
// A form names settings and values as crawlnode crawl-config set does. The settings that differ
// from the current ones are passed to the node, which alone validates them; so command and page
// agree. A refused form is shown again with the reason beside each field.
//
// # The curves
//
// The API's /api/v1/history is [Dashboard.Series], for uPlot and for programs.
// [History] keeps the status figures of every second for 10 minutes, of every 5 s for an hour, of
// every minute for a day and of every 10 minutes for a week, for at most 32 nodes: less than a
// megabyte. One goroutine fills it; a status
// costs O(nodes) and calls no other node. After a restart the curves begin empty.
//
//	queue      filled by      emptied by   bound                   when full
//	history    Run            age          3,768 samples           the oldest are dropped
//	messages   POST /control  age          32                      the oldest are dropped
//	reading    GET /archive   its end      4 archived pages        the next one waits, 3 s at most
//
// # What it does not do
//
// It decides nothing about the crawl and knows only what the API returns.
package dashboard
