// Package render renders pages of the crawl in a browser: it decides which pages, and when, and
// fetches their sub-resources.
//
//	pipeline ─ Reserve ─ fetch ─ Decide ─ Render ─► render/browser ─► Chromium (no network)
//	                                                  │ a script, a style sheet, data
//	                                                  ▼
//	                                                asker: scope, kind ─► Parts: cache by URL
//	                                                                        │ crawl.ViaPart
//	                                                                        ▼
//	                              dispatch: the host's turn ─ pipeline: robots.txt, address, GET
//
// A [Renderer] is the pipeline's Renderer. It has a fixed number of slots: a page holds one while
// it is fetched for the browser, waits for it or is in it. When none is free, a host with such
// pages has to wait, before its page is fetched; pages of other hosts continue. So the queue to the
// browser is bounded, and delays no other host.
//
// A sub-resource is fetched by a visit of its own host: one request at a time, after the host's
// delay, obeying its robots.txt, from an address that the crawl may connect to. [Parts] caches the
// responses and shares them between pages, so a script is fetched once for all pages of a site. If
// another node holds the host's partition, that node fetches the sub-resource in the same way
// (invariant I1); both cache the response. While such a host moves, or has no holder, the page
// waits and asks again. A page whose own host moves away is given up at once, for the next holder
// (pipeline.ErrMoved).
//
// # Queues
//
//	queue                filled by      emptied by   bound, and when full
//	slots                Reserve, Late  Release      8 a renderer, half of --fetchers; hosts wait
//	questions to others  pages          answers      32, for 60 s; pages wait
//	questions of others  calls          visits       256, for 60 s; refused
//	waiting parts        pages          visits       1,024, 64 of a host; refused
//	cached responses     visits         time, space  a sixteenth of --memory; least used first
//
// None is durable. What is lost is requested again; a cached response whose time is over is
// revalidated.
//
// # Goroutines
//
// None of its own: those of the pipeline call Render, and render/browser has those of the browser.
package render
