package urlnorm

import (
	"errors"
	"strings"
	"testing"
)

// TestHostileURLs parses URLs that servers send to confuse a crawler. Each is refused with a class,
// or has one canonical form with one host that parses to itself.
func TestHostileURLs(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		raw, want string
		err       error
	}{
		"1 MB of path": {
			raw: "http://example.org/" + strings.Repeat("a", 1<<20),
			err: ErrTooLong,
		},
		"1 MB of host": {
			raw: "http://" + strings.Repeat("a.", 1<<19) + "org/",
			err: ErrTooLong,
		},
		"1 MB of user": {
			raw: "http://" + strings.Repeat("u", 1<<20) + "@example.org/",
			err: ErrTooLong,
		},
		"1 MB of fragment": {
			raw:  "http://example.org/#" + strings.Repeat("f", 1<<20),
			want: "http://example.org/",
		},
		"4,001 bytes": {
			raw: "http://example.org/?" + strings.Repeat("q", 3981),
			err: ErrTooLong,
		},
		"4,000 bytes of dots": {
			raw:  "http://example.org/" + strings.Repeat("a/../", 800),
			want: "http://example.org/",
		},
		"escapes that grow": {
			raw: "http://example.org/" + strings.Repeat("\u2603", 300),
			err: ErrTooLong,
		},
		"NUL in the path":     {raw: "http://example.org/a\x00b", want: "http://example.org/a%00b"},
		"NUL in the host":     {raw: "http://exam\x00ple.org/", err: ErrInvalid},
		"an escaped NUL host": {raw: "http://exam%00ple.org/", err: ErrInvalid},
		"CR and LF": {
			raw:  "http://exa\r\nmple.org/a\r\nHost: evil",
			want: "http://example.org/aHost:%20evil",
		},
		"escaped CR and LF": {
			raw:  "http://example.org/%0d%0aHost:%20evil",
			want: "http://example.org/%0D%0AHost:%20evil",
		},
		"CR and LF as host": {raw: "http://example.org%0d%0a.evil/", err: ErrInvalid},
		"invalid UTF-8": {
			raw:  "http://example.org/\xff\xfe?\xc3",
			want: "http://example.org/%EF%BF%BD%EF%BF%BD?%EF%BF%BD",
		},
		"invalid UTF-8 as host": {raw: "http://ex\xffample.org/", err: ErrInvalid},
		"an escaped letter":     {raw: "http://exampl%65.org/", want: "http://example.org/"},
		"an escaped dot":        {raw: "http://example%2eorg/", want: "http://example.org/"},
		"a wide dot":            {raw: "http://example\u3002org/", want: "http://example.org/"},
		"wide letters":          {raw: "http://\uff45xample.org/", want: "http://example.org/"},
		"a trailing dot":        {raw: "http://example.org./", want: "http://example.org/"},
		"two trailing dots":     {raw: "http://example.org../", err: ErrInvalid},
		"user info":             {raw: "http://admin:secret@example.org/", want: "http://example.org/"},
		"a host as user":        {raw: "http://example.org@evil.example/", want: "http://evil.example/"},
		"a host as user, hidden": {
			raw:  "http://example.org\\@evil.example/",
			want: "http://example.org/@evil.example/",
		},
		"a homograph":            {raw: "http://ex\u0430mple.org/", want: "http://xn--exmple-4nf.org/"},
		"port 0":                 {raw: "http://example.org:0/", err: ErrInvalid},
		"port 99999":             {raw: "http://example.org:99999/", err: ErrInvalid},
		"port 65536":             {raw: "http://example.org:65536/", err: ErrInvalid},
		"port -1":                {raw: "http://example.org:-1/", err: ErrInvalid},
		"the mail port":          {raw: "http://example.org:25/", err: ErrInvalid},
		"backslashes":            {raw: "http:\\\\example.org\\x", want: "http://example.org/x"},
		"no slashes":             {raw: "http:example.org", want: "http://example.org/"},
		"many slashes":           {raw: "http://////example.org//x", want: "http://example.org//x"},
		"another scheme":         {raw: "javascript://example.org/%0aalert(1)", err: ErrScheme},
		"a file":                 {raw: "file:///etc/passwd", err: ErrScheme},
		"hexadecimal IPv4":       {raw: "http://0x7f.1/", want: "http://127.0.0.1/"},
		"one number":             {raw: "http://2130706433/", want: "http://127.0.0.1/"},
		"octal IPv4":             {raw: "http://017700000001/", want: "http://127.0.0.1/"},
		"two parts":              {raw: "http://127.1/", want: "http://127.0.0.1/"},
		"metadata in octal":      {raw: "http://0251.0376.0251.0376/", want: "http://169.254.169.254/"},
		"escaped IPv4":           {raw: "http://%31%32%37.0.0.1/", want: "http://127.0.0.1/"},
		"circled IPv4":           {raw: "http://\u2460\u2461\u2466.0.0.1/", want: "http://127.0.0.1/"},
		"IPv4 with a dot behind": {raw: "http://127.0.0.1./", want: "http://127.0.0.1/"},
		"too large an IPv4":      {raw: "http://4294967296/", err: ErrInvalid},
		"IPv4 in IPv6":           {raw: "http://[::ffff:127.0.0.1]/", want: "http://[::ffff:7f00:1]/"},
		"a zone":                 {raw: "http://[fe80::1%25eth0]/", err: ErrInvalid},
	} {
		u, err := Parse(tt.raw)
		if !errors.Is(err, tt.err) || u.String() != tt.want {
			t.Errorf("%s: %q, %v; want %q, %v", name, short(u.String()), err, tt.want, tt.err)
			continue
		}
		if err != nil {
			checkClass(t, short(tt.raw), err)
			if len(err.Error()) > 1000 {
				t.Errorf("%s: a message of %d bytes", name, len(err.Error()))
			}
			continue
		}
		if again, err := Parse(u.String()); err != nil || again != u {
			t.Errorf("%s: %q becomes %q, %v", name, u, again, err)
		}
	}
	base := mustParse(t, "https://example.org/dir/page")
	for ref, want := range map[string]string{
		"//evil.example/x": "https://evil.example/x", "\\\\evil.example": "https://evil.example/",
		"/\\evil.example":  "https://evil.example/",
		"\t//evil.example": "https://evil.example/", "/\t/evil.example": "https://evil.example/",
		"///evil.example": "https://evil.example/",
		"https:evil":      "https://example.org/dir/evil", "http:evil": "http://evil/",
		"..\\..\\x": "https://example.org/x",
	} {
		if u, err := base.Resolve(ref); err != nil || u.String() != want {
			t.Errorf("%q: %q, %v; want %q", ref, u, err, want)
		}
	}
}
