package urlnorm

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
)

// The differences from the web-platform-tests, each with its reason. A case that differs in any
// other way, or a difference that no case shows, fails the test.
const (
	badPorts = "the port is one that browsers refuse to fetch from"
	noName   = "the host is empty once its root dot is gone, or ends in an empty label"
	noLabel  = "a label says that it is punycode and is none; no name server knows it"
)

type wptCase struct {
	Input, Href, Protocol, Host, Port, Pathname string
	Base                                        *string
	Failure                                     bool
}

// web reports whether the case is about http: its base is none or of http, and
// it fails or gives an http URL.
func (c *wptCase) web() bool {
	return c.Failure || c.Protocol == "http:" || c.Protocol == "https:"
}

// difference names why a case that the suite accepts is refused here, or "".
func (c *wptCase) difference() string {
	port := 0
	for _, d := range c.Port {
		port = 10*port + int(d-'0')
	}
	switch host := strings.TrimSuffix(strings.TrimSuffix(c.Host, ":"+c.Port), "."); {
	case c.Port != "" && badPort(port):
		return badPorts
	case host == "" || strings.HasSuffix(host, "."):
		return noName
	case host == "xn--":
		return noLabel
	}
	return ""
}

// overHTTP turns absolute cases of ws and wss, which the standard parses like http and https, into
// cases of those.
func (c *wptCase) overHTTP() {
	if c.Base == nil && (c.Protocol == "ws:" || c.Protocol == "wss:") {
		c.Protocol = strings.Replace(c.Protocol, "ws", "http", 1)
		c.Href = strings.Replace(c.Href, "ws", "http", 1)
		c.Input = webSocket.ReplaceAllString(c.Input, "${1}http$2")
	}
}

var webSocket = regexp.MustCompile(`(?i)^([\x00-\x20]*)ws(s?:)`)

var escape = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)

// canonical computes the canonical form from the suite's own parts, without the
// code under test.
func (c *wptCase) canonical() string {
	host, port := c.Host, ""
	if c.Port != "" {
		port = ":" + c.Port
	}
	host = strings.TrimSuffix(strings.TrimSuffix(host, port), ".")
	pathQuery := c.Pathname
	href, _, _ := strings.Cut(c.Href, "#")
	if _, q, ok := strings.Cut(href, "?"); ok {
		pathQuery += "?" + q
	}
	return c.Protocol + "//" + host + port + escape.ReplaceAllStringFunc(pathQuery, strings.ToUpper)
}

// TestWPT runs the cases of web-platform-tests that yield an http(s) URL or a failure. Resolve must
// fail or succeed as the case says, and its result must equal both the canonical form of the
// expected URL and the URL built from the suite's parts.
func TestWPT(t *testing.T) {
	t.Parallel()
	ran, refused, shown := 0, 0, map[string]int{}
	for _, c := range wptCases(t) {
		var base URL
		if c.Base != nil {
			var err error
			if base, err = Parse(*c.Base); err != nil && !c.Failure && !absolute(c.Input) {
				continue // relative to another scheme's base, which no page here has
			}
		}
		ran++
		got, err := base.Resolve(c.Input)
		switch why := c.difference(); {
		case !c.Failure && why != "":
			shown[why]++
			if err == nil {
				t.Errorf("%q gives %q: the suite accepts it, and it should be refused here because %s", c.Input,
					got, why)
			}
		case c.Failure:
			if refused++; err == nil {
				t.Errorf("%q against %v gives %q, should fail", c.Input, base, got)
			}
		case err != nil:
			t.Errorf("%q against %v: %v, want %q", c.Input, base, err, c.Href)
		default:
			if want, err := Parse(c.Href); err != nil || got != want || got.String() != c.canonical() {
				t.Errorf("%q against %v: %q; the expected href gives %q, %v; its parts %q", c.Input, base, got,
					want, err, c.canonical())
			}
		}
	}
	t.Logf("%d cases, %d of them failures; differences %v", ran, refused, shown)
	if ran < 500 || refused < 260 {
		t.Errorf("only %d cases ran, %d of them failures", ran, refused)
	}
	for _, why := range []string{badPorts, noName, noLabel} {
		if shown[why] == 0 {
			t.Errorf("no case shows the difference %q", why)
		}
	}
}

func absolute(ref string) bool {
	return regexp.MustCompile(`(?i)^[\x00-\x20]*https?://`).MatchString(ref)
}

// wptCases are the cases of the suite that concern http.
func wptCases(t *testing.T) []wptCase {
	t.Helper()
	raw, err := os.ReadFile("testdata/wpt_urltestdata.json")
	if err != nil {
		t.Fatal(err)
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		t.Fatal(err)
	}
	var cases []wptCase
	for _, item := range list {
		var c wptCase
		if item[0] != '{' || json.Unmarshal(item, &c) != nil {
			continue
		}
		if c.overHTTP(); c.web() {
			cases = append(cases, c)
		}
	}
	return cases
}

// TestWPTToASCII runs the suite's host names.
func TestWPTToASCII(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/wpt_toascii.json")
	if err != nil {
		t.Fatal(err)
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, item := range list {
		var c struct {
			Input  string
			Output *string
		}
		if item[0] != '{' || json.Unmarshal(item, &c) != nil {
			continue
		}
		ran++
		u, err := Parse("https://" + c.Input + "/x")
		switch {
		case c.Output == nil && err == nil:
			t.Errorf("%q gives %q, should fail", c.Input, u)
		case c.Output != nil && (err != nil || u.Host() != *c.Output):
			t.Errorf("%q: %q, %v; want %q", c.Input, u.Host(), err, *c.Output)
		case c.Output != nil:
			checkCanonical(t, u)
		}
	}
	if ran != 39 {
		t.Errorf("%d cases ran, not 39", ran)
	}
}
