package urlnorm

import "strings"

// A route is a fragment that names a page: "#/guide", "#!guide". An application that a browser runs
// shows another page for each, though a server sees one URL. No parser makes a URL with a route,
// but ParseRouted and ParseStored.

const hexDigits = "0123456789ABCDEF"

// WithRoute returns the page that an application at u shows for a fragment, given without its '#'.
// It is u without a route when the fragment names no page: it begins with neither '/' nor '!', it
// is that of the first page ("/", "!", "!/"), or the whole is too long.
func (u URL) WithRoute(fragment string) URL {
	u = u.WithoutRoute()
	route := canonicalRoute(fragment)
	if u.IsZero() || route == "" || len(u.s)+len("#")+len(route) > MaxLen {
		return u
	}
	u.routeStart = uint16(len(u.s))
	u.s += "#" + route
	return u
}

// WithoutRoute returns the URL of which a server is asked for u.
func (u URL) WithoutRoute() URL {
	if u.routeStart > 0 {
		u.s, u.routeStart = u.s[:u.routeStart], 0
	}
	return u
}

// Route returns the fragment that names the page, without its '#'; "": there is none.
func (u URL) Route() string {
	if u.routeStart == 0 {
		return ""
	}
	return u.s[u.routeStart+1:]
}

// ParseRouted is Parse that keeps a fragment which names a page.
func ParseRouted(raw string) (URL, error) {
	u, err := Parse(raw)
	if err != nil {
		return URL{}, err
	}
	_, fragment, _ := strings.Cut(trim(raw), "#")
	return u.WithRoute(fragment), nil
}

// storedRoute reads a form with a route.
func storedRoute(form, fragment string) (URL, bool) {
	base, err := ParseStored(form[:len(form)-len(fragment)-1])
	if err != nil {
		return URL{}, false
	}
	u := base.WithRoute(fragment)
	return u, u.s == form
}

// canonicalRoute is a fragment as browsers write it; "": it names no page. Controls, which a
// browser removes, and what it escapes in a fragment are escaped.
func canonicalRoute(fragment string) string {
	if fragment == "" || fragment[0] != '/' && fragment[0] != '!' || len(fragment) > MaxLen {
		return ""
	}
	if fragment == "/" || fragment == "!" || fragment == "!/" {
		return ""
	}
	var b strings.Builder
	for i := range len(fragment) {
		switch c := fragment[i]; {
		case c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>`", c) >= 0:
			b.WriteByte('%')
			b.WriteByte(hexDigits[c>>4])
			b.WriteByte(hexDigits[c&15])
		default:
			b.WriteByte(c)
		}
	}
	return upperEscapes(b.String())
}
