package cookies

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Cookie is a cookie that no answer has set, such as one of a cookie file.
type Cookie struct {
	Name, Value string
	Path        string    // begins with a slash
	Domain      string    // lower-case, without a dot before it; "": the cookie is the host's alone
	Secure      bool      // for https alone
	Expires     time.Time // zero: it has no end
}

// Check says what is wrong with a cookie, without a word of it; nil: it can be in a jar.
func (c Cookie) Check() error {
	odd := func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f || r == ';' }
	switch n := len(c.Name) + len(c.Value); {
	case strings.ContainsFunc(c.Name+c.Value+c.Path+c.Domain, odd):
		return errors.New("a cookie has no ; and no control characters")
	case strings.Contains(c.Name, "="):
		return errors.New("the name of a cookie has no =")
	case n == 0:
		return errors.New("a cookie has a name or a value")
	case n > maxPair:
		return fmt.Errorf("name and value of a cookie have at most %d bytes together", maxPair)
	case !strings.HasPrefix(c.Path, "/") || len(c.Path) > maxAttribute:
		return fmt.Errorf("the path of a cookie begins with / and has at most %d bytes", maxAttribute)
	}
	return nil
}

// Of is a jar of a host's cookies, the oldest first. It leaves out cookies that have expired, those
// that Check finds wrong, and those whose prefix says what is not so. Of two of a name, a domain
// and a path the second counts.
func Of(all []Cookie, now time.Time, l Limits) Jar {
	var jar []cookie
	for _, given := range all {
		given.Name, given.Value = strings.Trim(given.Name, blanks), strings.Trim(given.Value, blanks)
		given.Path = strings.Trim(given.Path, blanks)
		c := cookie{
			name: given.Name, value: given.Value, path: given.Path, domain: given.Domain,
			secure: given.Secure, expires: given.Expires,
		}
		if given.Check() != nil || !c.lives(now) || !c.keepsPrefix() {
			continue
		}
		if latest := now.Add(maxAge); c.expires.After(latest) {
			c.expires = latest
		}
		if i := slices.IndexFunc(jar, c.replaces); i >= 0 {
			jar[i] = c
		} else {
			jar = append(jar, c)
		}
	}
	return write(jar, l)
}
