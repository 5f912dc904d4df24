package api

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"crawlnode/api/plaintext"
	"crawlnode/crawl"
	"crawlnode/security/door"
)

// withHeaders sets the headers of every answer: no sniffing, no framing, no scripts, no caching.
// The dashboard's pages set their own content policy.
func withHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Content-Security-Policy",
			"default-src 'none'; style-src 'self'; frame-ancestors 'none'; base-uri 'none'; "+
				"form-action 'none'")
		h.Set("Cache-Control", "no-store")
		if ambiguous(r) {
			h.Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// ambiguous reports whether a proxy before this server could have seen another end of a request.
// Bytes after such a request are not served: they could be a request that the proxy has not seen.
// net/http prefers chunks to a length and removes what it ignored, so all chunked bodies count, and
// all of HTTP/1.0, which has none.
func ambiguous(r *http.Request) bool {
	return len(r.TransferEncoding) > 0 || !r.ProtoAtLeast(1, 1)
}

// guard allows only callers with the role, and what other sites may reach; see the package comment.
func guard(next http.Handler, role crawl.Role, of reach, o Options) http.Handler {
	return checkHost(checkCaller(checkSite(o.bodies.hold(trusted(next)), of), role, o), o)
}

// connKey is the key of a request's connection in its context.
type connKey struct{}

// trusted tells the listener's door that the sender of this request is allowed.
func trusted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if conn, ok := r.Context().Value(connKey{}).(net.Conn); ok {
			door.Trust(conn)
		}
		next.ServeHTTP(w, r)
	})
}

// checkHost refuses host names that an attacker's name server could point at this node (DNS
// rebinding): always without a key, and with one on loopback, where a browser of this machine could
// be misled.
func checkHost(next http.Handler, o Options) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		if (o.Access == nil || onLoopback(r)) && !ownHost(host, o.Hosts) {
			writeProblem(w, http.StatusForbidden, "the Host header names "+plaintext.Escape(host)+
				", which anybody could own: use an IP address or localhost, "+
				"or start the node with that name as --advertise")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// onLoopback reports whether a request came in at a loopback address.
func onLoopback(r *http.Request) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return ok && addrOf(local.String()).IsLoopback()
}

// addrOf is the address in ip:port; the zero address if there is none.
func addrOf(hostPort string) netip.Addr {
	ap, err := netip.ParseAddrPort(hostPort)
	if err != nil {
		return netip.Addr{}
	}
	return ap.Addr().Unmap()
}

// ownHost accepts IP addresses, localhost, names without a dot (no public name server resolves
// those) and the given names.
func ownHost(host string, hosts []string) bool {
	host = strings.ToLower(strings.Trim(host, "[]"))
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return host != "" && !strings.Contains(host, ".") || slices.Contains(hosts, host)
}

// checkCaller identifies the caller, stores it in the request's context, and refuses it if it lacks
// the role. Without a key no secret is needed, and every caller may do everything.
func checkCaller(next http.Handler, role crawl.Role, o Options) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from := addrOf(r.RemoteAddr)
		asker := crawl.Caller{Role: crawl.RoleAdmin}
		if o.Access != nil {
			var err error
			if asker, err = o.Access(secretOf(r)); err != nil {
				refuse(w, r, o, from, err)
				return
			}
		}
		asker.From, asker.Remote = from.String(), o.Access != nil || !from.IsLoopback()
		if asker.Role < role {
			o.refusals.Warn("refused an API request: the role of its token is too low", "token", asker.ID,
				"role", asker.Role.String(), "wanted", role.String(), "from", r.RemoteAddr, "path", r.URL.Path)
			writeProblem(w, http.StatusForbidden,
				"this needs the role "+role.String()+", and this token has the role "+asker.Role.String())
			return
		}
		next.ServeHTTP(w, r.WithContext(crawl.WithCaller(r.Context(), asker)))
	})
}

// secretOf is the secret of a request: a Bearer token, or the password of Basic.
func secretOf(r *http.Request) string {
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		_, given, _ = r.BasicAuth()
	}
	return given
}

// refuse answers a failed log-in. An address with too many failures has to wait; a valid token from
// there is still accepted (door.Failures).
func refuse(w http.ResponseWriter, r *http.Request, o Options, from netip.Addr, why error) {
	o.refusals.Warn("refused an API request: no valid token of this cluster", "from", r.RemoteAddr,
		"path", r.URL.Path, "error", why)
	// a request without a secret, such as a browser's first, is no attempt
	if r.Header.Get("Authorization") != "" {
		if wait := o.failures.Note(from, time.Now()); wait > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(wait/time.Second)+1))
			w.Header().Set("Connection", "close")
			writeProblem(w, http.StatusTooManyRequests,
				"too many failed log-ins from this address: wait, then send a token of this cluster")
			return
		}
	}
	w.Header().Add("WWW-Authenticate", `Bearer realm="crawlnode"`)
	w.Header().Add("WWW-Authenticate", `Basic realm="crawlnode", charset="UTF-8"`)
	text := "this cluster has a key: send its API token (crawlnode keygen --token KEYFILE prints " +
		"it), or one made with crawlnode keygen --role, as a Bearer token, or as the password of Basic"
	if errors.Is(why, crawl.ErrForbidden) { // it was a token of this cluster, so its holder may know
		text = plaintext.Escape(why.Error())
	}
	writeProblem(w, http.StatusUnauthorized, text)
}
