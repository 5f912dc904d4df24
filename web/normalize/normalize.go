package normalize

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"

	"crawlnode/web/urlnorm"
)

// The names of the rules, as --normalize takes them.
const (
	SortQuery     = "sort-query"
	IndexFiles    = "index-files"
	TrailingSlash = "trailing-slash"
	SessionIDs    = "session-ids"
	WWW           = "www"
)

// Names returns the names of all rules, sorted.
func Names() []string { return []string{IndexFiles, SessionIDs, SortQuery, TrailingSlash, WWW} }

// Rules is a set of rules. The zero value changes nothing.
type Rules struct {
	sortQuery, indexFiles, trailingSlash, sessionIDs, www bool
}

// Parse returns the rules of these names. An unknown name is an error that lists the known ones.
func Parse(names []string) (Rules, error) {
	var r Rules
	for _, name := range names {
		switch name {
		case SortQuery:
			r.sortQuery = true
		case IndexFiles:
			r.indexFiles = true
		case TrailingSlash:
			r.trailingSlash = true
		case SessionIDs:
			r.sessionIDs = true
		case WWW:
			r.www = true
		default:
			return Rules{}, fmt.Errorf("unknown rule of normalisation %q: known are %s", name,
				strings.Join(Names(), ", "))
		}
	}
	return r, nil
}

// Apply returns the URL that stands for u.
func (r Rules) Apply(u urlnorm.URL) urlnorm.URL {
	if r == (Rules{}) || u.IsZero() {
		return u
	}
	host := u.Host()
	if r.www {
		host = withoutWWW(host)
	}
	path := r.path(u.Path(), strings.Contains(u.PathQuery(), "?"))
	query := u.PathQuery()[len(u.Path()):] // with its "?"
	if len(query) > 1 {
		query = r.query(query[1:])
		if r.indexFiles && query == "" {
			path = r.path(path, false)
		}
	}
	if host == u.Host() && path+query == u.PathQuery() {
		return u
	}
	port := u.Origin()[len(u.Scheme())+len("://")+len(u.Host()):]
	v, err := urlnorm.Parse(u.Scheme() + "://" + host + port + path + query)
	if err != nil {
		return u
	}
	v = v.WithRoute(u.Route())
	// without its session the last segment was a dot, which is resolved only now
	if len(v.Path()) < len(path) {
		return r.Apply(v)
	}
	return v
}

// Redirect returns the URL that stands for the target of a redirect from a page: the target
// itself when one URL would stand for both.
func (r Rules) Redirect(from, target urlnorm.URL) urlnorm.URL {
	v := r.Apply(target)
	if v != target && v == r.Apply(from) {
		return target
	}
	return v
}

// withoutWWW drops the label www of a host below a registered domain.
func withoutWWW(host string) string {
	for {
		rest, found := strings.CutPrefix(host, "www.")
		if !found {
			return host
		}
		if _, err := publicsuffix.EffectiveTLDPlusOne(rest); err != nil {
			return host // www is the registered name
		}
		host = rest
	}
}

// path applies the rules for paths until none changes anything: each only shortens it.
func (r Rules) path(path string, query bool) string {
	for {
		before := path
		if r.sessionIDs {
			path = withoutSession(path)
		}
		if r.indexFiles && !query {
			path = withoutIndex(path)
		}
		if r.trailingSlash {
			path = cmp.Or(strings.TrimRight(path, "/"), "/")
		}
		if path == before {
			return path
		}
	}
}

// indexFiles are the usual names of the file that a server sends for its directory.
var indexFiles = []string{
	"index.html", "index.htm", "index.xhtml", "index.shtml", "index.php", "index.asp", "index.aspx",
	"index.jsp",
	"default.html", "default.htm", "default.asp", "default.aspx",
}

func withoutIndex(path string) string {
	slash := strings.LastIndexByte(path, '/')
	if slices.Contains(indexFiles, strings.ToLower(path[slash+1:])) {
		return path[:slash+1]
	}
	return path
}

// withoutSession drops ";jsessionid=..." and the segment "(S(...))" of ASP.NET.
func withoutSession(path string) string {
	if !strings.ContainsAny(path, ";(") {
		return path
	}
	segments := strings.Split(path, "/")
	segments = slices.DeleteFunc(segments, func(s string) bool {
		return strings.HasPrefix(s, "(S(") && strings.HasSuffix(s, "))")
	})
	for i, s := range segments {
		params := strings.Split(s, ";")
		kept := params[:1]
		for _, p := range params[1:] {
			if name, value, _ := strings.Cut(p, "="); !isSession(name, value) {
				kept = append(kept, p)
			}
		}
		segments[i] = strings.Join(kept, ";")
	}
	if path = strings.Join(segments, "/"); path == "" || path[0] != '/' {
		path = "/" + path
	}
	return path
}

// query applies the rules for queries; the result has its "?", unless it is empty.
func (r Rules) query(query string) string {
	if !r.sortQuery && !r.sessionIDs {
		return "?" + query
	}
	params := strings.Split(query, "&")
	if r.sessionIDs {
		params = slices.DeleteFunc(params, func(p string) bool {
			name, value, _ := strings.Cut(p, "=")
			return isSession(name, value)
		})
		if len(params) == 0 {
			return ""
		}
	}
	if r.sortQuery {
		slices.SortStableFunc(params, func(a, b string) int {
			a, _, _ = strings.Cut(a, "=")
			b, _, _ = strings.Cut(b, "=")
			return strings.Compare(a, b)
		})
	}
	return "?" + strings.Join(params, "&")
}

// sessionNames are parameters that identify a visitor in common frameworks.
var sessionNames = []string{
	"jsessionid", "phpsessid", "sessionid", "session_id", "sessid", "cfid", "cftoken", "oscsid",
	"zenid",
}

// longSession is the least length of a value of "sid" that is taken for a session: shorter ones
// are often numbers of articles or stores.
const longSession = 24

func isSession(name, value string) bool {
	name = strings.ToLower(name)
	return slices.Contains(sessionNames, name) || strings.HasPrefix(name, "aspsessionid") ||
		(name == "sid" || name == "s_id") && len(value) >= longSession
}
