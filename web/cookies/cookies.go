package cookies

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/publicsuffix"

	"crawlnode/web/urlnorm"
)

// Jar is the cookies of one host: lines of Set-Cookie form, the oldest first, each with its
// path and its absolute expiry. "": there are none. It holds what may be secrets: it is not to be
// logged.
type Jar string

// Limits bound a jar.
type Limits struct {
	Cookies   int // in number
	Each, All int // in bytes of their lines
}

var (
	// VisitLimits are those of a page's redirects: they keep a queue entry small.
	VisitLimits = Limits{Cookies: 50, Each: 4 << 10, All: 4 << 10}
	// HostLimits are those of a host: what the draft asks of a user agent for one domain (section
	// 6.1), with the longest name, value, path and domain that it has a user agent take.
	HostLimits = Limits{Cookies: 50, Each: maxPair + 2*maxAttribute + 128, All: 50 * 4 << 10}
)

// Set is the jar after an answer from u with these values of Set-Cookie (sections 5.6 and 5.7).
func (j Jar) Set(u urlnorm.URL, setCookie []string, now time.Time, l Limits) Jar {
	if len(setCookie) == 0 {
		return j
	}
	all := j.read(now)
	for _, line := range setCookie {
		c, ok := parse(line, now)
		if !ok || !accepted(u, &c) {
			continue
		}
		if c.path == "" {
			c.path = defaultPath(u)
		}
		if u.Scheme() != "https" && slices.ContainsFunc(all, c.overlays) {
			continue
		}
		switch i := slices.IndexFunc(all, c.replaces); {
		case i >= 0 && c.lives(now): // it keeps its age
			all[i] = c
		case i >= 0:
			all = slices.Delete(all, i, i+1)
		case c.lives(now):
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
	sent := slices.DeleteFunc(j.read(now), func(c cookie) bool {
		return c.secure && u.Scheme() != "https" || !pathMatch(u.Path(), c.path)
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

// With is the cookies of both jars, those of other first. Of a name and a path that both have j's
// counts, whatever their domains: j is what the host has set since, other what somebody brought
// along. The result is for the header of a request, and not to be kept: it has the limits of both.
func (j Jar) With(other Jar, now time.Time) Jar {
	switch "" {
	case string(j):
		return other
	case string(other):
		return j
	}
	own := j.read(now)
	all := slices.DeleteFunc(other.read(now), func(o cookie) bool {
		return slices.ContainsFunc(own,
			func(c cookie) bool { return c.name == o.name && c.path == o.path })
	})
	lines := make([]string, 0, len(all)+len(own))
	for _, c := range append(all, own...) {
		lines = append(lines, c.line())
	}
	return Jar(strings.Join(lines, "\n"))
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

// write makes a jar of cookies, without those that are too large. When there are too many, those go
// first that may be sent over plain http, the oldest before the others (section 5.7).
func write(all []cookie, l Limits) Jar {
	lines, size := make([]string, len(all)), 0
	kept := 0
	for i, c := range all {
		if line := c.line(); len(line) <= l.Each {
			lines[i] = line
			size += len(line) + 1
			kept++
		}
	}
	for _, secure := range [...]bool{false, true} {
		for i := 0; i < len(all) && (kept > l.Cookies || size > l.All); i++ {
			if lines[i] != "" && all[i].secure == secure {
				size -= len(lines[i]) + 1
				kept--
				lines[i] = ""
			}
		}
	}
	return Jar(strings.Join(slices.DeleteFunc(lines, func(s string) bool { return s == "" }), "\n"))
}

// accepted reports whether u may set a cookie (section 5.7), and makes the cookie one of u's host
// alone when its domain is a public suffix.
func accepted(u urlnorm.URL, c *cookie) bool {
	if c.secure && u.Scheme() != "https" || c.crossSite && !c.secure {
		return false
	}
	if c.domain != "" && !Reaches(u.Host(), c.domain) {
		if c.domain != u.Host() {
			return false
		}
		c.domain = ""
	}
	return c.keepsPrefix()
}

// Reaches reports whether a cookie with this Domain attribute, without a dot before it, goes to a
// host (sections 5.1.3 and 5.7): the domain is the host or above it, and is no public suffix.
func Reaches(host, domain string) bool {
	if host != domain {
		if !strings.HasSuffix(host, "."+domain) || domain == "" || isAddress(host) {
			return false
		}
	} else if isAddress(host) {
		return true
	}
	suffix, _ := publicsuffix.PublicSuffix(domain)
	return suffix != domain
}

// isAddress reports whether a host is an IP literal.
func isAddress(host string) bool {
	_, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
	return err == nil
}

// defaultPath is the folder of a URL (section 5.1.4).
func defaultPath(u urlnorm.URL) string {
	path := u.Path()
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
