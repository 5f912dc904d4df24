package api

import (
	"net"
	"net/http"
	"strings"

	"crawlnode/web/botauth"
)

// directory serves the keys by which this node signs its requests. It is for whoever verifies them,
// so it needs no token and is served by any name. That name, the authority of the request, is part
// of what is signed (draft-ietf-webbotauth-httpsig-protocol); the node signs for no name but its
// own.
func (s *server) directory(w http.ResponseWriter, r *http.Request) {
	var p botauth.Published
	authority := authorityOf(r)
	if s.botKeys != nil {
		host := authority
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		p = s.botKeys(authority, ownHost(host, s.ownHosts))
	}
	if p.Body == nil {
		writeProblem(w, http.StatusNotFound,
			"this node signs no requests: it was started without --bot-key")
		return
	}
	h := w.Header()
	h.Set("Content-Type", botauth.MediaType)
	h.Set("Cache-Control", "public, max-age=3600") // so long a key that was taken out is believed
	h.Set("Content-Digest", p.Digest)
	if p.Signature != "" {
		h.Set("Signature-Input", p.Input)
		h.Set("Signature", p.Signature)
	}
	_, _ = w.Write(p.Body)
}

// authorityOf is the request's authority as a signature has it (RFC 9421, section 2.2.3): in lower
// case, and without the port that the scheme implies. The address of --bot-agent is https, so 443
// is left out too when a proxy has ended TLS before the node.
func authorityOf(r *http.Request) string {
	authority := strings.TrimSuffix(strings.ToLower(r.Host), ":443")
	if r.TLS == nil {
		authority = strings.TrimSuffix(authority, ":80")
	}
	return authority
}
