package proxy

import (
	"errors"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// The schemes.
const (
	HTTP   = "http"   // plain connection to the proxy, which is asked in HTTP/1.1
	HTTPS  = "https"  // the same in TLS
	SOCKS5 = "socks5" // RFC 1928
)

// Proxy is the address of a proxy. The zero value is none. Only Parse makes others, so two that are
// the same are equal.
type Proxy struct {
	Scheme string // HTTP, HTTPS or SOCKS5
	Host   string // a name in lower case, or an IP address without brackets
	Port   uint16
	Secret string // the name of the secret with "user:password"; "": no credentials
}

// IsZero reports whether p is no proxy.
func (p Proxy) IsZero() bool { return p == Proxy{} }

// Addr is the host and the port, as a dialer takes them.
func (p Proxy) Addr() string { return net.JoinHostPort(p.Host, strconv.Itoa(int(p.Port))) }

// String is the text of p for Parse. It has the name of the secret, and never its value.
func (p Proxy) String() string {
	switch {
	case p.IsZero():
		return ""
	case p.Secret != "":
		return p.Scheme + "://" + secretPrefix + p.Secret + "@" + p.Addr()
	}
	return p.Scheme + "://" + p.Addr()
}

const (
	// secretPrefix stands before the name of a secret.
	secretPrefix = "secret:"
	maxName      = 253 // of a host, in bytes
	maxSecret    = 128 // of a secret's name, in bytes
)

// The errors do not quote the text, which may hold a password by mistake.
var (
	errForm = errors.New("it is no address of a proxy: write it like http://127.0.0.1:3128," +
		" https://proxy.example:443 or socks5://[::1]:1080")
	errPassword = errors.New("a password must not stand here: write secret:NAME@ before the host," +
		" and put NAME=user:password into the file of --secrets")
	errSOCKS5H = errors.New("names are resolved here, not by the proxy: write socks5")
	errScheme  = errors.New("its scheme is not http, https or socks5")
	errMore    = errors.New("a path, a query (?) or a fragment (#) means nothing to a proxy:" +
		" leave out what follows the port")
	errHost = errors.New("its host is neither an IP address nor a name of ASCII letters, digits," +
		" '-', '_' and '.'")
	errPort = errors.New("its port is not a number from 1 to 65535")
)

// Parse reads the address of a proxy. Without a port, the scheme's default counts: 80, 443 or 1080.
// Credentials are written as secret:NAME@ before the host, with the name of a secret.
func Parse(text string) (Proxy, error) {
	scheme, rest, ok := strings.Cut(text, "://")
	at := strings.LastIndexByte(rest, '@')
	if !ok || at < 0 {
		if strings.Contains(text, "@") { // in front of "://", or without one
			return Proxy{}, errPassword
		}
	}
	if !ok {
		return Proxy{}, errForm
	}
	p := Proxy{Scheme: strings.ToLower(scheme)}
	switch p.Scheme {
	case HTTP:
		p.Port = 80
	case HTTPS:
		p.Port = 443
	case SOCKS5:
		p.Port = 1080
	case "socks5h":
		return Proxy{}, errSOCKS5H
	default:
		return Proxy{}, errScheme
	}
	if at >= 0 {
		name, isName := strings.CutPrefix(rest[:at], secretPrefix)
		if !isName || !validSecret(name) {
			return Proxy{}, errPassword
		}
		p.Secret, rest = name, rest[at+1:]
	}
	if strings.ContainsAny(rest, "/?#") {
		return Proxy{}, errMore
	}
	host, port, err := split(rest)
	if err != nil {
		return Proxy{}, err
	}
	p.Host = host
	if port == "" {
		return p, nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 || port[0] == '+' {
		return Proxy{}, errPort
	}
	p.Port = uint16(n)
	return p, nil
}

// split reads host and port; "": there is no port.
func split(text string) (host, port string, err error) {
	if inside, ok := strings.CutPrefix(text, "["); ok {
		inside, rest, closed := strings.Cut(inside, "]")
		a, err := netip.ParseAddr(inside)
		if err != nil || !closed || !a.Is6() || a.Zone() != "" {
			return "", "", errHost
		}
		port, hasPort := strings.CutPrefix(rest, ":")
		if (rest != "" && !hasPort) || (hasPort && port == "") {
			return "", "", errPort
		}
		return a.String(), port, nil
	}
	host, port, hasPort := strings.Cut(text, ":")
	switch {
	case host == "":
		return "", "", errForm
	case hasPort && port == "":
		return "", "", errPort
	}
	if a, err := netip.ParseAddr(host); err == nil {
		return a.String(), port, nil
	}
	if host = strings.ToLower(host); !validName(host) {
		return "", "", errHost
	}
	return host, port, nil
}

// validName reports whether a name can be resolved. Its last label begins with a letter: one of
// digits would be an IPv4 address that is written in an unusual or wrong way.
func validName(name string) bool {
	if len(name) > maxName {
		return false
	}
	var last string
	for label := range strings.SplitSeq(strings.TrimSuffix(name, "."), ".") {
		if label == "" || len(label) > 63 {
			return false
		}
		for i := range len(label) {
			if c := label[i]; !letterOrDigit(c) && c != '-' && c != '_' {
				return false
			}
		}
		last = label
	}
	return last[0] < '0' || last[0] > '9'
}

// validSecret reports whether a file of secrets can have a line of that name.
func validSecret(name string) bool {
	for i := range len(name) {
		c := name[i]
		if !letterOrDigit(c) && (c < 'A' || c > 'Z') && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return name != "" && len(name) <= maxSecret
}

func letterOrDigit(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' }
