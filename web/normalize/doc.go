// Package normalize makes different URLs of one page equal, by rules that a crawl chooses
// (--normalize). Package urlnorm makes the canonical form, which never changes what a URL
// means to its server. The rules here may: only the server knows whether "/a" and "/a/" are one
// page. So each rule is off unless the crawl's founder names it, and none can change
// during a crawl, because the rules decide which URLs are known.
//
//	sort-query      parameters are sorted by name; those of one name keep their order
//	index-files     /a/index.html and its like become /a/, where no query follows
//	trailing-slash  /a/ becomes /a; the root stays
//	session-ids     parameters and path parts that identify a visitor are dropped:
//	                jsessionid, PHPSESSID, ASPSESSIONID..., CFID, sid with a long value, ...
//	www             www.example.org becomes example.org
//
// The rules apply to links, seeds and sitemap entries, and to the target of a redirect unless
// that would make it the page that redirects: many servers redirect / to /index.html, or /a
// to /a/. Such a target is fetched as it is.
//
// Apply is idempotent, and its result is canonical. The package has no state and does no I/O;
// every function may be called from any number of goroutines.
package normalize
