// Package render shows pages of the crawl to a browser: which, when, and where what they ask for comes from.
//
//	pipeline ─ Reserve ─ fetch ─ Decide ─ Render ─► render/browser ─► Chromium, which has no network
//	                                                   │ a script, a style sheet, data
//	                                                   ▼
//	                                                 asker: scope, kind ─► Parts: cache by URL
//	                                                                         │ an errand (crawl.ViaPart)
//	                                                                         ▼
//	                                       dispatch: the host's turn ─ pipeline: robots.txt, address, GET
//
// A [Renderer] is the pipeline's Renderer. It gives out places: so many pages are fetched for the browser, wait for it or
// are in it. When none is free, a host with such pages is asked to wait, before its page is fetched; pages of other hosts
// go on. So the queue to the browser is bounded, and holds up nobody else.
//
// What a page asks for is fetched as a visit of its host of its own: one request at a time, after the host's delay, under
// its robots.txt, to an address that the crawl may connect to. [Parts] keeps the answers and shares them between pages, so
// a script is fetched once for all pages of a site. For a host whose partition another node holds, that node is asked, and does the
// same (invariant I1); both keep the answer. While such a host moves, or has no holder, the page waits and asks again. A page whose own host moves
// away is given up at once, for the next holder (pipeline.ErrMoved).
//
// # Queues
//
//	places                filled by Reserve, Late    emptied by Leave       8 a renderer, half of --fetchers; hosts wait; not needed
//	questions to others   filled by pages            emptied by answers      32, of 60 s; pages wait; asked again
//	questions of others   filled by calls            emptied by visits       256, of 60 s; refused; asked again
//	parts that wait       filled by pages            emptied by visits      1,024, 64 of a host; refused; not needed
//	answers               filled by visits           emptied by time, room  a sixteenth of --memory; the least used go; asked for again, with their validators if their time is over
//
// # Goroutines
//
// None of its own: those of the pipeline call Render, and render/browser has those of the browser.
package render
