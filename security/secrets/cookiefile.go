package secrets

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/idna"

	"crawlnode/web/cookies"
)

// maxCookies bounds the cookies of a file.
const maxCookies = 5_000

// ErrMissing is in the error of a secret that the file of --secrets does not have.
var ErrMissing = errors.New("is not in the file of --secrets")

// CookieFile is the cookies of a file in the format of Netscape and curl. It does not change, and
// prints as Redacted.
type CookieFile struct {
	redacted
	count int
	// of returns the cookies of a domain, in the order of the file. It is a function because package
	// fmt prints fields when it is given a wrong verb, such as %p for a struct.
	of func(domain string) []fileCookie
}

// fileCookie is one line of a cookie file.
type fileCookie struct {
	cookies.Cookie // without Domain
	below          bool
	line           int
}

// cookieFileOf is a cookie file that is read once, by the first who asks for it.
type cookieFileOf struct {
	read func() (*CookieFile, error)
}

// CookieFile returns the cookies of the file whose path is the secret of this name. It reads the
// file the first time, and returns the same the next times, errors too.
func (s *Set) CookieFile(name string) (*CookieFile, error) {
	path, ok := s.Lookup(name)
	if !ok {
		return nil, fmt.Errorf("secret:%s %w", name, ErrMissing)
	}
	s.mu.Lock()
	of := s.files[name]
	if of == nil {
		of = &cookieFileOf{sync.OnceValues(
			func() (*CookieFile, error) { return s.readCookies(name, path) })}
		s.files[name] = of
	}
	s.mu.Unlock()
	return of.read()
}

func (s *Set) readCookies(name string, path Value) (*CookieFile, error) {
	at := path.Reveal()
	if !filepath.IsAbs(at) {
		at = filepath.Join(s.folder, at)
	}
	text, err := readPrivate(at, "FILE")
	if err != nil {
		return nil, fmt.Errorf("read the cookie file that secret:%s names: %w", name, err)
	}
	file, err := parseCookies(text)
	if err != nil {
		return nil, fmt.Errorf("the cookie file that secret:%s names: %w", name, err)
	}
	return file, nil
}

// inUse are the cookie files that were read without an error.
func (s *Set) inUse() map[string]*CookieFile {
	s.mu.Lock()
	asked := make(map[string]*cookieFileOf, len(s.files))
	for name, of := range s.files {
		asked[name] = of
	}
	s.mu.Unlock()
	use := map[string]*CookieFile{}
	for name, of := range asked {
		if file, err := of.read(); err == nil {
			use[name] = file
		}
	}
	return use
}

// keep has a cookie file of an earlier Set count in this one.
func (s *Set) keep(name string, file *CookieFile) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[name] = &cookieFileOf{func() (*CookieFile, error) { return file, nil }}
}

// httpOnly begins the line of a cookie that scripts do not see; other lines with # are comments.
const httpOnly = "#HttpOnly_"

