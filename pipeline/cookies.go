package pipeline

import (
	"strconv"
	"strings"
	"time"

	"crawlnode/crawl"
	"crawlnode/web/cookies"
	"crawlnode/web/fetcher"
	"crawlnode/web/urlnorm"
)

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
func (w *worker) keepCookies(
	v *crawl.Visit,
	resp *fetcher.Response,
	rules *Rules,
	o *crawl.Outcome,
) {
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
		_, jar := splitTrip(v.Item.Cookies)
		return jar
	}
	return ""
}

// redirectCookies are the cookies that go with a redirect to another URL of the host: those that
// the request had, and those that the answer sets. They never go to another host. again says that
// the URL is to be fetched once more with them if it has answered with a redirect before:
//
//   - a redirect to the URL itself, if they change its request;
//   - any other one, for as many redirects behind the last change of the cookies as there were
//     before it. By then each URL on the way has seen them, and what still leads in a circle is
//     one.
//
// With a jar for each host only an answer that changes it sends cookies on.
func (f *linkCollector) redirectCookies(to urlnorm.URL) (carried string, again bool) {
	item, at := &f.v.Item, f.o.FetchedAt
	if !f.rules.Settings.VisitCookies() || to.Host() != item.URL.Host() {
		return "", false
	}
	changed, _ := splitTrip(item.Cookies)
	jar := f.cookies.Set(item.URL, f.setCookies, at, cookies.VisitLimits)
	if jar != f.cookies {
		changed = item.Hops + 1
	} else if f.rules.Settings.HostCookies() {
		return "", false
	}
	if jar == "" {
		return "", false
	}
	if to == item.URL {
		again = jar.Header(to, at) != f.cookies.Header(to, at)
	} else {
		again = item.Hops+1-changed <= changed
	}
	return joinTrip(changed, jar), again
}

// The cookies of a page's redirects, as they stand in Item.Cookies: the number of redirects before
// the last change, and behind a line end the jar.
func joinTrip(changed int, jar cookies.Jar) string {
	return strconv.Itoa(changed) + "\n" + string(jar)
}

func splitTrip(s string) (changed int, jar cookies.Jar) {
	number, rest, _ := strings.Cut(s, "\n")
	changed, _ = strconv.Atoi(number) // "": there are none
	return changed, cookies.Jar(rest)
}
