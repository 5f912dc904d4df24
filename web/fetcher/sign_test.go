package fetcher

import (
	"crypto/ed25519"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"crawlnode/web/botauth"
)

// TestEachRequestIsSigned asks over HTTP/1 and HTTP/2, twice each, and verifies what the server
// got: the signature of its own authority, each with another nonce, and the archive has the same.
func TestEachRequestIsSigned(t *testing.T) {
	t.Parallel()
	key := botauth.NewKey([32]byte{1})
	agent, err := botauth.ParseAgent("https://bot.example")
	if err != nil {
		t.Fatal(err)
	}
	for _, scheme := range []string{"http", "https"} {
		got := make(chan *http.Request, 2)
		srv := httptest.NewUnstartedServer(
			http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got <- r }))
		if scheme == "https" {
			srv.EnableHTTP2 = true
			srv.StartTLS()
		} else {
			srv.Start()
		}
		t.Cleanup(srv.Close)
		addr, seen := srv.Listener.Addr().String(), map[string]bool{}
		f := newFetcher(t, Options{Signer: botauth.NewSigner(key, agent), TLSRecord: true})
		for range 2 {
			resp := mustDo(t, f, ask(t, scheme, addr, "/a?b=c"))
			r := <-got
			input := r.Header.Get("Signature-Input")
			checkSignature(t, key, addr, r.Header)
			if seen[input] {
				t.Errorf("%s: %s was sent twice", scheme, input)
			}
			seen[input] = true
			if !strings.Contains(string(resp.RequestHead), "\r\nSignature-Input: "+input+"\r\n") {
				t.Errorf("%s: archived without %s:\n%s", scheme, input, resp.RequestHead)
			}
			if proto := resp.TLS; proto != nil &&
				(resp.Proto != "HTTP/2.0" || proto.Version < tls.VersionTLS12) {
				t.Errorf("spoke %s", resp.Proto)
			}
			resp.Release()
		}
	}
}

// checkSignature builds the signature base as RFC 9421, section 2.5, says.
func checkSignature(t *testing.T, key botauth.Key, authority string, h http.Header) {
	t.Helper()
	var set struct {
		Keys []struct{ X string }
	}
	if err := json.Unmarshal(botauth.Directory([]botauth.Key{key}), &set); err != nil {
		t.Fatal(err)
	}
	public, err := base64.RawURLEncoding.DecodeString(set.Keys[0].X)
	if err != nil {
		t.Fatal(err)
	}
	params, ok := strings.CutPrefix(h.Get("Signature-Input"), "sig1=")
	signature, err := base64.StdEncoding.DecodeString(
		strings.Trim(strings.TrimPrefix(h.Get("Signature"), "sig1="), ":"))
	base := `"@authority": ` + authority + "\n" +
		`"signature-agent";key="sig1": "https://bot.example"` + "\n" +
		`"@signature-params": ` + params
	if !ok || err != nil || h.Get("Signature-Agent") != `sig1="https://bot.example"` ||
		!ed25519.Verify(public, []byte(base), signature) {
		t.Errorf("%s: %v is not signed", authority, h)
	}
}

// TestNothingIsSigned: without a signer no request says who signs.
func TestNothingIsSigned(t *testing.T) {
	t.Parallel()
	got := make(chan http.Header, 1)
	srv := httptest.NewServer(
		http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got <- r.Header }))
	t.Cleanup(srv.Close)
	mustDo(t, newFetcher(t, Options{}), ask(t, "http", srv.Listener.Addr().String(), "/")).Release()
	for name := range <-got {
		if strings.HasPrefix(name, "Signature") {
			t.Errorf("sent %s", name)
		}
	}
}