// parseCookies reads a cookie file: lines of seven fields with tabs between them, which are domain,
// TRUE when hosts below the domain get the cookie too, path, TRUE when it needs https, the time of
// its end in seconds (0: none), name, value. It also takes what curl takes (no path, no value) and
// what exporters of browsers write: no time or -1 for a cookie without an end, fractions of a
// second, milliseconds.
func parseCookies(text []byte) (*CookieFile, error) {
	byDomain := map[string][]fileCookie{}
	file := &CookieFile{of: func(domain string) []fileCookie { return byDomain[domain] }}
	err := lines(text, func(number int, line string) error {
		line, _ = strings.CutPrefix(line, httpOnly)
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			return nil
		}
		domain, c, why := parseCookie(line)
		if why != "" {
			return &lineError{number, why}
		}
		if file.count++; file.count > maxCookies {
			return &lineError{number, fmt.Sprintf("a file has at most %d cookies", maxCookies)}
		}
		c.line = number
		byDomain[domain] = append(byDomain[domain], c)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return file, nil
}

// parseCookie reads a line; why is what is wrong with it, without a word of it.
func parseCookie(line string) (domain string, c fileCookie, why string) {
	fields := strings.Split(line, "\t")
	if len(fields) >= 3 && isFlag(fields[2]) { // the path is left out
		fields = append([]string{fields[0], fields[1], "/"}, fields[2:]...)
	}
	if len(fields) == 6 { // the value is empty, and the tab before it is lost
		fields = append(fields, "")
	}
	if len(fields) != 7 {
		return "", c, fmt.Sprintf("has %d fields, and wants 7 with tabs between them: "+
			"domain, TRUE or FALSE, path, TRUE or FALSE, time, name, value", len(fields))
	}
	domain, ok := canonicalHost(strings.TrimPrefix(fields[0], "."))
	if !ok {
		return "", c, "the first field must be a domain or an address"
	}
	if !isFlag(fields[1]) || !isFlag(fields[3]) {
		return "", c, "the second and the fourth field must be TRUE or FALSE"
	}
	if c.Expires, ok = parseTime(fields[4]); !ok {
		return "", c, "the fifth field must be a time, as seconds since 1970"
	}
	if c.Path = fields[2]; !strings.HasPrefix(c.Path, "/") {
		return "", c, "the path, its third field, must begin with /"
	}
	c.below, c.Secure = strings.EqualFold(fields[1], "TRUE"), strings.EqualFold(fields[3], "TRUE")
	c.Name, c.Value = strings.Trim(fields[5], " "), strings.Trim(fields[6], " ")
	if err := c.Check(); err != nil {
		return "", c, err.Error()
	}
	return domain, c, ""
}

func isFlag(s string) bool { return strings.EqualFold(s, "TRUE") || strings.EqualFold(s, "FALSE") }

// A time of more than latestSeconds, the year 5138, is in milliseconds.
const latestSeconds = 100_000_000_000

// parseTime reads the end of a cookie; the zero time is none.
func parseTime(s string) (time.Time, bool) {
	whole, fraction, _ := strings.Cut(s, ".")
	if s == "" {
		return time.Time{}, true
	}
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || strings.Trim(fraction, "0123456789") != "" {
		return time.Time{}, false
	}
	switch {
	case n <= 0:
		return time.Time{}, true
	case n > latestSeconds:
		return time.UnixMilli(n), true
	}
	return time.Unix(n, 0), true
}

// canonicalHost is a host as package urlnorm writes it, but for the brackets of IPv6.
func canonicalHost(s string) (string, bool) {
	if inside, ok := strings.CutPrefix(s, "["); ok {
		s = strings.TrimSuffix(inside, "]")
	}
	if at, err := netip.ParseAddr(s); err == nil {
		return at.String(), at.Zone() == ""
	}
	host, err := idna.Lookup.ToASCII(strings.ToLower(s))
	if err != nil { // names with _, say, are in no register and in use all the same
		host = strings.ToLower(s)
		odd := func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_' && r != '.'
		}
		if strings.ContainsFunc(host, odd) {
			return "", false
		}
	}
	return host, host != "" && len(host) <= 253 && !strings.HasPrefix(host, ".")
}

// Len is how many cookies the file has.
func (f *CookieFile) Len() int { return f.count }

// ForHost returns the cookies that go to a host, as package urlnorm writes it: those of the host,
// and those of a domain above it that go to the hosts below and whose domain is no public suffix.
// Cookies that have expired are left out, and so are those whose prefix (__Host-, __Secure-) says
// what is not so.
//
// They are secrets of this node. The jar is for the header of a request, under the host's own one
// (cookies.Jar.With): what is stored or sent to other nodes must not have them.
func (f *CookieFile) ForHost(host string, now time.Time) cookies.Jar {
	host, ok := canonicalHost(host)
	if !ok {
		return ""
	}
	var found []fileCookie
	for domain := host; domain != ""; _, domain, _ = strings.Cut(domain, ".") {
		for _, c := range f.of(domain) {
			switch {
			case c.below && cookies.Reaches(host, domain):
				c.Domain = domain
			case domain != host:
				continue
			}
			found = append(found, c)
		}
	}
	slices.SortFunc(found, func(a, b fileCookie) int { return cmp.Compare(a.line, b.line) })
	all := make([]cookies.Cookie, len(found))
	for i, c := range found {
		all[i] = c.Cookie
	}
	return cookies.Of(all, now, cookies.HostLimits)
}
