package wacz

import (
	"slices"
	"strings"
)

// Key is the key of a canonical URL in the index of a collection, as warcio.js makes it, with which
// ReplayWeb.page looks a URL up: the host's labels in reverse order without "www", the port, and
// path and query in lower case, with the parameters sorted. Unlike the keys of surt it keeps
// escapes and the slash at the end. A viewer reads only those blocks of the index in which its key
// would stand, so an index by other keys hides the pages whose keys differ across a block's edge;
// programs of Python make their own index of the WARC files. What is not of http or https is its
// own key.
func Key(url string) string {
	scheme, rest, _ := strings.Cut(url, "://")
	if scheme != "http" && scheme != "https" {
		return strings.ReplaceAll(url, " ", "%20")
	}
	if after, ok := strings.CutPrefix(rest, "www"); ok {
		if after, ok = strings.CutPrefix(strings.TrimLeft(after, "0123456789"), "."); ok {
			rest = after
		}
	}
	rest, _, _ = strings.Cut(strings.ToLower(rest), "#")
	rest, query, _ := strings.Cut(rest, "?")
	authority, path, _ := strings.Cut(rest, "/")
	host, port := authority, ""
	if i := strings.LastIndexByte(authority, ':'); i > strings.LastIndexByte(authority, ']') {
		host, port = authority[:i], authority[i:]
	}
	labels := strings.Split(host, ".")
	slices.Reverse(labels)
	key := strings.Join(labels, ",") + port + ")/" + path
	if query != "" {
		params := strings.Split(query, "&")
		slices.Sort(params)
		key += "?" + strings.Join(params, "&")
	}
	return strings.ReplaceAll(key, " ", "%20")
}
