package pipeline

import (
	"time"

	"crawlnode/crawl"
	"crawlnode/web/cookies"
	"crawlnode/web/fetcher"
	"crawlnode/web/urlnorm"
)

// redirectsToItself is the reason of a URL whose redirect leads to the URL itself, with no cookie
// that would change the request.
const redirectsToItself = "redirects_to_itself"

// openJar reads the jar of a visit's host, with Settings.HostCookies.
func (w *worker) openJar(v *crawl.Visit, rules *Rules) {
	w.jar = ""
	if !rules.Settings.HostCookies() {
		return
	}
	jar, err := w.p.o.Jars.HostCookies(v.Partition, v.Host)
	if err != nil {
		w.p.o.Log.Warn("the cookies of a host cannot be read; it is asked without",
			"host", v.Host, "err", err)
		return
	}
	w.jar = cookies.Jar(jar)
}

// keepCookies notes in o what an answer has made of its host's jar.
func (w *worker) keepCookies(v *crawl.Visit, resp *fetcher.Response, rules *Rules, o *crawl.Outcome) {
	lines := resp.Header["Set-Cookie"]
	if !rules.Settings.HostCookies() || len(lines) == 0 {
		return
	}
	jar := string(w.jar.Set(v.Item.URL, lines, time.Now(), cookies.HostLimits))
	if jar != string(w.jar) {
		o.HostCookies = &jar
	}
}

// cookiesOf are the cookies that the request of v's item may choose from: with a jar for each host
// that one, else those that the redirects which led to the item have set.
func (w *worker) cookiesOf(v *crawl.Visit, rules *Rules) cookies.Jar {
	switch {
	case rules.Settings.HostCookies():
		return w.jar
	case rules.Settings.VisitCookies():
		return cookies.Jar(v.Item.Cookies)
	}
	return ""
}

// redirectCookies are the cookies that go with a redirect to another URL of the host: those that the
// request had, and those that the answer sets. There are none when they change nothing: for a
// redirect to the URL itself in its request, and in the jar of a host. They never go to another
// host.
func (f *finds) redirectCookies(to urlnorm.URL) cookies.Jar {
	from, at := f.v.Item.URL, f.o.FetchedAt
	if !f.rules.Settings.VisitCookies() || to.Host() != from.Host() {
		return ""
	}
	jar := f.cookies.Set(from, f.setCookies, at, cookies.VisitLimits)
	switch {
	case to == from && jar.Header(to, at) == f.cookies.Header(to, at):
		return ""
	case f.rules.Settings.HostCookies() && f.o.HostCookies == nil:
		return ""
	}
	return jar
}
