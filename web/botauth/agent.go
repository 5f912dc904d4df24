package botauth

import (
	"errors"
	"net/url"
	"strings"
)

// WellKnown is the path of the directory of keys (draft-ietf-webbotauth-httpsig-protocol).
const WellKnown = "/.well-known/http-message-signatures-directory"

// MediaType is that of the directory.
const MediaType = "application/http-message-signatures-directory+json"

// maxAgent bounds the address, which goes out with each request.
const maxAgent = 512

// Agent is the https address that publishes the keys.
type Agent struct {
	uri    string
	direct bool // the address is that of the keys itself, not of a host with the well-known path
}

// ParseAgent reads an address. An origin, such as https://bot.example, has its keys at the
// well-known path; any other address is that of the JWK Set itself.
func ParseAgent(text string) (Agent, error) {
	u, err := url.Parse(text)
	for i := range len(text) {
		if c := text[i]; c <= ' ' || c >= 0x7f || c == '"' || c == '\\' {
			return Agent{}, errors.New(
				"it has a byte that an address may not have: use plain ASCII, and percent-encode the rest")
		}
	}
	switch {
	case err != nil:
		return Agent{}, errors.New("it is no address: write it like https://bot.example")
	case u.Scheme != "https":
		return Agent{}, errors.New(
			"it does not begin with https://, and whoever verifies a signature takes keys from https only")
	case u.Hostname() == "":
		return Agent{}, errors.New("it has no host: write it like https://bot.example")
	case u.User != nil:
		return Agent{}, errors.New(
			"it has a user or a password in it, which every web server would see: leave them out")
	case strings.Contains(text, "#"):
		return Agent{}, errors.New("it has a fragment (#), which is never sent: leave it out")
	case len(text) > maxAgent:
		return Agent{}, errors.New(
			"it is longer than 512 bytes, and goes out with each request: give a shorter one")
	}
	origin := "https://" + strings.TrimSuffix(strings.ToLower(u.Host), ":443")
	if u.RawQuery == "" && !u.ForceQuery && (u.Path == "" || u.Path == "/" || u.Path == WellKnown) {
		return Agent{uri: origin}, nil
	}
	return Agent{uri: origin + u.RequestURI(), direct: true}, nil
}

// URL is where the keys are published.
func (a Agent) URL() string {
	if a.direct || a.uri == "" {
		return a.uri
	}
	return a.uri + WellKnown
}

// Authority is the host of the address, with the port unless it is 443.
func (a Agent) Authority() string {
	authority, _, _ := strings.Cut(strings.TrimPrefix(a.uri, "https://"), "/")
	authority, _, _ = strings.Cut(authority, "?")
	return authority
}

// member is the agent as the value of a dictionary (RFC 9651, section 3.2).
func (a Agent) member() string {
	if a.direct {
		return `"` + a.uri + `";type=jwks_uri`
	}
	return `"` + a.uri + `"`
}
