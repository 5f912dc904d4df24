package cookies

import (
	"cmp"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/publicsuffix"

	"crawlnode/web/urlnorm"
)

// Jar is the cookies of one host: lines of Set-Cookie form, the oldest first, each with its
// path and its absolute expiry. "": there are none.
type Jar string

// Limits bound a jar.
type Limits struct {
	Cookies   int // in number
	Each, All int // in bytes of their lines
}

var (
	// VisitLimits are those of a page's redirects: they keep a queue entry small.
	VisitLimits = Limits{Cookies: 50, Each: 4 << 10, All: 4 << 10}
	// HostLimits are those of a host: what RFC 6265 asks of a user agent for one domain (section 6.1).
	HostLimits = Limits{Cookies: 50, Each: 4 << 10, All: 50 * 4 << 10}
)

// Set is the jar after an answer from u with these values of Set-Cookie.
func (j Jar) Set(u urlnorm.URL, setCookie []string, now time.Time, l Limits) Jar {
	if len(setCookie) == 0 {
		return j
	}
	all := j.read(now)
	for _, line := range setCookie {
		c, ok := parse(line, now)
		if !ok || !accepted(u, c) {
			continue
		}
		if c.path == "" {
			c.path = defaultPath(u)
		}
		all = slices.DeleteFunc(all, func(o cookie) bool { return o.name == c.name && o.path == c.path })
		if c.lives(now) {
			all = append(all, c)
		}
	}
	return write(all, l)
}

// Header is the value of the Cookie header for a request of u, "" when no cookie goes with it:
// longer paths before shorter ones, older cookies before newer ones (section 5.8.3).
func (j Jar) Header(u urlnorm.URL, now time.Time) string {
	if j == "" {
		return ""
	}
	path, _, _ := strings.Cut(u.PathQuery(), "?")
	sent := slices.DeleteFunc(j.read(now), func(c cookie) bool {
		return c.secure && u.Scheme() != "https" || !pathMatch(path, c.path)
	})
	slices.SortStableFunc(sent, func(a, b cookie) int { return cmp.Compare(len(b.path), len(a.path)) })
	pairs := make([]string, len(sent))
	for i, c := range sent {
		if pairs[i] = c.value; c.name != "" {
			pairs[i] = c.name + "=" + c.value
		}
	}
	return strings.Join(pairs, "; ")
}

// read parses the lines, without cookies that have expired.
func (j Jar) read(now time.Time) []cookie {
	var all []cookie
	for line := range strings.SplitSeq(string(j), "\n") {
		if c, ok := parse(line, now); ok && c.lives(now) {
			all = append(all, c)
		}
	}
	return all
}

// write makes a jar of cookies, without those that are too large, and without the oldest when
// there are too many.
func write(all []cookie, l Limits) Jar {
	var lines []string
	size := 0
	for _, c := range slices.Backward(all) {
		line := c.line()
		if len(line) > l.Each {
			continue
		}
		if size += len(line) + 1; size > l.All || len(lines) == l.Cookies {
			break
		}
		lines = append(lines, line)
	}
	slices.Reverse(lines)
	return Jar(strings.Join(lines, "\n"))
}

// accepted reports whether u may set a cookie: by the domain rules of net/http/cookiejar, which
// would send it back to u's own host, and by the rules that cookiejar lacks: Secure needs https, and
// the prefixes of section 4.1.3, which a cookie without a name cannot pretend to have.
func accepted(u urlnorm.URL, c cookie) bool {
	name := strings.ToLower(c.name)
	if name == "" {
		if v := strings.ToLower(c.value); strings.HasPrefix(v, "__secure-") || strings.HasPrefix(v, "__host-") {
			return false
		}
	}
	switch {
	case c.secure && u.Scheme() != "https",
		strings.HasPrefix(name, "__secure-") && !c.secure,
		strings.HasPrefix(name, "__host-") && (!c.secure || c.path != "/" || c.domain != ""):
		return false
	case c.domain == "":
		return true
	}
	jar, _ := cookiejar.New(&cookiejar.Options{PublicSuffixList: publicsuffix.List}) // it never fails
	at := &url.URL{Scheme: u.Scheme(), Host: u.Host(), Path: "/"}
	jar.SetCookies(at, []*http.Cookie{{Name: "n", Value: "v", Domain: c.domain, Path: "/"}})
	return len(jar.Cookies(at)) > 0
}

// defaultPath is the folder of a URL (section 5.1.4).
func defaultPath(u urlnorm.URL) string {
	path, _, _ := strings.Cut(u.PathQuery(), "?")
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return path[:i]
	}
	return "/"
}

// pathMatch is section 5.1.4: the cookie's path is the request's, or a folder above it.
func pathMatch(path, cookie string) bool {
	rest, ok := strings.CutPrefix(path, cookie)
	return ok && (rest == "" || strings.HasSuffix(cookie, "/") || rest[0] == '/')
}
