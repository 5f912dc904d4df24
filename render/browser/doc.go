// Package browser renders pages in a browser and returns the result: the DOM, the text, the
// links, the routes of scripts.
//
// A [Pool] has one Chromium with several tabs. The browser starts with the first page. It is
// replaced after [Config.PagesPerBrowser] pages, after a crash, after a tab that does not close,
// and when its processes need more than [Config.MemoryBytes].
//
// Pages of one origin follow each other in one tab, with a browser context and a process of its
// own. Between two pages the tab is cleared (tab.go), so no cookie, storage or worker passes from
// one page to the next. If a page was read before it was quiet (no request and no change of the DOM
// for half a second), its tab is closed. Up to [Config.Tabs] tabs are idle.
//
// # The browser has no network
//
// The browser is driven over a pipe. This package answers its requests over that pipe: the
// page itself from what the crawl has fetched ([Page.Response]), each sub-resource by the caller's
// [Fetcher], which fetches it by the rules of the crawl or refuses it. Whatever the interception
// does not see (web sockets, preconnects, requests of workers) meets a proxy whose name does not
// resolve; loopback is not exempt from that proxy, and no other name resolves. Where the system
// permits it (root with CAP_SYS_ADMIN), the process has a network namespace without interfaces as
// well.
//
// Navigation away from the page is aborted and returned among [Result.Links]. Frames, windows,
// downloads, dialogs and printing are refused.
//
// # Limits
//
// [Pool.Render] returns within [Config.Timeout] plus [Grace], after the start of the browser if the
// page has waited for it: that has a limit of its own, half a minute. At the time-out the page is
// read as it is; a page that can no longer be read (an endless script) is [ErrTimeout]. The
// links, the text, the DOM, the requests and the bytes of a page have limits of their own
// (limits.go). A page that was read when it was quiet is returned before its tab is cleared; its
// slot stays taken until the tab is cleared.
//
// # The browser's own process
//
// The started program may be a wrapper (Debian's chromium-headless-shell is a script that waits
// for the browser), which ends before the browser or lives on after it. So the browser is asked for
// its process id, and that process is watched. When it has ended, the rest of its process family is
// killed at once, and rendering its pages returns [ErrBrowser].
//
// # Nothing is left behind
//
// A browser's family is killed at its end: processes that name its profile in the command line or
// the environment, share a process group with such a process, or descend from one. When this
// process is process 1 of a container, it reaps those that become its children. A browser ends by
// itself when its pipe is closed, and so when the process that started it ends; and [New] kills the
// processes that still use a profile below [Config.Dir], and removes the profiles. So each
// directory belongs to one pool.
//
// Queues: callers of Render wait for one of [Config.Tabs] slots (unbounded; the caller limits
// them); requests of a page wait in a channel of maxOpenRequests (further ones are refused).
//
// This package decides neither which pages are rendered (package decide) nor what may be fetched
// (render).
package browser
