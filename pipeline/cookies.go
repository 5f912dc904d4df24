package pipeline

import (
	"crawlnode/crawl"
	"crawlnode/web/cookies"
	"crawlnode/web/urlnorm"
)

// redirectsToItself is the reason of a URL whose redirect leads to the URL itself, with no cookie
// that would change the request.
const redirectsToItself = "redirects_to_itself"

// cookiesOf are the cookies that a request of v may send: with Settings.Cookies visit those that the
// redirects which led to the item have set.
func cookiesOf(v *crawl.Visit, rules *Rules) cookies.Jar {
	if !rules.Settings.VisitCookies() {
		return ""
	}
	return cookies.Jar(v.Item.Cookies)
}

// redirectCookies are the cookies that go with a redirect to another URL of the host: those that the
// request had, and those that the answer sets. A redirect to the URL itself has none when
// they would not change its request. They never go to another host.
func (f *finds) redirectCookies(to urlnorm.URL) cookies.Jar {
	from, at := f.v.Item.URL, f.o.FetchedAt
	if !f.rules.Settings.VisitCookies() || to.Host() != from.Host() {
		return ""
	}
	jar := f.cookies.Set(from, f.setCookies, at, cookies.VisitLimits)
	if to == from && jar.Header(to, at) == f.cookies.Header(to, at) {
		return ""
	}
	return jar
}
