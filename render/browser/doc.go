// Package browser shows pages to a browser and returns what it made of them: the DOM, the text, the
// links, the routes of scripts.
//
// A [Pool] has one Chromium with several tabs. It starts with the first page, is renewed
// after [Config.PagesPerBrowser] pages, after a crash, after a tab that does not close and when its
// processes need more than [Config.MemoryBytes].
//
// Pages of one origin follow each other in one tab, with a browser context and a process of its
// own. Between two pages the tab is cleared (tab.go), so no cookie, storage or worker passes from
// one page to the next. A page that was not read when it was quiet has its tab closed. Up to
// [Config.Tabs] tabs are idle.
//
// # The browser has no network
//
// The browser is driven by a pipe. Its requests are answered over that pipe by package render: the
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
// read as it is; a page that cannot be read any more (an endless script) is [ErrTimeout]. The
// links, the text, the DOM, the requests and the bytes of a page have limits of their own
// (limits.go). A page that was read when it was quiet is returned before its tab is cleared; its
// slot is taken until then.
//
// # The browser's own process
//
// What starts the browser may be a wrapper (Debian's chromium-headless-shell is a script that waits
// for it), which ends before the browser or lives on after it. So the browser is asked for its own
// process, which is watched. When it has ended, all of its family is killed at once, and its pages
// are [ErrBrowser].
//
// # What is left behind
//
// Nothing. A browser's family is killed at its end: what names its profile in the command line or
// the environment, shares a process group with such a process, or descends from one. Where this
// process is the first one of a container, it takes the exit status of those that become its
// children. A browser ends by itself when its pipe is closed, so with the process that started it;
// and [New] kills the processes that still use a profile below [Config.Dir], and removes the
// profiles. So one directory belongs to one pool.
//
// Queues: callers of Render wait for one of [Config.Tabs] slots (unbounded, the caller bounds
// them); requests of a page wait in a channel of maxOpenRequests (what exceeds it is refused).
//
// This package decides neither which pages are rendered (package decide) nor what may be fetched
// (render).
package browser
