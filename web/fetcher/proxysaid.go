package fetcher

import (
	"fmt"
	"net/http"
	"strings"
)

// saidByProxy is the failure that an answer to a request with its whole URL stands for, when the
// proxy gives it and not the server; nil: it is the server's. A server could write these fields as
// well, and harms only itself: but for 407, they never count against the proxy.
//
// Apache httpd writes none of them. What it says of a server that it refuses (403), cannot reach
// (503) or cannot find by name (500) looks like the answer of a server, above all of one behind
// another Apache, and counts as one: no answer is taken for a proxy's by its text.
func (x *exchange) saidByProxy(r *Response) *Error {
	if r.Status == http.StatusProxyAuthRequired {
		failure := ofProxy("%w", x.wrongCredentials())
		failure.refused = true
		return failure
	}
	if r.Status < 400 {
		return nil
	}
	word := r.Header.Get("X-Squid-Error")
	word, _, _ = strings.Cut(word, " ")
	category, ok := squidErrors[word]
	if !ok && r.Status >= 500 {
		word = proxyStatus(r.Header["Proxy-Status"])
		category, ok = proxyErrors[word]
	}
	if !ok {
		return nil
	}
	via := x.req.special.via
	return &Error{Category: category, Contacted: true,
		Err: fmt.Errorf("the proxy %v answered %d for the server: %s", via, r.Status, word)}
}

// squidErrors are the names of Squid's error pages. A refusal is category Other and not Proxy,
// because a server could write it too: the URL fails after its tries.
var squidErrors = map[string]Category{
	"ERR_DNS_FAIL":            DNS,
	"ERR_CONNECT_FAIL":        Connect,
	"ERR_CANNOT_FORWARD":      Connect,
	"ERR_SOCKET_FAILURE":      Connect,
	"ERR_READ_TIMEOUT":        Timeout,
	"ERR_LIFETIME_EXP":        Timeout,
	"ERR_SECURE_CONNECT_FAIL": TLS,
	"ERR_READ_ERROR":          Protocol,
	"ERR_WRITE_ERROR":         Protocol,
	"ERR_ZERO_SIZE_OBJECT":    Protocol,
	"ERR_INVALID_RESP":        Protocol,
	"ERR_ACCESS_DENIED":       Other,
}

// proxyErrors are the types of RFC 9209, section 2.3, that are about a server. The others are left
// to the server's own proxies, which say the like of it in answers that are its own.
var proxyErrors = map[string]Category{
	"dns_timeout":               DNS,
	"dns_error":                 DNS,
	"destination_not_found":     Connect,
	"destination_unavailable":   Connect,
	"destination_ip_prohibited": Connect,
	"destination_ip_unroutable": Connect,
	"connection_refused":        Connect,
	"connection_timeout":        Connect,
	"connection_read_timeout":   Timeout,
	"connection_write_timeout":  Timeout,
	"http_response_timeout":     Timeout,
	"connection_terminated":     Protocol,
	"http_protocol_error":       Protocol,
	"http_response_incomplete":  Protocol,
	"tls_protocol_error":        TLS,
	"tls_certificate_error":     TLS,
	"tls_alert_received":        TLS,
}

// proxyStatus is the type of error that the last member of Proxy-Status has (RFC 9209): that of the
// proxy which is nearest; "": it has none. What stands in quotes is passed over.
func proxyStatus(values []string) string {
	if len(values) == 0 {
		return ""
	}
	var found string
	field := make([]byte, 0, 64)
	quoted, escaped := false, false
	end := func() {
		if name, ok := strings.CutPrefix(strings.TrimSpace(string(field)), "error="); ok {
			found = name
		}
		field = field[:0]
	}
	for _, c := range []byte(values[len(values)-1]) {
		switch {
		case escaped:
			escaped = false
		case quoted:
			quoted, escaped = c != '"', c == '\\'
		case c == '"':
			quoted = true
			field = append(field, c)
		case c == ';':
			end()
		case c == ',':
			found, field = "", field[:0]
		default:
			field = append(field, c)
		}
	}
	end()
	return found
}
