package api

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"crawlnode/door"
)

// withHeaders sets what every answer carries: no sniffing, no framing, no
// scripts, no caching. The dashboard's pages say themselves what they may load.
func withHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// guard lets through who may ask; see the package comment.
func guard(next http.Handler, o Options) http.Handler {
	next = trusted(next)
	crossSite := http.NewCrossOriginProtection()
	crossSite.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		writeProblem(w, http.StatusForbidden, "a browser sent this change from another site: use the command, or a program that sends no Origin header")
	}))
	next = crossSite.Handler(next)
	if o.Token == "" {
		return checkHost(next, o.Hosts)
	}
	return checkToken(next, o.Token, o.refusals)
}

// connKey is the key of a request's connection in its context.
type connKey struct{}

// trusted tells the listener's door that who sent this request may be here.
func trusted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if conn, ok := r.Context().Value(connKey{}).(net.Conn); ok {
			door.Trust(conn)
		}
		next.ServeHTTP(w, r)
	})
}

// checkHost refuses names that somebody else's name server could make point at
// this node (DNS rebinding).
func checkHost(next http.Handler, hosts []string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		if !ownHost(host, hosts) {
			writeProblem(w, http.StatusForbidden, "the Host header names "+escape(host)+
				", which could be anybody's name: ask by IP address or as localhost, or give the cluster a key")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// ownHost accepts addresses, localhost, names without a dot (no public name
// server gives those out) and the given names.
func ownHost(host string, hosts []string) bool {
	host = strings.ToLower(strings.Trim(host, "[]"))
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return host != "" && !strings.Contains(host, ".") || slices.Contains(hosts, host)
}

// checkToken wants the token, as Bearer or as the password of Basic.
func checkToken(next http.Handler, token string, log *door.Log) http.Handler {
	want := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !ok {
			_, given, ok = r.BasicAuth()
		}
		have := sha256.Sum256([]byte(given)) // equal lengths, whatever was sent
		if !ok || subtle.ConstantTimeCompare(have[:], want[:]) != 1 {
			log.Warn("refused a request to the API: it has not the token of this cluster's key", "from", r.RemoteAddr, "path", r.URL.Path)
			w.Header().Add("WWW-Authenticate", `Bearer realm="crawlnode"`)
			w.Header().Add("WWW-Authenticate", `Basic realm="crawlnode", charset="UTF-8"`)
			writeProblem(w, http.StatusUnauthorized, "this cluster has a key: send its API token as a Bearer token, or as the password of Basic")
			return
		}
		next.ServeHTTP(w, r)
	})
}
