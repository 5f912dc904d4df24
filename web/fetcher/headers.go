package fetcher

import (
	"encoding/base64"
	"fmt"
	"log/slog"
	"strings"
)

// Header is a header line that a request has besides those of every request.
type Header struct {
	Name, Value string
	// Secret says that the value is nobody's to read: an archive has <redacted> in its place.
	Secret bool
}

// String hides the value of a secret.
func (h Header) String() string {
	if h.Secret {
		return h.Name + ": " + redacted
	}
	return h.Name + ": " + h.Value
}

// No way of printing shows a secret.

// GoString is String.
func (h Header) GoString() string { return h.String() }

// LogValue is String.
func (h Header) LogValue() slog.Value { return slog.StringValue(h.String()) }

// MarshalText is String.
func (h Header) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// String names the request without its credentials.
func (r Request) String() string { return "GET " + r.URL.String() }

// GoString is String.
func (r Request) GoString() string { return r.String() }

// LogValue is String.
func (r Request) LogValue() slog.Value { return slog.StringValue(r.String()) }

// MarshalText is String.
func (r Request) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// redacted stands in archives in place of what nobody may read.
const redacted = "<redacted>"

const (
	maxHeaderName  = 128     // in bytes
	maxHeaderValue = 8 << 10 // in bytes: servers refuse longer ones
)

// refusals say why a header is not a person's to set, by its name in lower case, and by the
// beginning of its name.
var refusals = map[string]string{
	"host":              "it is that of the URL",
	"connection":        ofConnection,
	"content-length":    ofConnection,
	"transfer-encoding": ofConnection,
	"te":                ofConnection,
	"trailer":           ofConnection,
	"upgrade":           ofConnection,
	"http2-settings":    ofConnection,
	"keep-alive":        ofConnection,
	"expect":            ofConnection,
	"cookie":            "give the cookies with cookies-file",
	"authorization":     "give the credentials with auth",
	"accept-encoding":   "the crawler asks for the codings that it can decode",
	"range":             "the crawler stores whole answers",
	"signature":         bySigner,
	"signature-input":   bySigner,
	"signature-agent":   bySigner,
}

const (
	ofConnection = "it belongs to the connection, which is the crawler's"
	bySigner     = "requests are signed with --bot-key"
)

// CheckHeader returns why a header must not be one of Request.Headers, or nil. The error never has
// the value.
func CheckHeader(name, value string) error {
	switch {
	case len(name) > maxHeaderName:
		return fmt.Errorf(
			"the name of the header %.20q... is longer than %d bytes",
			name,
			maxHeaderName,
		)
	case !isToken([]byte(name)):
		return fmt.Errorf("%q is no name of a header: it has letters, digits and '-'", name)
	}
	lower := strings.ToLower(name)
	why := refusals[lower]
	switch {
	case strings.HasPrefix(lower, "if-"):
		why = "the crawler decides itself when it asks for what has changed"
	case strings.HasPrefix(lower, "proxy-"):
		why = "it is for proxies, whose credentials are secret:NAME@ in front of the host of proxy"
	}
	switch {
	case why != "":
		return fmt.Errorf("the header %s cannot be set: %s", name, why)
	case !plainValue(value):
		return fmt.Errorf("the value of the header %s has control characters in it", name)
	case strings.Trim(value, " \t") != value:
		return fmt.Errorf("the value of the header %s begins or ends with a blank", name)
	case len(value) > maxHeaderValue:
		return fmt.Errorf(
			"the value of the header %s is longer than %d bytes",
			name,
			maxHeaderValue,
		)
	}
	return nil
}

// headers are the request's own ones.
func (x *exchange) headers() []Header {
	if x.req.special == nil {
		return nil
	}
	return x.req.special.headers
}

// authorization is the value of Authorization, or "".
func (x *exchange) authorization() string {
	if x.req.special == nil {
		return ""
	}
	return x.req.special.authorization
}

// basic is the value of Proxy-Authorization for "user:password" (RFC 7617), or "".
func basic(login string) string {
	if login == "" {
		return ""
	}
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(login))
}
