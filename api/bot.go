package api

import (
	"net"
	"net/http"
	"strings"

	"crawlnode/web/botauth"
)

// directory serves the keys by which this node signs its requests. It is for whoever verifies them,
// so it needs no token and is served by any name. That name, the authority of the request, is part
// of what is signed (draft-ietf-webbotauth-httpsig-protocol); the node signs for no name but its own.
func (s *server) directory(w http.ResponseWriter, r *http.Request) {
	var body []byte
	var input, signature string
	authority := strings.ToLower(r.Host)
	if s.botKeys != nil {
		host := authority
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		body, input, signature = s.botKeys(authority, ownHost(host, s.ownHosts))
	}
	if body == nil {
		writeProblem(w, http.StatusNotFound, "this node signs no requests: it was started without --bot-key")
		return
	}
	h := w.Header()
	h.Set("Content-Type", botauth.MediaType)
	h.Set("Cache-Control", "public, max-age=300") // less than the life of the signature
	if signature != "" {
		h.Set("Signature-Input", input)
		h.Set("Signature", signature)
	}
	_, _ = w.Write(body)
}
